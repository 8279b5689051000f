"""The page of one sample: what was asked, with what, what came, and how it was read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from omnieval.parsing import lettered
from omnieval.report.html.markup import Markup, element, joined
from omnieval.types import MediaPart, Request, Response, Score
from omnieval.view.details import parsed_span
from omnieval.view.heard import heard_section
from omnieval.view.material import Material
from omnieval.view.pages import badge, document, section, table, warning
from omnieval.view.sample_media import media_section

_CUT = 4_000


def sample_page(
    name: str, url: str, found: Material, before: str | None, after: str | None, up: str, everything: bool
) -> str:
    """url: of this sample, without a query. before, after, up: URLs of its neighbours and of the list."""
    sample, score = found.planned.sample, found.score
    last = found.tries[-1] if found.tries else None
    turn = element(
        "p",
        element("a", "← previous (k)", href=before, rel="prev") if before else None,
        element("a", "next (j) →", href=after, rel="next") if after else None,
        class_="turn",
    )
    cut = None if everything else f"{url}?all=1"
    heard = heard_section(score)
    reply = _reply(last, score, cut, spoken=heard is not None)
    return document(
        sample.id, _about(found), turn,
        *(warning(text) for text in found.remarks), _prepare(found, url),
        _beside(_question(found, cut), reply if heard is None else heard),
        media_section(found.files, url, found.config),
        None if heard is None else reply,
        _beside(_readings(score), _tries(found.tries)), _request(found.request, cut),
        crumbs=[("Runs", "/"), (name, up)],
    )  # fmt: skip


def _about(found: Material) -> Markup:
    """How it ended, what is unhealthy of it, and the groups that it belongs to."""
    score = found.score
    groups = found.planned.sample.groups.items()
    return element(
        "ul", element("li", badge(score.outcome if score else "not scored"), class_="bare"),
        *(element("li", badge(flag, "wrong"), class_="bare") for flag in (score.flags if score else ())),
        *(element("li", f"{key.replace('_', ' ')}: ", element("bdi", value)) for key, value in groups),
        class_="settings",
    )  # fmt: skip


def _beside(left: Markup | None, right: Markup | None) -> Markup | None:
    """Two sections beside each other where there is room."""
    if left is None or right is None:
        return left or right
    return element("div", left, right, class_="halves")


def text_of(
    text: str, more: str | None, marked: tuple[int, int] | None = None, *, look: str | None = None
) -> Markup:
    """A text that is only text. more: where all of it is shown, when it is cut. marked: a stretch of it."""
    shown = text if more is None else text[:_CUT]
    start, end = marked or (0, 0)
    return joined(
        element("pre", shown[:start], element("mark", shown[start:end]) if end > start else None,
                shown[max(start, end) :], class_=look),
        element("p", element("a", f"show all {len(text):,} characters", href=more))
        if more is not None and len(text) > _CUT else None,
    )  # fmt: skip


def _prepare(found: Material, url: str) -> Markup | None:
    if found.plan is None or found.prepared is not None:
        return None
    return element("form", element("button", "Prepare the media now"), method="post", action=f"{url}/prepare")


def _question(found: Material, cut: str | None) -> Markup:
    sample, score = found.planned.sample, found.score
    options = [
        element(
            "li", element("b", f"{letter}."), element("bdi", text if cut is None else text[:_CUT]),
            element("span", "right", class_="badge right") if letter == sample.gold else None,
            element("span", "chosen", class_="badge" if letter == sample.gold else "badge wrong")
            if score is not None and letter == score.answer else None,
        )
        for letter, text in lettered(sample.options).items()
    ]  # fmt: skip
    return section(
        "Question" if options else "Text to say",
        text_of(sample.question, cut, look="prose"),
        element("ol", *options, class_="options") if options else None,
    )


def _reply(last: Response | None, score: Score | None, cut: str | None, *, spoken: bool) -> Markup | None:
    """spoken: what counts is what was heard, and there need be no text."""
    if last is None:
        return section("Reply", element("p", "No answer."))
    if spoken and not last.text and last.error is None and not last.reasoning:
        return None
    return section(
        "Reply",
        None if spoken or score is None else _read(score),
        element("p", f"{last.error.kind}: {last.error.message}", class_="failure") if last.error else None,
        text_of(last.text, cut, parsed_span(score, last.text)) if last.text else None,
        element("p", "The reply has no text.", class_="soft") if not last.text and not last.error else None,
        joined(element("h3", "Reasoning"), text_of(last.reasoning, cut)) if last.reasoning else None,
    )


def _read(score: Score) -> Markup | None:
    reason = score.details.get("reason") or score.details.get("message")
    if not score.rule:
        return element("p", str(reason)) if reason else None
    return element(
        "p", "Read as ", element("b", score.answer or "nothing"), f" by {score.rule}",
        f": {reason}" if reason else None,
    )  # fmt: skip


def _readings(score: Score | None) -> Markup | None:
    if score is None or not score.readings:
        return None
    rows = [element("tr", element("th", rule, scope="row"), element("td", letter or "nothing"))
            for rule, letter in score.readings.items()]  # fmt: skip
    body = element("tbody", *rows)
    return section("What each parser reads", table("Readings", ("Parser", "Letter"), body, look="facts"))


def _tries(tries: Sequence[Response]) -> Markup | None:
    if not tries:
        return None
    rows = [
        element("tr", element("th", str(r.attempt), scope="row"),
                *(element("td", "" if v is None else f"{v:.3f}")
                  for v in (r.timing.ttft_s, r.timing.ttfp_s, r.timing.e2e_s, r.timing.rtf)),
                element("td", _end(r)))
        for r in tries
    ]  # fmt: skip
    heads = ("Try", "TTFT s", "TTFP s", "E2E s", "RTF", "End")
    return section("Tries", table("Tries", heads, element("tbody", *rows), look="facts"))


def _end(response: Response) -> str:
    if response.error is None:
        return response.finish_reason or ""
    return f"{response.error.kind}: {response.error.message[:300]}"


def _request(request: Request | None, cut: str | None) -> Markup | None:
    if request is None:
        return None
    messages = [
        {"role": m.role, "parts": [_part(p) if isinstance(p, MediaPart) else p.text for p in m.parts]}
        for m in request.messages
    ]
    told = {"messages": messages, "generation": asdict(request.generation),
            "modalities": list(request.modalities), "extra_body": dict(request.extra_body)}  # fmt: skip
    text = json.dumps(told, indent=1, ensure_ascii=False, default=str)
    return element("section", element("details", element("summary", "Request as sent"), text_of(text, cut)))


def _part(part: MediaPart) -> str:
    at = "" if part.timestamp is None else f" at {part.timestamp:g} s"
    return f"<{part.kind} {part.path.name}{at}>"
