"""What happened while a run went on, from its events, for the reader of its report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Story:
    """mended: what had to be mended in the media, and in which samples. concurrency, preflight: their last
    event. media: parts that went by name, with their content, and again, over all calls. telemetry: what
    could not be measured."""

    mended: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    concurrency: Mapping[str, Any] | None = None
    preflight: Mapping[str, Any] | None = None
    media: Counter[str] = field(default_factory=Counter)
    telemetry: dict[str, None] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """One sentence each."""
        told = [*_of_preflight(self.preflight or {}), *_of_names(self.media), *self.telemetry]
        return told if self.concurrency is None else [*told, _of_concurrency(self.concurrency)]


def story_of(events: Iterable[Mapping[str, Any]]) -> Story:
    """What the events tell; unknown ones, and odd fields, are left out."""
    story = Story()
    for event in events:
        match event.get("event"):
            case "concurrency":
                story.concurrency = event
            case "preflight":
                story.preflight = event
            case "media_by_name":
                story.media.update({k: v for k, v in event.items() if k in _COUNTS and isinstance(v, int)})
            case "telemetry":
                notes = event.get("notes")
                story.telemetry |= dict.fromkeys(map(str, notes if isinstance(notes, list) else ()))
            case "media":
                notes = event.get("notes")
                for note in notes if isinstance(notes, list) else ():
                    story.mended[str(note)].add(str(event.get("sample_id")))
    return story


_COUNTS = ("named", "carried", "missed")


def _of_preflight(event: Mapping[str, Any]) -> list[str]:
    """What the preflight found wrong, though the run went on."""
    findings = event.get("findings")
    return [
        f"preflight: {finding.get('check')}: {finding.get('found')}"
        + (f" ({finding['fix']})" if finding.get("fix") else "")
        for finding in (findings if isinstance(findings, list) else ())
        if isinstance(finding, dict) and finding.get("verdict") == "fail"
    ]


def _of_names(counts: Mapping[str, int]) -> list[str]:
    if not counts.get("named"):
        return []
    parts = counts["named"] + counts["carried"]
    again = (
        f"; {counts['missed']} in the place of names, of which it had lost some" if counts["missed"] else ""
    )
    return [f"{counts['named']} of {parts} media went by name, since the server had them already{again}"]


def _of_concurrency(event: Mapping[str, Any]) -> str:
    """What `concurrency: auto` chose, last, and why."""
    limit, why = event.get("limit"), event.get("why")
    if event.get("settled"):
        return f"concurrency auto chose {limit}: {why}"
    return f"concurrency auto was still looking when the run ended, with {limit} in flight ({why})"
