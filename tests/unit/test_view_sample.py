"""What a sample's page says, and how samples are filtered and ordered: against the files of the run."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from omnieval import api
from omnieval.media.encode import encode_wav
from omnieval.runlog import Run
from omnieval.types import Timing
from omnieval.view import serve as serving
from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from tests.runs import choice_run, speech_run


def opened(folder: Path) -> TestClient:
    """A viewer of folder/runs."""
    app = make_app(folder / "runs", folder / "index", token="t", port=8000)
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    assert client.get("/?token=t").status_code == 200
    return client


def only_run(folder: Path) -> str:
    """The URL of the only run in folder/runs."""
    (name,) = find_runs(folder / "runs")
    return f"/run/{name}"


def listed(client: TestClient, url: str) -> list[str]:
    """Ids of the samples in a list."""
    rows = client.get(url).text.partition("<tbody>")[2]
    return re.findall(r"<th[^>]*><a[^>]*><bdi>([^<]+)</bdi></a></th>", rows)


def rows_of(page: str, caption: str) -> list[list[str]]:
    """The cells of a table, row by row."""
    body = page.partition(f"<caption>{caption}</caption>")[2].partition("</table>")[0].partition("<tbody>")[2]
    return [re.findall(r"<t[hd][^>]*>(?:<[^>]+>)*([^<]*)", row) for row in body.split("</tr>")[:-1]]


def test_a_sample_has_its_options_its_reply_and_what_each_parser_reads(tmp_path: Path) -> None:
    run = choice_run(
        tmp_path / "runs" / "a", ["read otherwise"], question="Which colour has the ship?",
        timing=Timing(ttft_s=0.25, ttfp_s=0.5, e2e_s=1.5, rtf=0.75),
    )  # fmt: skip
    client = opened(tmp_path)
    page = client.get(f"{only_run(tmp_path)}/sample/0").text
    (score,) = run.scores()
    assert score.answer == "B"
    assert "Which colour has the ship?" in page
    options = re.findall(r"<li><b>(.)\.</b><bdi>([^<]+)</bdi>(.*?)</li>", page)
    assert [(letter, text, re.findall(r">([a-z]+)</span>", told)) for letter, text, told in options] == [
        ("A", "red", ["right"]), ("B", "green", ["chosen"]), ("C", "blue", []), ("D", "none", []),
    ]  # fmt: skip
    assert "I would say <mark>B</mark>. Answer: A" in page
    assert "Read as <b>B</b> by daily-omni-official" in page
    read = [[rule, letter or "nothing"] for rule, letter in score.readings.items()]
    assert {"A", "B"} <= {letter for _, letter in read}
    assert rows_of(page, "Readings") == read
    assert rows_of(page, "Tries") == [["1", "0.250", "0.500", "1.500", "0.750", ""]]
    assert "type: <bdi>t0</bdi>" in page


def test_all_tries_are_told_with_how_they_ended(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "runs" / "a", ["timeout"])
    (failed,) = run.last_responses().values()
    with (run.directory / "responses.jsonl").open("a") as file:
        file.write('{"sample_id":"s0","text":"A","attempt":2,"finish_reason":"length"}\n')
    page = opened(tmp_path).get(f"{only_run(tmp_path)}/sample/0").text
    assert failed.error is not None
    assert [row[-1] for row in rows_of(page, "Tries")] == [f"timeout: {failed.error.message}", "length"]


def test_the_request_is_shown_as_it_was_sent(tmp_path: Path, cache_dir: Path) -> None:
    api.run(
        "daily-omni", sample=True, backend="chance", limit=1, out=tmp_path / "runs" / "a", cache_dir=str(cache_dir),
        max_frames=2,
    )  # fmt: skip
    page = opened(tmp_path).get(f"{only_run(tmp_path)}/sample/0?all=1").text
    sent = (
        page.partition("<summary>Request as sent</summary>")[2].partition("<pre>")[2].partition("</pre>")[0]
    )
    told = json.loads(
        sent.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'")
    )
    (user,) = (message for message in told["messages"] if message["role"] == "user")
    (planned,) = (one for one in Run.load(tmp_path / "runs" / "a").samples() if one.selected)
    assert any(planned.sample.question in part for part in user["parts"])
    assert sum(part.startswith("<image ") for part in user["parts"]) == 2
    assert told["generation"]["max_tokens"] > 0


def told_run(folder: Path, reference: str, answer: bytes) -> Path:
    """The directory of a run of one spoken answer to a sample whose prompt voice lies at folder/data/{reference}."""
    data = folder / "data"
    run = speech_run(folder / "runs" / "a", [{"wer": 0.5}]).directory
    (run / "audio").mkdir()
    (run / "audio" / "u0.wav").write_bytes(answer)
    audio = {"rate_hz": 16_000, "channels": 1, "frames": 1600, "file": "audio/u0.wav"}
    planned, response = (json.loads((run / f"{name}.jsonl").read_text()) for name in ("samples", "responses"))
    planned.get("sample", planned)["media"] = {"reference": str(data / reference)}
    (run / "samples.jsonl").write_text(json.dumps(planned) + "\n")
    (run / "responses.jsonl").write_text(json.dumps({**response, "audio": audio}) + "\n")
    info = json.loads((run / "run.json").read_text())
    info["dataset"]["root"] = str(data)
    (run / "run.json").write_text(json.dumps(info))
    return run


def players(page: str) -> list[tuple[str, str, bool, str]]:
    """(what, file name, whether it is drawn, URL) of each whole sound on a page."""
    found = re.findall(
        r'<figcaption><b>([^<]+)</b> <bdi>([^<]+)</bdi></figcaption>(<div class="wave">)?.*?<audio src="([^"]+)"',
        page,
    )
    return [(what, name, bool(wave), url) for what, name, wave, url in found]


@pytest.mark.parametrize("packed", [False, True])
def test_the_voice_to_speak_in_stands_beside_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(tmp_path / "cache"))
    prompt, answer = (encode_wav(np.full(1600, value, dtype=np.float32)) for value in (0.1, 0.2))
    (tmp_path / "data").mkdir()
    if packed:
        with zipfile.ZipFile(tmp_path / "data" / "set.zip", "w") as archive:
            archive.writestr("prompt.wav", prompt)
    else:
        (tmp_path / "data" / "prompt.wav").write_bytes(prompt)
    told_run(tmp_path, "set.zip/prompt.wav" if packed else "prompt.wav", answer)
    client = opened(tmp_path)
    found = players(client.get(f"{only_run(tmp_path)}/sample/0").text)
    assert [told[:3] for told in found] == [
        ("answer", "u0.wav", True), ("voice to speak in", "prompt.wav", True),
    ]  # fmt: skip
    assert [client.get(url).content for *_, url in found] == [answer, prompt]


def test_a_long_sound_is_played_and_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    told_run(tmp_path, "none.wav", encode_wav(np.zeros(9 * 2**20, dtype=np.float32)))
    client = opened(tmp_path)
    ((what, _, drawn, url),) = players(client.get(f"{only_run(tmp_path)}/sample/0").text)
    assert (what, drawn) == ("answer", False)
    assert client.get(url, headers={"range": "bytes=0-3"}).content == b"RIFF"


def test_samples_are_filtered_by_a_groups_value_and_by_what_their_texts_hold(tmp_path: Path) -> None:
    choice_run(
        tmp_path / "runs" / "a", ["correct", "wrong"] * 6, kinds=("motion", "sound", "words"),
        replies={1: "B because of Häuser"},
    )  # fmt: skip
    client, url = opened(tmp_path), only_run(tmp_path)
    facets = dict(re.findall(r'<option value="(\d+)">type: (\w+) \(4\)</option>', client.get(url).text))
    assert sorted(facets.values()) == ["motion", "sound", "words"]
    for facet, kind in facets.items():
        first = ("motion", "sound", "words").index(kind)
        assert listed(client, f"{url}?facet={facet}") == [f"s{i}" for i in range(first, 12, 3)]
        assert listed(client, f"{url}?facet={facet}&show=wrong") == [
            f"s{i}" for i in range(first, 12, 3) if i % 2
        ]
    assert listed(client, f"{url}?text=H%C3%84USER") == ["s1"], "without case"
    assert listed(client, f"{url}?text=s11") == ["s11"]


def test_samples_are_ordered_as_asked(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "runs" / "a", ["wrong"] * 3, replies={0: "B no", 1: "B", 2: "B not so"})
    texts = (run.directory / "responses.jsonl").read_text().splitlines()
    records = [json.loads(text) for text in texts]
    for record, seconds in zip(records, (0.5, 9.0, 1.0), strict=True):
        record["timing"]["e2e_s"] = seconds
    (run.directory / "responses.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    client, url = opened(tmp_path), only_run(tmp_path)
    assert listed(client, url) == ["s0", "s1", "s2"]
    assert listed(client, f"{url}?sort=slow") == ["s1", "s2", "s0"]
    assert listed(client, f"{url}?sort=long") == ["s2", "s0", "s1"]


def test_utterances_are_ordered_by_their_errors_and_apart_from_another_run(tmp_path: Path) -> None:
    for name, wers in (("a", (0.25, 0.0, 0.5)), ("b", (0.25, 0.75, 0.25))):
        speech_run(tmp_path / "runs" / name, [{"wer": wer} for wer in wers])
    client = opened(tmp_path)
    ids = {place.name: place.id for place in find_runs(tmp_path / "runs").values()}
    url = f"/run/{ids['a']}"
    assert listed(client, f"{url}?sort=wer") == ["u2", "u0", "u1"]
    assert listed(client, f"{url}?show=errors") == ["u0", "u2"]
    assert listed(client, f"{url}?sort=apart&other={ids['b']}") == ["u1", "u2", "u0"]
    assert listed(client, f"{url}?show=worse&other={ids['b']}") == ["u2"]


@pytest.mark.parametrize(
    ("display", "wanted", "opens"), [(":0", True, True), (":0", False, False), ("", True, False)]
)
def test_the_url_is_opened_on_a_desktop_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, display: str, wanted: bool, opens: bool
) -> None:
    shown: list[str] = []
    told: list[str] = []
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(serving.sys, "platform", "linux")
    monkeypatch.setattr(serving.webbrowser, "open", shown.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    serving.serve(tmp_path, host="127.0.0.1", port=0, allow_remote=False, browser=wanted, told=told.append)
    assert shown == ([told[0].splitlines()[0]] if opens else [])
    assert told[0].startswith("http://127.0.0.1:")
