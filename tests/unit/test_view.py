"""The viewer's pages and who may see them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import sys
import tarfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
from httpx import Response
from starlette.testclient import TestClient

from omnieval import api
from omnieval.errors import ConfigError
from omnieval.media.encode import encode_wav
from omnieval.runlog import Run
from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from omnieval.view.index import Indexer, NotReadyError
from omnieval.view.query import Found, Query
from omnieval.view.serve import serve
from tests.runs import choice_run, many_questions, speech_run

ATTACKS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "</style><b>",
    "\u202eevil",
    "x" * 300_000,
)


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    replies = dict(enumerate(ATTACKS))
    outcomes = [*["wrong"] * 5, "correct", "unparsed", "timeout", "correct"]
    choice_run(tmp_path / "runs" / "a", outcomes, replies=replies)
    choice_run(
        tmp_path / "runs" / "suite" / "b", [*["correct"] * 5, "wrong", "correct", "correct", "correct"]
    )
    app = make_app(tmp_path / "runs", tmp_path / "index", token="secret", port=8000)
    found = TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=True)
    assert found.get("/?token=secret").status_code == 200
    return found


def run_id(client: TestClient, name: str) -> str:
    text = client.get("/").text
    return text.split(f"<bdi>{name}</bdi></a>")[0].rpartition('">')[0].rsplit("/run/", 1)[1]


def test_only_the_holder_of_the_token_is_answered(client: TestClient) -> None:
    stranger = TestClient(client.app, base_url="http://127.0.0.1:8000")
    for url in ("/", "/static/view.js", "/?token=wrong", "/run/x"):
        assert stranger.get(url).status_code == 401
    answer = stranger.get("/?token=secret", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secret" not in cookie


@pytest.mark.parametrize(
    "host", ["evil.example:8000", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:8000", "10.0.0.1:8000"]
)
def test_another_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421


def test_browsers_leave_out_port_80(tmp_path: Path) -> None:
    app = make_app(tmp_path, tmp_path / "index", token="t", port=80)
    assert TestClient(app, base_url="http://127.0.0.1").get("/?token=t").status_code == 200
    for host in ("evil.example", "127.0.0.1:8000"):
        assert TestClient(app, base_url=f"http://{host}").get("/?token=t").status_code == 421


def test_other_machines_ask_by_an_address_or_by_this_machines_own_name(tmp_path: Path) -> None:
    app = make_app(tmp_path, tmp_path / "index", token="t", port=8000, remote=True)
    for host, status in (
        ("10.0.0.1:8000", 200), ("[2001:db8::1]:8000", 200), (f"{socket.gethostname()}:8000", 200),
        ("evil.example:8000", 421), (f"{socket.gethostname()}.evil.example:8000", 421), ("10.0.0.1:1", 421),
    ):  # fmt: skip
        client = TestClient(app, base_url="http://127.0.0.1:8000")
        assert client.get("/?token=t", headers={"host": host}, follow_redirects=False).status_code == (
            303 if status == 200 else 421
        ), host


def test_another_origin_and_other_methods_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/", headers={"origin": "null"}).status_code == 403
    assert client.post("/run/x/sample/1/prepare").status_code == 403
    assert client.delete("/").status_code == 405


def test_no_path_leads_outside(client: TestClient) -> None:
    for url in ("/static/..%2f..%2fapp.py", "/static/%2e%2e/app.py", "/run/..%2f..%2fetc/sample/0/media/0"):
        assert client.get(url).status_code == 404


def test_every_file_that_a_page_links_is_there_also_the_icon(client: TestClient) -> None:
    linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', client.get("/").text)
    assert "/static/icon.svg" in linked
    assert [client.get(url).status_code for url in linked] == [200] * len(linked)


def test_headers_forbid_what_pages_do_not_need(client: TestClient) -> None:
    headers = client.get("/").headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_replies_are_text(client: TestClient) -> None:
    run = run_id(client, "a")
    for n, attack in enumerate(ATTACKS[:4]):
        for url in (f"/run/{run}", f"/run/{run}/sample/{n}"):
            page = client.get(url).text
            assert attack not in page
    long = client.get(f"/run/{run}/sample/4").text
    assert len(long) < 50_000
    assert "show all 300,000 characters" in long
    assert "x" * 300_000 in client.get(f"/run/{run}/sample/4?all=1").text


def test_filters_flips_and_search(client: TestClient, tmp_path: Path) -> None:
    outcomes = [score.outcome for score in Run.load(tmp_path / "runs" / "a").scores()]
    assert {"wrong", "failed", "correct"} <= set(outcomes)
    run, other = run_id(client, "a"), run_id(client, "b")
    for show in ("wrong", "unparsed", "failed", "correct"):
        (number,) = re.findall(
            r'class="turn">[^<]*?of (\d+)(?: on this page)?<', client.get(f"/run/{run}?show={show}").text
        ) or ["0"]
        assert int(number) == outcomes.count(show)
    assert "of 1<" in client.get(f"/run/{run}?text=onerror").text
    assert "of 1<" in client.get(f"/run/{run}?show=gained&other={other}").text
    assert "of 7<" in client.get(f"/run/{run}?show=lost&other={other}").text
    assert "right here, not there" in client.get(f"/run/{run}/against/{other}").text
    for odd in (
        "?text=%22%00%27",
        "?page=99999999999",
        "?facet=x&sort=;",
        "?show=lost",
        "?other=nowhere",
        "?show=flipped&sort=apart",
        "?text=%ud800",
    ):
        assert client.get(f"/run/{run}{odd}").status_code == 200


def test_how_a_run_ended_is_counted_and_a_press_away(client: TestClient, tmp_path: Path) -> None:
    url = f"/run/{run_id(client, 'a')}"
    page = client.get(url).text
    counted = re.findall(r'<a href="([^"]+)"[^>]*><b>([\d,]+)</b> ([\w ]+)</a>', page)
    scores = [
        json.loads(line) for line in (tmp_path / "runs" / "a" / "scores.jsonl").read_text().splitlines()
    ]
    expected = Counter(score["outcome"] for score in scores)
    expected.update({"all": len(scores), "unhealthy": sum(bool(score["flags"]) for score in scores)})
    assert {what: int(number) for _, number, what in counted} == expected
    for place, number, _ in counted:
        assert f"of {number}<" in client.get(place).text


def test_what_needs_another_run_says_so_without_one(client: TestClient) -> None:
    run, other = run_id(client, "a"), run_id(client, "b")
    page = client.get(f"/run/{run}?show=flipped&sort=apart").text
    assert "Choose a run under “Against” for: flipped, largest difference in word errors." in page
    assert "of 9<" in page
    assert "no longer there" in client.get(f"/run/{run}?show=flipped&other=nowhere").text
    for url in (f"/run/{run}?show=wrong", f"/run/{run}?show=flipped&other={other}"):
        assert 'class="warning"' not in client.get(url).text


def test_a_damaged_torn_unscored_or_vanished_run_is_told(client: TestClient, tmp_path: Path) -> None:
    run, folder = run_id(client, "a"), tmp_path / "runs" / "a"
    (folder / "scores.jsonl").write_text("{not json\n")
    (folder / "report.json").unlink()
    with (folder / "responses.jsonl").open("a") as file:
        file.write('{"sample_id": "s0", "te')
    page = client.get(f"/run/{run}").text
    assert "1 damaged lines" in page
    assert "Not scored yet." in page
    assert client.get(f"/run/{run}/sample/0").status_code == 200
    (folder / "run.json").write_text("[]")
    assert client.get("/").status_code == 200
    assert client.get(f"/run/{run}/sample/0").status_code == 404
    shutil.rmtree(folder)
    assert client.get(f"/run/{run}").status_code == 404
    assert client.get("/").status_code == 200


def test_neighbours_follow_filter_and_order(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["wrong", "correct", "wrong", "wrong"])
    index = Indexer(tmp_path / "index").open(run.directory).rows
    assert Found(index, Query(show="wrong"), None).beside(0, after=True) == 2
    down = Found(index, Query(show="wrong", sort="slow"), None)
    order = [row["n"] for row in down.page()]
    assert down.beside(order[0], after=True) == order[1]
    assert down.beside(order[1], after=False) == order[0]
    assert down.beside(order[0], after=False) is None


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["wrong"])
    indexer = Indexer(tmp_path)
    indexer.open(run.directory).rows.close()
    indexer.place(run.directory).write_bytes(b"no database")
    index = indexer.open(run.directory)
    assert Found(index.rows, Query(), None).count() == 1
    index.rows.close()


def test_a_spoken_run_shows_what_was_heard(tmp_path: Path) -> None:
    run = speech_run(tmp_path / "runs" / "s", [{"wer": 0.5}, "no_audio"])
    app = make_app(run.directory, tmp_path / "index", token="t", port=8000)
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    client.get("/?token=t")
    (name,) = find_runs(run.directory)
    page = client.get(f"/run/{name}/sample/0").text
    assert '<del class="sub">text</del><ins class="sub">test</ins>' in page


def test_other_machines_are_let_in_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--allow-remote"):
        serve(tmp_path, host="0.0.0.0", port=0, allow_remote=False, browser=False, told=print)


def test_media_outside_the_data_set_are_not_served(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "runs" / "a", ["wrong"])
    secret = tmp_path / "secret.wav"
    secret.write_bytes(b"secret")
    samples = run.directory / "samples.jsonl"
    samples.write_text(samples.read_text().replace('"media":{}', f'"media":{{"audio":"{secret}"}}'))
    app = make_app(tmp_path / "runs", tmp_path / "index", token="t", port=8000)
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    client.get("/?token=t")
    (name,) = find_runs(tmp_path / "runs")
    assert "lies outside" in client.get(f"/run/{name}/sample/0").text
    for k in range(3):
        assert client.get(f"/run/{name}/sample/0/media/{k}").status_code == 404


@pytest.mark.parametrize(
    ("root", "name", "told"),
    [("/", "sound.wav", "lies outside the run"), ("", "notes.txt", "is of no kind that a browser plays"),
     ("", "none.wav", "is not on this machine"), ("", "folder.wav", "is not on this machine")],
)  # fmt: skip
def test_media_that_no_browser_is_to_have_are_named_and_not_served(
    tmp_path: Path, root: str, name: str, told: str
) -> None:
    data = tmp_path / "data"
    (data / "folder.wav").mkdir(parents=True)
    for file in ("sound.wav", "notes.txt"):
        (data / file).write_bytes(b"secret")
    run = choice_run(tmp_path / "runs" / "a", ["wrong"]).directory
    info = json.loads((run / "run.json").read_text())
    info["dataset"]["root"] = root or str(data)
    (run / "run.json").write_text(json.dumps(info))
    samples = run / "samples.jsonl"
    samples.write_text(samples.read_text().replace('"media":{}', f'"media":{{"audio":"{data / name}"}}'))
    client = opened(tmp_path / "runs", tmp_path / "index")
    (run_name,) = find_runs(tmp_path / "runs")
    assert f"The audio {told}" in client.get(f"/run/{run_name}/sample/0").text
    answer = client.get(f"/run/{run_name}/sample/0/media/0")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_page_tells_how_far_the_index_is_and_comes_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.view.index._PATIENCE_S", 0.01)
    monkeypatch.setattr("omnieval.view.index._REST", 10**6)  # however long this machine is busy
    run = many_questions(tmp_path / "runs" / "a", 20_000)
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    first = client.get(f"/run/{name}")
    assert first.status_code == 503
    assert first.headers["refresh"] == "1"
    assert re.search(r"\d+% of its files are read", first.text)
    assert patient(client, f"/run/{name}?show=wrong").text.count("of 20,000<") == 2
    # While the index of a run that grew is being made, the one before answers, and says so.
    with (run / "responses.jsonl").open("a") as file:
        file.write('{"sample_id":"s1","text":"A"}\n')
    index = Indexer(tmp_path / "index")
    assert index.open(run).took_s > 0.01
    assert "it has changed since" in client.get(f"/run/{name}").text


def test_an_index_made_while_nobody_waited_is_not_taken_for_that_of_a_run_that_grew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.view.index._PATIENCE_S", 0)
    run = many_questions(tmp_path / "r", 3_000)
    indexer = Indexer(tmp_path / "index")
    with pytest.raises(NotReadyError):
        indexer.open(run)
    for _ in range(600):
        if indexer.place(run).exists():
            break
        time.sleep(0.05)
    index = indexer.open(run)
    index.rows.close()
    assert not index.outdated
    with (run / "responses.jsonl").open("a") as file:
        file.write('{"sample_id":"s1","text":"A"}\n')
    time.sleep(0.1)  # what made it has ended
    index = indexer.open(run)
    index.rows.close()
    assert index.outdated


def test_an_index_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    choice_run(tmp_path / "runs" / "a", ["wrong"])
    (tmp_path / "index").write_text("a file where the folder should be")
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    answer = client.get(f"/run/{name}")
    assert answer.status_code == 404
    assert "cannot be made" in answer.text
    assert client.get("/").status_code == 200


def test_old_indices_and_what_killed_viewers_left_are_swept(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["wrong"])
    for name, age_s in (
        ("old.sqlite", 40 * 86400),
        ("young.sqlite", 86400),
        ("dead.tmp", 7200),
        ("alive.tmp", 60),
    ):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)
    indexer = Indexer(tmp_path)
    indexer.open(run.directory).rows.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted(
        ["young.sqlite", "alive.tmp", indexer.place(run.directory).name]
    )


def opened(root: Path, index: Path) -> TestClient:
    """A viewer's client that has shown its token."""
    found = TestClient(make_app(root, index, token="t", port=8000), base_url="http://127.0.0.1:8000")
    assert found.get("/?token=t").status_code == 200
    return found


