"""A file of every kind of HTML report, about made runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from omnieval import api
from omnieval.bench import write_report
from omnieval.diagnose import Diagnosis, diagnosis_html
from omnieval.diagnose.findings import Break, RungRow
from omnieval.report.html import comparisons_html, gate_html
from omnieval.report.proportion import Proportion
from omnieval.runlog import Run
from omnieval.suite import Suite, judge_suite, suite_gate_html
from omnieval.suite import write_report as write_suite_report
from omnieval.types import Timing
from tests.runs import choice_run, speech_run
from tests.unit.test_bench_page import choice_bench

OUTCOMES = ("correct", "wrong", "correct", "unparsed", "read otherwise", "timeout", "correct") * 9
LONG = "The speaker says that nothing was decided, and the picture on the wall shows a ship. " * 9


@dataclass(frozen=True)
class Words:
    """What stands in made runs. replies: of wrong answers, in turn. kinds: values of the group `type`. failure:
    what a failed sample says. Of a spoken run, replies are what was heard."""

    question: str = "What does the speaker say while the ship on the wall is shown?"
    options: tuple[str, ...] = (
        "A. Nothing was decided", "B. The ship leaves at noon", "C. All agree", "D. None of these",
    )  # fmt: skip
    replies: tuple[str, ...] = (f"B. {LONG}", "B")
    model: str = "openbmb/MiniCPM-o-4_5"
    kinds: tuple[str, ...] = ("AV Event Alignment", "Event Sequence", "Inference", "Reasoning")
    sample: str = "daily-"
    folder: str = "monday"
    root: str = "/data/Daily-Omni"
    failure: str = "no answer within 300 s; raise --set timeout_s"


PLAIN = Words()


def write_report_pages(folder: Path, words: Words = PLAIN) -> dict[str, Path]:
    """Kind of page -> file, below the folder."""
    runs = folder / words.folder
    runs.mkdir(parents=True)
    return {name: make(runs / name, words) for name, make in _KINDS.items()}


def _answers(folder: Path, words: Words, outcomes: tuple[str, ...] = OUTCOMES) -> Run:
    replies = {i: words.replies[i % len(words.replies)] for i, kind in enumerate(outcomes) if kind == "wrong"}
    return choice_run(
        folder, outcomes, question=words.question, options=words.options, replies=replies, kinds=words.kinds,
        prefix=words.sample, failure=words.failure, root=words.root, model=words.model, backend="openai-chat",
        timing=Timing(ttft_s=0.31, e2e_s=0.92),
    )  # fmt: skip


def _utterances(folder: Path, words: Words, *, better: float = 0.0) -> Run:
    found = [{"wer": i / 20, "sim[wavlm-sv]": 0.6 + better + i / 100, "duration_s": 2.0} for i in range(12)]
    return speech_run(
        folder, [*found, "timeout"], per_speaker=2, reference=words.question, hypothesis=words.replies[0],
        prefix=words.sample, failure=words.failure, root=words.root, model=words.model,
    )  # fmt: skip


def _gate_file(folder: Path, text: str) -> Path:
    file = folder.parent / f"{folder.name}.yaml"
    file.write_text(text)
    return file


def _run(folder: Path, words: Words) -> Path:
    """With verdicts of a gate and what the accelerator did."""
    run = _answers(folder, words)
    with (run.directory / "telemetry.jsonl").open("w") as file:
        for i in range(500):
            file.write(json.dumps({"t": i, "device": "npu:0", "power_w": 200 + i % 90}) + "\n")
    api.gate(folder, _gate_file(folder, "- accuracy >= 0.5\n- unhealthy <= 0.1\n- coverage == 1.0\n"))
    return folder / "report.html"


def _failed(folder: Path, words: Words) -> Path:
    return _answers(folder, words, ("timeout",) * 9).directory / "report.html"


def _speech(folder: Path, words: Words) -> Path:
    return _utterances(folder, words).directory / "report.html"


def _unheard(folder: Path, words: Words) -> Path:
    run = speech_run(folder, [{} for _ in range(9)], recogniser=None, encoder=None, model=words.model)
    return run.directory / "report.html"


def _compare(folder: Path, words: Words, *, make: Callable[..., Run]) -> Path:
    """One run against two others."""
    others = tuple("correct" if i % 5 == 0 else kind for i, kind in enumerate(OUTCOMES))
    again = {"better": 0.05} if make is _utterances else {"outcomes": others}
    places = [make(folder / name, words, **given).directory for name, given in
              (("a", {}), ("b", again), ("c", {}))]  # fmt: skip
    pairs = [(places[0], other) for other in places[1:]]
    file = folder / "compare.html"
    file.write_text(comparisons_html(api.compare(*places), pairs, folder=folder))
    return file


def _gate(folder: Path, words: Words) -> Path:
    run = _answers(folder, words)
    lines = "- accuracy >= 0.2\n- accuracy >= 0.5\n- accuracy >= 0.95\n- unhealthy <= 0.1\n- config.plan == official\n"
    file = folder / "gate.html"
    file.write_text(gate_html(api.gate(run.directory, _gate_file(folder, lines))))
    return file


def _suite(folder: Path, words: Words) -> Path:
    return write_suite_report(asked_suite(folder, words)) and folder / "report.html"


def _suite_gate(folder: Path, words: Words) -> Path:
    suite = asked_suite(folder, words)
    lines = "daily-omni:\n  - accuracy >= 0.2\n  - coverage == 1.0\nvideo-mme:\n  - accuracy >= 0.5\nseed-tts-en:\n  - wer <= 1.56\n"
    file = folder / "gate.html"
    result = judge_suite(suite, _gate_file(folder, lines))
    file.write_text(suite_gate_html(result))
    return file


def asked_suite(folder: Path, words: Words) -> Suite:
    """Two of its members were asked, one was not begun."""
    _answers(folder / "daily-omni", words)
    _utterances(folder / "seed-tts-en", words)
    members = [
        {"name": name, "config": {"recipe": name, "benchmark": benchmark, "backend": "b", "model": words.model}}
        for name, benchmark in
        (("daily-omni", "daily-omni"), ("video-mme", "video-mme"), ("seed-tts-en", "seed-tts"))
    ]  # fmt: skip
    told = {"format": 1, "name": "mine", "gate": None, "started": "2026-12-02T10:00:00", "members": members}
    (folder / "suite.json").write_text(json.dumps(told))
    return Suite.load(folder)


def _bench(folder: Path, words: Words) -> Path:
    other = choice_bench(folder / "other", (2.0, 1.2, 1.25, 1.22), model=words.model)
    write_report(choice_bench(folder, (1.4, 1.0, 1.1, 1.05), model=words.model), other)
    return folder / "report.html"


def _diagnosis(folder: Path, words: Words) -> Path:
    """A rung breaks, one is left out, one was not begun."""
    folder.mkdir()
    told = Break(
        "health", words.replies[0], f"the server: {words.failure}", "start it with --interleave-mm-strings"
    )
    rungs = (
        RungRow("text", "the question alone", "done", asked=20, accuracy=Proportion.of(6, 20), unhealthy=Proportion.of(0, 20),
                prompt_tokens=120, ttft_s=0.1, e2e_s=0.4, report="text/report.html"),
        RungRow("frames", "all frames", "done", against="text", asked=20, accuracy=Proportion.of(2, 20), failed=1,
                unhealthy=Proportion.of(17, 20), prompt_tokens=4120, ttft_s=0.9, e2e_s=1.4, breaks=(told, told)),
        RungRow("image-id", "numbered pictures", "left out", left_out=words.failure),
        RungRow("thinking", "with thinking", "not begun"),
    )  # fmt: skip
    (folder / "text").mkdir()
    _answers(folder / "text", words)
    page = Diagnosis(
        "daily-omni", words.model, "openai-chat", folder.name, 20, "frames", False, "frames", rungs,
        (f"the data set: {words.root}",),
    )  # fmt: skip
    file = folder / "diagnose.html"
    file.write_text(diagnosis_html(page))
    return file


_KINDS: dict[str, Callable[[Path, Words], Path]] = {
    "run": _run, "failed": _failed, "speech": _speech, "unheard": _unheard,
    "compare": partial(_compare, make=_answers), "speech-compare": partial(_compare, make=_utterances),
    "gate": _gate, "suite": _suite, "suite-gate": _suite_gate, "bench": _bench, "diagnosis": _diagnosis,
}  # fmt: skip
REPORT_PAGES = tuple(_KINDS)
