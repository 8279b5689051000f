"""What became of word errors and voices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omnieval.report.compare.pairing import Paired
from omnieval.report.speech import SpeechReport
from omnieval.scoring.rotations import Pair
from omnieval.scoring.spoken import similarity_metric
from omnieval.stats import BootstrapDifference, holm, paired_bootstrap

Both = tuple[str, Pair, Pair]


@dataclass(frozen=True, slots=True)
class MeanChange:
    """A mean over the utterances for which both runs have it. WER as fractions, similarity as cosine.
    p_adjusted: as for accuracies."""

    first: float
    second: float
    paired: BootstrapDifference
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class UtteranceChange:
    """An utterance whose word error rate changed; what was heard in either run."""

    sample_id: str
    first: float
    second: float
    first_heard: str
    second_heard: str


@dataclass(frozen=True, slots=True)
class SpeechComparison:
    """means: by metric (`wer`, `lenient_wer`, `sim[...]`). refused: figures that may not be compared, and
    why. doubts: why figures that are compared may not be alike. groups: by group key, metric and value.
    changed: every utterance whose WER changed, the worst change first.
    """

    means: Mapping[str, MeanChange]
    refused: tuple[str, ...]
    doubts: tuple[str, ...]
    groups: Mapping[str, Mapping[str, Mapping[str, MeanChange]]]
    changed: tuple[UtteranceChange, ...]


def compare_speech(
    pairs: Paired, first: SpeechReport, second: SpeechReport, group_keys: Sequence[str]
) -> SpeechComparison:
    """Compare what both runs have; figures by other recognisers or encoders are refused."""
    judged = [
        _Judged("WER", "heard", "recogniser", first.recogniser, second.recogniser),
        _Judged("SIM", "compared", "encoder", first.encoder, second.encoder),
    ]
    metrics = ["wer", "lenient_wer"] if judged[0].agree else []
    if judged[1].agree and first.encoder is not None:
        metrics.append(similarity_metric(first.encoder["name"]))
    means = {metric: _change(pairs.both, metric) for metric in metrics}
    return SpeechComparison(
        means={metric: change for metric, change in means.items() if change is not None},
        refused=tuple(item.refusal for item in judged if item.refusal is not None),
        doubts=tuple(item.doubt for item in judged if item.agree and item.doubt is not None),
        groups={
            key: {metric: _by_group(pairs.both, metric, key) for metric in metrics} for key in group_keys
        },
        changed=_changed(pairs.both) if "wer" in metrics else (),
    )


@dataclass(frozen=True)
class _Judged:
    """A figure and who measured it in either run."""

    figure: str
    done: str
    judge: str
    first: Mapping[str, str] | None
    second: Mapping[str, str] | None

    @property
    def agree(self) -> bool:
        return self.first is not None and self.second is not None and self.refusal is None

    @property
    def refusal(self) -> str | None:
        """Why the figures of both runs may not be compared."""
        if self.first is None and self.second is None:
            return None
        if self.first is None or self.second is None:
            which = "first" if self.first is None else "second"
            return f"{self.figure} was not measured in the {which} run; `omnieval score` measures it"
        both = [self.first, self.second]
        sized = all("size" in judge for judge in both)
        names = [f"{judge['name']} of {judge['size']}" if sized else judge["name"] for judge in both]
        if names[0] != names[1]:
            return (
                f"{self.figure} was {self.done} by {names[0]} and by {names[1]}; "
                f"score both runs with one {self.judge}"
            )
        return None

    @property
    def doubt(self) -> str | None:
        """Their models have other names, though that may be one model in two places."""
        models = [Path(judge.get("model", "")).name for judge in (self.first or {}, self.second or {})]
        if models[0] == models[1]:
            return None
        return (
            f"{self.figure} was {self.done} with the models {models[0]} and {models[1]}: are they the same?"
        )


def _change(both: Sequence[Both], metric: str) -> MeanChange | None:
    known = [item for item in both if metric in item[1][1].metrics and metric in item[2][1].metrics]
    first = [ours.metrics[metric] for _, (_, ours), _ in known]
    second = [theirs.metrics[metric] for _, _, (_, theirs) in known]
    found = paired_bootstrap(first, second, [item[1][0].sample.cluster for item in known])
    if found is None:
        return None
    return MeanChange(sum(first) / len(first), sum(second) / len(second), found)


def _by_group(both: Sequence[Both], metric: str, key: str) -> dict[str, MeanChange]:
    members: dict[str, list[Both]] = defaultdict(list)
    for item in both:
        members[item[1][0].sample.groups.get(key, "unknown")].append(item)
    found = {value: _change(members[value], metric) for value in sorted(members)}
    changes = {value: change for value, change in found.items() if change is not None}
    tested = [value for value, change in changes.items() if change.paired.p_value is not None]
    adjusted = holm([changes[value].paired.p_value or 0.0 for value in tested])
    return changes | {
        value: replace(changes[value], p_adjusted=p) for value, p in zip(tested, adjusted, strict=True)
    }


def _changed(both: Sequence[Both]) -> tuple[UtteranceChange, ...]:
    changes = [
        UtteranceChange(
            name, ours.metrics["wer"], theirs.metrics["wer"], ours.answer or "", theirs.answer or ""
        )
        for name, (_, ours), (_, theirs) in both
        if "wer" in ours.metrics and "wer" in theirs.metrics and ours.metrics["wer"] != theirs.metrics["wer"]
    ]
    return tuple(sorted(changes, key=lambda change: change.first - change.second))
