"""Whatever stands in a run's files, the viewer answers with a page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from tests.runs import choice_run, speech_run

FILES = ("scores.jsonl", "responses.jsonl", "samples.jsonl", "run.json", "report.json")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**18, max_value=10**400)
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=12)
    | st.sampled_from(["../../etc/passwd.wav", "\0", "a\u202eb", "x" * 3000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in inner for place in places(part, (*at, key)))]


def changed(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    if not place:
        return new
    key, *rest = place
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[key] = changed(copied[key], tuple(rest), new)
    return copied


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sound runs to damage."""
    root = tmp_path_factory.mktemp("sound")
    choice_run(root / "choice", ["read otherwise", "timeout"], replies={0: "I would say B. Answer: A"})
    speech_run(root / "speech", [{"wer": 0.5, "sim[wavlm-sv]": 0.6}, "no_audio"])
    return root


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["choice", "speech"]), name=st.sampled_from(FILES), where=st.integers(0, 10_000),
       new=JSON)  # fmt: skip
def test_odd_values_anywhere_are_no_fault_of_the_server(
    sound: Path, tmp_path: Path, kind: str, name: str, where: int, new: Any
) -> None:
    root = damaged(sound, tmp_path, kind)
    file = root / kind / name
    first, *rest = file.read_text().splitlines() if name.endswith("l") else [file.read_text()]
    value = json.loads(first)
    found = places(value)
    file.write_text("\n".join([json.dumps(changed(value, found[where % len(found)], new)), *rest]) + "\n")
    visit(root, tmp_path)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["choice", "speech"]), key=st.sampled_from(["span", "reference", "hypothesis",
       "substitutions", "reason", "message"]), new=JSON)  # fmt: skip
@example("choice", "span", [-5, 3])
@example("choice", "span", [3, 10**30])
@example("choice", "span", ["a", "b"])
@example("speech", "hypothesis", None)
@example("speech", "reference", " ")
def test_odd_details_of_a_score_leave_the_rest_of_the_page(
    sound: Path, tmp_path: Path, kind: str, key: str, new: Any
) -> None:
    root = damaged(sound, tmp_path, kind)
    file = root / kind / "scores.jsonl"
    first, *rest = file.read_text().splitlines()
    score = json.loads(first)
    score["details"][key] = new
    file.write_text("\n".join([json.dumps(score), *rest]) + "\n")
    page = visit(root, tmp_path)
    assert ("Answer: A" if kind == "choice" else "<h2>Heard</h2>") in page.replace("<mark>", "").replace(
        "</mark>", ""
    )


def damaged(sound: Path, tmp_path: Path, kind: str) -> Path:
    """A folder with a fresh copy of one run."""
    root = tmp_path / "runs"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound / kind, root / kind)
    return root


def visit(root: Path, tmp_path: Path) -> str:
    """Ask for every kind of page; the first sample's. An exception of the server raises here."""
    client = TestClient(
        make_app(root, tmp_path / "index", token="t", port=8000), base_url="http://127.0.0.1:8000"
    )
    assert client.get("/?token=t").status_code == 200
    (run,) = find_runs(root)
    for url in ("", "?show=errors&sort=wer", f"/against/{run}", "/sample/1"):
        assert client.get(f"/run/{run}{url}").status_code in (200, 404)
    page = client.get(f"/run/{run}/sample/0")
    assert page.status_code in (200, 404)
    assert client.get(f"/run/{run}/sample/0/media/0").status_code in (200, 404)
    return page.text
