"""Two sides to one Comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnieval.errors import ConfigError
from omnieval.parsing import RULES
from omnieval.report.accounting import Count, accounting
from omnieval.report.build import Report
from omnieval.report.compare.choice import ChoiceComparison, compare_choices
from omnieval.report.compare.latency import LatencyRow, compare_latency
from omnieval.report.compare.pairing import paired
from omnieval.report.compare.settings import Setting, differing_settings, require_comparable
from omnieval.report.compare.side import Side
from omnieval.report.compare.speech import SpeechComparison, compare_speech
from omnieval.report.denominators import is_asked
from omnieval.report.proportion import Proportion
from omnieval.report.speech import SpeechReport
from omnieval.scoring.rotations import Pair
from omnieval.wording import counted, suggest


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the two runs. run: what identifies it. accounting: every question of its data set. unhealthy: of
    its replies. repeats: runs whose times are compared."""

    run: Mapping[str, Any]
    accounting: tuple[Count, ...]
    unhealthy: Proportion | None
    repeats: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second run against the first. differences are second minus first.

    warnings: what belongs above every number. settings: every key that differs. questions: that both were to
    ask; only_first, only_second: that one of them alone was. choice or speech: by the kind of run; the other
    is None.
    """

    first: Compared
    second: Compared
    warnings: tuple[str, ...]
    settings: tuple[Setting, ...]
    questions: int
    only_first: int
    only_second: int
    choice: ChoiceComparison | None
    speech: SpeechComparison | None
    latency: tuple[LatencyRow, ...]

    @property
    def refused(self) -> tuple[str, ...]:
        """Figures that both runs might have, but that may not be compared."""
        return self.speech.refused if self.speech is not None else ()


def compare_runs(first: Side, second: Side, *, parser: str | None = None) -> Comparison:
    """Compare two scored runs of one data set.

    parser: a rule by which the replies of both are read anew; None takes the first run's, and reads the
    second run's replies by it where it was scored by another.
    Raises ConfigError where the runs may not be compared, or for an unknown parser; ScoringError where one
    was not scored.
    """
    require_comparable(first.run, second.run)
    settings = differing_settings(first.run, second.run)
    keys = [key for key in first.run.info["group_keys"] if key in second.run.info["group_keys"]]
    choice = speech = None
    warnings = _measured_otherwise(settings)
    if isinstance(first.report, SpeechReport) and isinstance(second.report, SpeechReport):
        if parser is not None:
            raise ConfigError("spoken runs have no letters to parse; leave out the parser")
        pairs = paired(first.run, second.run, (None, None))
        speech = compare_speech(pairs, first.report, second.report, keys)
        warnings += [f"NOT COMPARED: {reason}" for reason in speech.refused]
        warnings += speech.doubts
    else:
        assert isinstance(first.report, Report)
        assert isinstance(second.report, Report)
        rule = first.report.parser if parser is None else parser
        if rule not in RULES:
            raise ConfigError(f"unknown parser {rule!r}{suggest(rule, RULES)}")
        anew = [None if report.parser == rule else rule for report in (first.report, second.report)]
        pairs = paired(first.run, second.run, (anew[0], anew[1]))
        choice = compare_choices(pairs, keys, rule)
        warnings += _read_anew((first, second), anew, rule)
    warnings = _one_run(first, second) + warnings
    warnings += [
        f"INCOMPLETE: {side.name} has not ended" for side in (first, second) if not side.report.complete
    ]
    warnings += [
        f"PARTIAL: {side.name} ended early, when its gate was decided; what it asked is not the whole set"
        for side in (first, second)
        if isinstance(side.report, Report) and side.report.early is not None and side.report.early.ended
    ]
    asked = [{_question(pair) for pair in side if is_asked(pair[1])} for side in (pairs.first, pairs.second)]
    return Comparison(
        first=_compared(first, pairs.first),
        second=_compared(second, pairs.second),
        warnings=tuple(warnings + _asked_by_one(asked)),
        settings=settings,
        questions=len(asked[0] & asked[1]),
        only_first=len(asked[0] - asked[1]),
        only_second=len(asked[1] - asked[0]),
        choice=choice,
        speech=speech,
        latency=compare_latency(first, second),
    )


def _question(pair: Pair) -> str:
    sample = pair[0].sample
    return sample.origin or sample.id


def _compared(side: Side, pairs: list[Pair]) -> Compared:
    return Compared(
        side.report.run,
        accounting(score for _, score in pairs),
        side.report.unhealthy,
        len(side.latencies),
    )


def _one_run(first: Side, second: Side) -> list[str]:
    if not first.run.directory.samefile(second.run.directory):
        return []
    return ["ONE RUN: A and B are the same directory, so that no answer can differ; name another run"]


def _measured_otherwise(settings: tuple[Setting, ...]) -> list[str]:
    keys = [setting.key for setting in settings if not setting.expected]
    if not keys:
        return []
    return [f"MEASURED DIFFERENTLY: {', '.join(keys)}; the differences below are not the model's alone"]


def _read_anew(sides: tuple[Side, Side], anew: list[str | None], rule: str) -> list[str]:
    lines = []
    for side, read in zip(sides, anew, strict=True):
        assert isinstance(side.report, Report)
        if read is not None:
            lines.append(
                f"{side.name} was scored by the parser {side.report.parser}, and is read by {rule} here"
            )
    return lines


def _asked_by_one(asked: list[set[str]]) -> list[str]:
    alone = len(asked[0] ^ asked[1])
    if not alone:
        return []
    left = counted(alone, "question that one run alone asks is", "questions that one run alone asks are")
    return [f"{left} left out"]
