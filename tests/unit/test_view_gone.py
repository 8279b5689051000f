"""What the viewer says where there is nothing to show, or where it goes away while it is shown."""

from __future__ import annotations

import html
import json
import re
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
from httpx import Response
from starlette.testclient import TestClient

from omnieval.errors import ConfigError
from omnieval.media.encode import encode_wav
from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from omnieval.view.serve import serve
from tests.runs import choice_run, speech_run

ORIGIN = "http://127.0.0.1:8000"


def opened(root: Path, index: Path) -> TestClient:
    client = TestClient(make_app(root, index, token="t", port=8000), base_url=ORIGIN)
    assert client.get("/?token=t").status_code == 200
    return client


def said(answer: Response) -> str:
    """What is written on a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text.partition("<body>")[2]).split())


def refused(root: Path, *, host: str = "127.0.0.1", port: int = 0) -> str:
    """Why no viewer starts."""
    with pytest.raises(ConfigError) as told:
        serve(root, host=host, port=port, allow_remote=True, browser=False, told=print)
    return str(told.value)


def test_what_is_no_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    following = "name a run directory or a folder of them"
    assert refused(tmp_path / "none") == f"{tmp_path}/none: no such folder; {following}"
    assert refused(tmp_path / "file") == f"{tmp_path}/file: a file, not a folder; {following}"
    assert refused(tmp_path / "file" / "x") == f"{tmp_path}/file/x: a file, not a folder; {following}"
    assert f"cannot be read (File name too long); {following}" in refused(tmp_path / ("x" * 300))


@pytest.mark.parametrize("host", ["", "::g", "[::1]", "a" * 300, "é" * 70])
def test_an_address_that_is_none_is_said(tmp_path: Path, host: str) -> None:
    assert refused(tmp_path, host=host) == (
        f"--host {host!r} --port 0: there is no such address; name one of this machine, as 127.0.0.1"
    )


def test_an_address_of_another_machine_and_a_port_in_use_are_said(tmp_path: Path) -> None:
    assert "name an address of this machine, as 127.0.0.1" in refused(tmp_path, host="192.0.2.1")
    with socket.create_server(("127.0.0.1", 0)) as other:
        told = refused(tmp_path, port=other.getsockname()[1])
    assert told.endswith("(Address already in use); give another --port; 0 takes a free one")


def test_a_folder_without_runs_tells_how_they_come(tmp_path: Path) -> None:
    (tmp_path / "runs" / "no run").mkdir(parents=True)
    (tmp_path / "runs" / "notes.txt").touch()
    client = opened(tmp_path / "runs", tmp_path / "index")
    assert said(client.get("/")) == (
        f"Runs There is no run directory in {tmp_path}/runs yet. omnieval run writes one; reload this page then."
    )
    choice_run(tmp_path / "runs" / "monday", ["wrong"])
    assert "monday" in said(client.get("/"))
    shutil.rmtree(tmp_path / "runs")
    assert f"{tmp_path}/runs: no such folder" in said(client.get("/"))


def test_a_run_that_goes_while_it_is_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.wav").write_bytes(encode_wav(np.zeros(1600, dtype=np.float32)))
    run = choice_run(tmp_path / "runs" / "a", ["wrong", "correct"]).directory
    for name, old, new in (
        ("samples.jsonl", '"media":{}', f'"media":{{"audio":"{data}/1.wav"}}'),
        ("run.json", '"/data"', json.dumps(str(data))),
    ):
        (run / name).write_text((run / name).read_text().replace(old, new))
    choice_run(tmp_path / "runs" / "b", ["correct", "correct"])
    client = opened(tmp_path / "runs", tmp_path / "index")
    ids = {place.name: place.id for place in find_runs(tmp_path / "runs").values()}
    page, sample = f"/run/{ids['a']}", f"/run/{ids['a']}/sample/0"
    for url in (page, sample, f"{sample}/media/0", f"{page}/against/{ids['b']}"):
        assert client.get(url).status_code == 200
    shutil.rmtree(tmp_path / "runs" / "b")
    gone = client.get(f"{page}/against/{ids['b']}")
    assert (gone.status_code, said(gone)) == (404, "Runs Not to be shown No such run to compare with.")
    assert "no longer there" in said(client.get(f"{page}?show=lost&other={ids['b']}"))
    (data / "1.wav").unlink()
    lost = client.get(f"{sample}/media/0")
    assert (lost.status_code, said(lost)) == (404, "Runs Not to be shown No such file any more.")
    assert "The audio is not on this machine" in said(client.get(sample))
    shutil.rmtree(run)
    for url in (page, sample, f"{sample}/media/0", f"{page}/against/{ids['b']}"):
        answer = client.get(url)
        assert (answer.status_code, said(answer)) == (404, "Runs Not to be shown No such run any more.")
    pressed = client.post(f"{sample}/prepare", headers={"origin": ORIGIN})
    assert (pressed.status_code, said(pressed)) == (404, "Runs Not to be shown No such run any more.")


def test_a_run_without_its_samples_says_so(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "runs" / "a", ["wrong", "correct"]).directory
    (name,) = find_runs(tmp_path / "runs")
    missing = "No samples are to be found in its samples.jsonl."
    assert missing not in said(opened(tmp_path / "runs", tmp_path / "whole").get(f"/run/{name}"))
    (run / "samples.jsonl").unlink()
    client = opened(tmp_path / "runs", tmp_path / "index")
    assert missing in said(client.get(f"/run/{name}"))
    assert client.get(f"/run/{name}/sample/0").status_code == 404


def test_a_long_remark_is_unfolded(tmp_path: Path) -> None:
    speech_run(tmp_path / "runs" / "a", [{"wer": 0.5}])  # whose configuration has a key of another benchmark
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    page = client.get(f"/run/{name}/sample/0").text
    (begin, rest) = re.findall(
        r'<details class="warning"><summary>([^<]+) …</summary><p>… ([^<]+)</p></details>', page
    )[0]
    assert begin.startswith(
        "The request cannot be made anew here: unknown configuration key &#x27;plan&#x27;"
    )
    assert len(html.unescape(begin)) <= 120
    assert rest.endswith(", warmup)")
    short = client.get("/run/none").text
    assert "<details" not in short
