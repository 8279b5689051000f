"""A rung's run as scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from omnieval.backends.base import OF_THIS_MACHINE
from omnieval.report.build import Report
from omnieval.report.denominators import is_answered
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.rows import paired
from omnieval.scoring.rotations import Pair, folded
from omnieval.stats import PairedFraction, paired_fraction


@dataclass(frozen=True)
class Asked:
    """pairs: the selected samples with their scores. prompt_tokens: median. failed_here: of `failed`, those
    for want of media of this machine. unread: answers without a letter."""

    report: Report
    pairs: Sequence[Pair]
    prompt_tokens: float | None
    failed: int
    failed_here: int
    unread: int

    @classmethod
    def load(cls, run: Run) -> Asked:
        """Raises ScoringError for a damaged one."""
        report = read_report(run)
        assert isinstance(report, Report)
        pairs = [
            (planned, score)
            for planned, score in folded(list(paired(run, run.samples(), run.scores())))
            if planned.selected
        ]
        tokens = [
            response.usage.prompt_tokens
            for response in run.last_responses().values()
            if response.answered and response.usage is not None and response.usage.prompt_tokens is not None
        ]
        kinds = [score.failure_kind for _, score in pairs if score.outcome == "failed"]
        return cls(
            report,
            pairs,
            median(tokens) if tokens else None,
            len(kinds),
            sum(kind in OF_THIS_MACHINE for kind in kinds),
            sum(score.outcome == "unparsed" for _, score in pairs),
        )

    @property
    def unhealthy(self) -> int:
        return 0 if self.report.unhealthy is None else self.report.unhealthy.correct

    def against(self, other: Asked) -> PairedFraction | None:
        """The difference of accuracies from `other` to this, over the samples that both answered."""
        earlier = {planned.sample.id: score for planned, score in other.pairs if is_answered(score)}
        both = [
            (
                earlier[planned.sample.id].outcome == "correct",
                score.outcome == "correct",
                planned.sample.cluster,
            )
            for planned, score in self.pairs
            if is_answered(score) and planned.sample.id in earlier
        ]
        return paired_fraction(
            [was for was, _, _ in both], [now for _, now, _ in both], [cluster for *_, cluster in both]
        )

    def more_tokens_than(self, other: Asked) -> float | None:
        """Of a prompt, at the median; None where the server does not tell."""
        if self.prompt_tokens is None or other.prompt_tokens is None:
            return None
        return self.prompt_tokens - other.prompt_tokens
