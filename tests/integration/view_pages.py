"""Runs for every page of the viewer, and where each page is."""

from __future__ import annotations

from pathlib import Path

from omnieval.types import Timing
from tests.integration.report_pages import LONG, OUTCOMES, PLAIN, Words, asked_suite
from tests.integration.viewer import Viewer
from tests.runs import choice_run, speech_run

# Page -> run, and what follows its URL; `{other}` is the id of the run that it is compared with.
PAGES = {
    "runs": ("", "/"),
    "runs-found": ("", "/?text=challenge"),
    "samples": ("monday", ""),
    "samples-flipped": ("monday", "?show=flipped&other={other}"),
    "samples-none": ("monday", "?text=no+such+words"),
    "sample": ("asked", "/sample/0?all=1"),
    "sample-failed": ("monday", "/sample/5"),
    "sample-long": ("monday", "/sample/3"),
    "against": ("monday", "/against/{other}"),
    "said": ("said", "?sort=wer"),
    "said-sample": ("said", "/sample/0"),
    "said-against": ("said", "/against/{other}"),
}
_OTHERS = {"monday": "tuesday", "said": "said-again"}


def write_view_runs(runs: Path, words: Words = PLAIN) -> None:
    """All but `asked`. With other words than plain ones, names of folders begin with theirs."""
    before = "" if words is PLAIN else words.folder
    about = {
        "question": words.question, "options": words.options, "model": words.model, "backend": "openai-chat",
        "timing": Timing(ttft_s=0.31, e2e_s=0.92), "kinds": words.kinds, "prefix": words.sample,
        "failure": words.failure, "root": words.root,
    }  # fmt: skip
    long = words.replies[0] if words is not PLAIN else LONG
    choice_run(runs / f"{before}monday", OUTCOMES, replies={1: long, 3: long, 10: long}, **about)
    choice_run(runs / f"{before}tuesday", ("wrong", "correct", *OUTCOMES[2:]), replies={0: long}, **about)
    for name, wers in (("said", (0.5, 0.0, 0.25)), ("said-again", (0.0, 0.5, 0.25))):
        speech_run(
            runs / f"{before}{name}", [{"wer": wer, "sim[wavlm-sv]": wer / 2 + 0.5} for wer in wers],
            reference=words.question, hypothesis=words.replies[0], prefix=words.sample, model=words.model,
            root=words.root,
        )  # fmt: skip
    asked_suite(runs / f"{before}challenge", words)


def address(viewer: Viewer, name: str, words: Words = PLAIN) -> str:
    """The URL of a page about `write_view_runs(viewer.runs, words)`."""
    before = "" if words is PLAIN else words.folder
    run, rest = PAGES[name]
    rest = rest.format(other=viewer.id(f"{before}{_OTHERS[run]}") if run in _OTHERS else "")
    return viewer.run(f"{before}{run}", rest) if run else viewer.host + rest