def patient(client: TestClient, url: str) -> Response:
    """The answer once the index is there, as a browser comes to it."""
    for _ in range(1200):
        answer = client.get(url)
        if answer.status_code != 503:
            return answer
        time.sleep(0.05)
    pytest.fail("the index is never there", pytrace=False)


def test_spoken_runs_are_compared_by_words_and_voices(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for name, wers in (("a", (0.5, 0.0, 0.25)), ("b", (0.0, 0.5, 0.25))):
        speech_run(root / name, [{"wer": wer, "sim[wavlm-sv]": wer / 2 + 0.5} for wer in wers])
    speech_run(root / "c", [{"wer": 0.5, "sim[ge2e]": 0.9}] * 3)
    client = opened(root, tmp_path / "index")
    a, b, c = (run_id(client, name) for name in "abc")
    page = client.get(f"/run/{a}/against/{b}").text
    assert "3 utterances heard in both runs" in page
    assert '<td class="n">25.00 %</td><td class="n">25.00 %</td><td class="n">+0.00 %</td>' in page
    assert "SIM, mean" in page
    assert 'more word errors here</a></th><td class="n">1<' in page
    assert "of 1<" in client.get(f"/run/{a}?show=worse&other={b}").text
    assert client.get(f"/run/{a}?sort=apart&other={b}").text.index("u0") >= 0
    unlike = client.get(f"/run/{a}/against/{c}").text
    assert "Voices compared by sim[wavlm-sv] here and by sim[ge2e] there." in unlike
    assert "SIM, mean" not in unlike


def pack(archive: Path, wav: bytes) -> None:
    """An archive, of the kind that its suffix names, with a sound in a folder."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("a/1.wav", wav)
        return
    with tarfile.open(archive, "w:gz" if archive.suffix == ".gz" else "w") as tarred:
        member = tarfile.TarInfo("a/1.wav")
        member.size = len(wav)
        tarred.addfile(member, io.BytesIO(wav))


@pytest.mark.parametrize("name", ["sounds.zip", "sounds.tar", "sounds.tar.gz"])
def test_media_in_an_archive_are_served_and_no_folder_of_another_machine_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(tmp_path / "cache"))
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere" / "cache"
    data.mkdir()
    before, after = (encode_wav(np.full(count, 0.25, dtype=np.float32)) for count in (1600, 3200))
    pack(data / name, before)
    run = choice_run(tmp_path / "runs" / "a", ["wrong"], cache_dir=str(elsewhere))
    for written, old, new in (
        ("samples.jsonl", '"media":{}', f'"media":{{"audio":"{data}/{name}/a/1.wav"}}'),
        ("run.json", '"/data"', json.dumps(str(data))),
    ):
        file = run.directory / written
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
    client = opened(tmp_path / "runs", tmp_path / "index")
    (shown,) = find_runs(tmp_path / "runs")
    page, media = f"/run/{shown}/sample/0", f"/run/{shown}/sample/0/media/0"
    assert media in client.get(page).text
    sound = client.get(media)
    assert sound.headers["content-type"] == "audio/wav"
    assert sound.content == before
    assert client.get(media, headers={"range": "bytes=0-3"}).content == b"RIFF"
    assert not elsewhere.parent.exists()
    # The archive is replaced while the viewer runs: the page, opened again, plays what is there now.
    (data / name).unlink()
    pack(data / name, after)
    assert client.get(media).status_code == 404
    assert media in client.get(page).text
    assert client.get(media).content == after


def test_media_that_the_cache_lost_are_prepared_at_a_press(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(tmp_path / "cache"))
    api.run("daily-omni", sample=True, backend="chance", limit=1, out=tmp_path / "runs" / "a")
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    url = f"/run/{name}/sample/0"
    page = client.get(url).text
    assert "not in the cache of this machine" in page
    assert "Prepare the media now" in page
    assert 'class="strip"' not in page
    pressed = client.post(f"{url}/prepare", headers={"origin": "http://127.0.0.1:8000"})
    assert pressed.url.path == url
    assert "Prepare the media now" not in pressed.text
    frame, segment = (re.search(rf'<{tag} src="([^"]+)"', pressed.text) for tag in ("img", "audio"))
    assert frame is not None
    assert segment is not None
    assert client.get(frame[1]).content[:2] == b"\xff\xd8"
    assert client.get(segment[1]).content[:4] == b"RIFF"


def test_joined_frames_stand_beside_the_one_that_they_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(tmp_path / "cache"))
    settings: dict[str, Any] = {"stack_frames": 3, "max_frames": 2}
    api.run("daily-omni", sample=True, backend="chance", limit=1, out=tmp_path / "runs" / "a", **settings)
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    page = client.get(f"/run/{name}/sample/0").text
    shown = re.findall(r'<img src="[^"]+" alt="([^"]+) 0\.00 s"', page)
    assert shown == ["frame at", "frames joined, after"]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
def test_a_run_whose_name_is_no_utf8_is_shown(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["wrong"]).directory
    (tmp_path / "runs").mkdir()
    run.rename(tmp_path / "runs" / os.fsdecode(b"caf\xe9"))
    client = opened(tmp_path / "runs", tmp_path / "index")
    (name,) = find_runs(tmp_path / "runs")
    for url in ("/", f"/run/{name}", f"/run/{name}/sample/0", f"/run/{name}/against/{name}"):
        assert client.get(url).status_code == 200
