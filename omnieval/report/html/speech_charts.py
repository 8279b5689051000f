"""What is drawn of a spoken run. Every number is one of its report, or one utterance's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnieval.report.html.axes import Line
from omnieval.report.html.common_charts import accounting_chart, latency_charts
from omnieval.report.html.parts import Chart, Tile
from omnieval.report.html.svg import histogram
from omnieval.report.speech import SpeechReport
from omnieval.scoring.spoken import similarity_metric


def speech_tiles(report: SpeechReport) -> list[Tile]:
    """The figures that a reader came for."""
    tiles = []
    wer, similarity = report.wer, report.similarity
    if wer is not None and wer.official_percent is not None:
        told = _told(wer.utterances, report.asked, wer.low, wer.high, 2)
        tiles.append(Tile("WER, official", f"{wer.official_percent:.3f} %", told, "main"))
    if similarity is not None:
        told = _told(similarity.utterances, report.asked, similarity.low, similarity.high, 3)
        tiles.append(Tile(f"SIM by {similarity.encoder}", f"{similarity.mean:.3f}", told, "main"))
    if not tiles:
        tiles.append(Tile("WER", "-", "no recogniser has heard the sounds yet", "main"))
    known = next((row for row in report.references if row.caveat is None), None)
    if known is not None:
        for label, value, caveat, digits, unit in (
            ("WER", known.wer, known.wer_caveat, 3, " %"),
            ("SIM", known.similarity, known.similarity_caveat, 3, ""),
        ):
            if value is not None:
                told = known.name if caveat is None else f"{known.name}; not alike: {caveat}"
                tiles.append(Tile(f"Reference {label}", f"{value:.{digits}f}{unit}", told))
    if "rtf" in report.latency:
        found = report.latency["rtf"]
        tiles.append(Tile("RTF, median", f"{found.median:.3f}", f"p99 {found.p99:.3f}, {found.count} sounds"))
    return tiles


def speech_charts(report: SpeechReport, values: Mapping[str, Sequence[float]]) -> list[Chart]:
    """values: of every latency figure, and of `wer` and `sim[...]` by utterance."""
    charts = [accounting_chart(report.accounting)]
    wer, similarity = report.wer, report.similarity
    if wer is not None and wer.official_percent is not None and values.get("wer"):
        line = Line(wer.official_percent, f"mean {wer.official_percent:.3f} %")
        percents = [100 * value for value in values["wer"]]
        drawn = histogram("WER by utterance", percents, lines=[line], unit=" %")
        charts.append(Chart("Speech", "WER by utterance: how many have how many errors", drawn))
    if similarity is not None:
        found = values.get(similarity_metric(similarity.encoder))
        if found:
            line = Line(similarity.mean, f"mean {similarity.mean:.3f}")
            drawn = histogram("Similarity by utterance", found, lines=[line])
            charts.append(Chart("Speech", f"Similarity of voices by {similarity.encoder}", drawn))
    return charts + latency_charts(report.latency, values)


def _told(utterances: int, asked: int, low: float | None, high: float | None, digits: int) -> str:
    told = f"{utterances} of {asked} utterances"
    if low is None or high is None:
        return told
    return f"{told}, 95 % interval {low:.{digits}f} to {high:.{digits}f}"
