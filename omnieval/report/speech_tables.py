"""The report of a spoken run as a page."""

from __future__ import annotations

from collections.abc import Mapping

from omnieval.report.audit import health_warning, shortened
from omnieval.report.busy import busy_table
from omnieval.report.latency import LABELS
from omnieval.report.page import Page, Table
from omnieval.report.servers import server_table
from omnieval.report.speech import SpeechReport
from omnieval.report.stages import stage_table
from omnieval.report.tables import (
    accounting_table,
    failure_table,
    headline,
    health_table,
    incomplete,
    latency_table,
)
from omnieval.wording import counted

_SHOWN_UTTERANCES, _ALIGNED_CHARACTERS = 10, 400


def speech_page(report: SpeechReport) -> Page:
    """Figures first, then what they are over, then why."""
    warning = health_warning(report.health, report.unhealthy)
    built = [_figures(report), accounting_table(report.accounting)]
    built.insert(0 if warning else 2, health_table(report.health, "Unhealthy sounds"))
    built += [_references(report), failure_table(report.failures), _missing(report), _differing(report)]
    built += [latency_table(report.latency), latency_table(report.warmup, "Latency of the warm-up requests")]
    built += [_playback(report), stage_table(report.stages), busy_table(report.busy)]
    built.append(server_table(report.servers))
    return Page(
        headline=headline(report.run, report.headline),
        measured_by=_measured_by(report),
        directory=str(report.run["directory"]),
        warnings=tuple(_warnings(report, warning)),
        tables=tuple(table for table in built if table.rows),
        notes=report.notes,
        footer="WER is the unweighted mean over utterances by the seed-tts-eval protocol; the lenient one "
        "makes numbers and spellings alike first. Intervals are 95 % bootstrap intervals, with "
        "utterances of one reference voice drawn together.",
    )


def _measured_by(report: SpeechReport) -> str:
    parts = [_described(found) for found in (report.recogniser, report.encoder) if found is not None]
    return " and ".join(parts) or "no recogniser yet"


def _described(facts: Mapping[str, str]) -> str:
    rest = ", ".join(value for key, value in facts.items() if key != "name")
    return f"{facts['name']} ({rest})" if rest else facts["name"]


def _warnings(report: SpeechReport, health: str | None) -> list[str]:
    lines = [health] if health else []
    lines += [f"NOT MEASURED: {reason}" for reason in report.not_measured]
    lines += incomplete(report.complete, report.accounting)
    unheard = next(
        (c.count for c in report.accounting if c.label.endswith("not heard by a recogniser yet")), 0
    )
    if unheard and not report.not_measured:
        lines.append(
            f"{unheard} sounds wait to be heard: when the card is free, `omnieval score` with the path of "
            "this run gives WER and SIM"
        )
    failed = sum(row.count for row in report.failures)
    if failed:
        others = "every mean is over the others only" if failed < report.asked else "no other is left"
        lines.append(f"{counted(failed, 'utterance', 'utterances')} failed; {others}")
    return lines


def _figures(report: SpeechReport) -> Table:
    rows: list[tuple[str, str, str, str]] = []
    wer = report.wer
    if wer is not None and wer.official_percent is not None:
        of = f"{wer.utterances} of {report.asked}"
        rows.append(("WER, official", f"{wer.official_percent:.3f} %", _between(wer.low, wer.high, 2), of))
        if report.lenient is not None:
            low, high = _times(report.lenient.low, 100), _times(report.lenient.high, 100)
            rows.append(
                (
                    "WER, numbers and spellings made alike",
                    f"{100 * report.lenient.mean:.3f} %",
                    _between(low, high, 2),
                    f"{report.lenient.utterances} of {report.asked}",
                )
            )
        if wer.corpus_percent is not None:
            rows.append(("WER, all errors over all words", f"{wer.corpus_percent:.3f} %", "-", of))
        share = f"{100 * wer.above_50 / wer.utterances:.1f} %"
        rows.append(("utterances with a WER above 50 %", share, "-", f"{wer.above_50} of {wer.utterances}"))
        if wer.above_50 and wer.below_50_percent is not None:
            kept = f"{wer.utterances - wer.above_50} of {report.asked}"
            rows.append(("WER of the others", f"{wer.below_50_percent:.3f} %", "-", kept))
    similarity = report.similarity
    if similarity is not None:
        rows.append(
            (
                f"SIM by {similarity.encoder}",
                f"{similarity.mean:.3f}",
                _between(similarity.low, similarity.high, 3),
                f"{similarity.utterances} of {report.asked}",
            )
        )
    if report.audio_s:
        rows.append(("sound in all", f"{report.audio_s:.1f} s", "-", "-"))
    return Table("Speech", ("figure", "value", "95 % interval", "utterances"), tuple(rows), (1, 2, 3))


def _between(low: float | None, high: float | None, digits: int) -> str:
    return "-" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def _references(report: SpeechReport) -> Table:
    rows = []
    for row in report.references:
        wer = "-" if row.wer is None else f"{row.wer:.3f} %"
        similarity = "-" if row.similarity is None else f"{row.similarity:.3f}"
        caveats = [
            row.caveat,
            None if row.wer_caveat is None else f"WER {row.wer_caveat}",
            None if row.similarity_caveat is None else f"SIM {row.similarity_caveat}",
        ]
        speed = ", ".join(f"{LABELS[name]} {value:g}" for name, value in row.latency.items())
        comparable = "; ".join(filter(None, caveats)) or "same setting"
        rows.append((row.name, wer, similarity, speed or "-", comparable))
    columns = ("result", "WER", "SIM", "speed", "comparable?")
    return Table("Reference results", columns, tuple(rows), numeric=(1, 2))


def _missing(report: SpeechReport) -> Table:
    rows = [(str(row.count), row.reason, ", ".join(row.sample_ids)) for row in report.no_similarity]
    columns = ("utterances", "why, for example", "first samples")
    return Table("No similarity", columns, tuple(rows), numeric=(0,))


def _differing(report: SpeechReport) -> Table:
    rows = [
        (
            row.sample_id,
            f"{100 * row.wer:.1f} %",
            f"{row.errors}/{row.words}",
            shortened(row.aligned, _ALIGNED_CHARACTERS),
        )
        for row in report.differing[:_SHOWN_UTTERANCES]
    ]
    more = len(report.differing) - len(rows)
    title = "Heard otherwise: [said>heard], [-left out-], [+added+]"
    title += f" (the worst {len(rows)}; {more} more in report.json)" if more > 0 else ""
    return Table(title, ("sample", "WER", "errors/words", "word by word"), tuple(rows), numeric=(1, 2))


def _playback(report: SpeechReport) -> Table:
    found = report.playback
    if found is None:
        return Table("Playback", (), ())
    rows = (
        ("sounds that came in pieces", str(found.utterances)),
        ("of these, not playable without a break", str(found.stalled)),
        ("breaks (underruns)", str(found.underruns)),
        ("silence that they cost (s)", f"{found.stalled_s:.3f}"),
    )
    return Table("Playback while it streams", ("figure", "value"), rows, numeric=(1,))
