"""The page of one sample: what was asked, with what, what came, and how it was read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from omnieval.errors import MediaError
from omnieval.parsing import lettered
from omnieval.report.html.markup import Markup, element, joined
from omnieval.scoring.sound_health import read_own_rate
from omnieval.scoring.speech import aligned_words
from omnieval.types import MediaPart, Request, Response, Score
from omnieval.view.details import parsed_span, word_errors
from omnieval.view.material import Material, MediaFile
from omnieval.view.pages import document

_CUT = 4_000
_STRETCHES = 400


def sample_page(
    name: str, url: str, found: Material, before: str | None, after: str | None, up: str, everything: bool
) -> str:
    """url: of this sample, without a query. before, after, up: URLs of its neighbours and of the list."""
    sample, score = found.planned.sample, found.score
    last = found.tries[-1] if found.tries else None
    about = " · ".join(
        [score.outcome.replace("_", " ") if score else "not scored", *sample.groups.values(),
         *(flag.replace("_", " ") for flag in (score.flags if score else ()))]
    )  # fmt: skip
    turn = element(
        "p",
        element("a", "← previous (k)", href=before, rel="prev") if before else None,
        element("a", "next (j) →", href=after, rel="next") if after else None,
        class_="turn",
    )
    cut = None if everything else f"{url}?all=1"
    return document(
        sample.id, element("p", about, class_="about"), turn,
        *(element("p", text, class_="warning") for text in found.remarks),
        _prepare(found, url), _question(found, cut), _media(found, url), _heard(score),
        _reply(last, score, cut), _readings(score), _tries(found.tries), _request(found.request, cut),
        crumbs=[("Runs", "/"), (name, up)],
    )  # fmt: skip


def text_of(text: str, more: str | None, marked: tuple[int, int] | None = None) -> Markup:
    """A text that is only text. more: where all of it is shown, when it is cut. marked: a stretch of it."""
    shown = text if more is None else text[:_CUT]
    start, end = marked or (0, 0)
    return joined(
        element("pre", shown[:start], element("mark", shown[start:end]) if end > start else None,
                shown[max(start, end) :]),
        element("p", element("a", f"show all {len(text):,} characters", href=more))
        if more is not None and len(text) > _CUT else None,
    )  # fmt: skip


def _section(title: str, *content: Markup | None) -> Markup:
    return element("section", element("h2", title), *content)


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
    return _section(
        "Question" if options else "Text to say",
        text_of(sample.question, cut),
        element("ol", *options, class_="options") if options else None,
    )


def _media(found: Material, url: str) -> Markup | None:
    numbered = list(enumerate(found.files))
    strip = [
        element("figure", element("img", src=f"{url}/media/{k}", alt=f"frame at {_at(file)}", loading="lazy"),
                element("figcaption", _at(file)))
        for k, file in numbered if file.role == "frame"
    ]  # fmt: skip
    sounds = [
        element("li", element("span", _at(file)), _player(f"{url}/media/{k}", f"sound at {_at(file)}"))
        for k, file in numbered
        if file.role == "segment"
    ]
    whole = [
        _whole(file, f"{url}/media/{k}") for k, file in numbered if file.role not in ("frame", "segment")
    ]
    if not strip and not sounds and not whole:
        return None
    return _section(
        "Media",
        element("div", *strip, class_="strip", tabindex="0", aria_label="Frames") if strip else None,
        element("details", element("summary", f"{len(sounds)} segments of sound"),
                element("ol", *sounds, class_="segments")) if sounds else None,
        element("div", *whole, class_="whole") if whole else None,
    )  # fmt: skip


def _whole(file: MediaFile, url: str) -> Markup:
    if file.kind == "image":
        shown = element("img", src=url, alt=file.role, loading="lazy")
    elif file.kind == "video":
        shown = element("video", src=url, controls=True, preload="metadata")
    else:
        shown = joined(_wave(file) if file.role in ("answer", "reference") else None, _player(url, file.role))
    return element("figure", element("figcaption", f"{file.role}: {file.path.name}"), shown)


def _player(url: str, label: str) -> Markup:
    return element("audio", src=url, controls=True, preload="none", aria_label=label)


def _wave(file: MediaFile) -> Markup | None:
    """The sound's outline."""
    try:
        sound, _ = read_own_rate(file.path)
    except MediaError as error:
        return element("p", str(error))
    import numpy as np

    if not len(sound):
        return None
    stretches = np.array_split(np.nan_to_num(sound[:, 0]), min(_STRETCHES, len(sound)))
    line = "".join(
        f"M{i} {40 - 38 * min(1.0, float(s.max())):.1f}V{40 - 38 * max(-1.0, float(s.min())) + 0.5:.1f}"
        for i, s in enumerate(stretches)
    )
    return element(
        "svg", element("path", d=line), viewBox=f"0 0 {len(stretches)} 80", preserveAspectRatio="none",
        class_="wave", role="img", aria_label=f"Waveform of the {file.role}",
    )  # fmt: skip


def _heard(score: Score | None) -> Markup | None:
    if score is None or "wer" not in score.metrics:
        return None
    errors = word_errors(score)
    figures = ", ".join(f"{name} {value:.4g}" for name, value in score.metrics.items())
    if errors is None:
        return _section(
            f"Heard by {score.rule}",
            element("p", score.answer, class_="question"),
            element("p", f"The score's word counts are damaged. {figures}"),
        )
    words: list[Markup | str] = []
    for word in aligned_words(errors):
        said, heard = word.reference, word.hypothesis
        if word.kind == "equal":
            words += [said or "", " "]
            continue
        look = {"substitute": "sub", "delete": "gone", "insert": "added"}[word.kind]
        words += [element("del", said, class_=look) if said else "",
                  element("ins", heard, class_=look) if heard else "", " "]  # fmt: skip
    return _section(
        f"Heard by {score.rule}",
        element("p", *words, class_="question"),
        element("p", f"{errors.substitutions} substituted, {errors.deletions} left out, "
                f"{errors.insertions} added · {figures}"),
    )  # fmt: skip


def _reply(last: Response | None, score: Score | None, cut: str | None) -> Markup:
    if last is None:
        return _section("Reply", element("p", "No answer."))
    marked = parsed_span(score, last.text)
    reason = score.details.get("reason") or score.details.get("message") if score is not None else None
    return _section(
        "Reply",
        element("p", f"Read by {score.rule}: {score.answer or 'nothing'}") if score and score.rule else None,
        element("p", str(reason)) if reason else None,
        element("p", f"{last.error.kind}: {last.error.message}") if last.error else None,
        text_of(last.text, cut, marked),
        joined(element("h3", "Reasoning"), text_of(last.reasoning, cut)) if last.reasoning else None,
    )


def _readings(score: Score | None) -> Markup | None:
    if score is None or not score.readings:
        return None
    rows = [element("tr", element("th", rule, scope="row"), element("td", letter or "nothing"))
            for rule, letter in score.readings.items()]  # fmt: skip
    return _section("What each parser reads", element("table", element("tbody", *rows), class_="small"))


def _tries(tries: Sequence[Response]) -> Markup | None:
    if not tries:
        return None
    rows = [
        element("tr", element("th", str(r.attempt), scope="row"),
                element("td", _end(r)),
                *(element("td", "" if v is None else f"{v:.3f}", class_="n")
                  for v in (r.timing.ttft_s, r.timing.ttfp_s, r.timing.e2e_s, r.timing.rtf)))
        for r in tries
    ]  # fmt: skip
    heads = ("Try", "End", "TTFT s", "TTFP s", "E2E s", "RTF")
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    table = element("div", element("table", head, element("tbody", *rows)), class_="scroll")
    return _section("Tries", table)


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


def _at(file: MediaFile) -> str:
    return "" if file.timestamp is None else f"{file.timestamp:.2f} s"
