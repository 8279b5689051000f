"""`omnieval duplex`: one full-duplex conversation about a recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnieval.duplex import Conversation


def duplex(
    input_wav: Annotated[
        Path,
        typer.Option("--input-wav", metavar="FILE", help="What the model hears: 16 kHz mono 16-bit WAV."),
    ],
    base_url: Annotated[str | None, typer.Option(help="Model server, e.g. http://127.0.0.1:8000/v1.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on the server.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; else a new one under runs/.")
    ] = None,
    convert: Annotated[
        bool, typer.Option("--convert", help="Take any file with sound, and convert it.")
    ] = False,
    ref_audio: Annotated[
        Path | None, typer.Option(help="A WAV file in whose voice the model speaks.")
    ] = None,
    instructions: Annotated[str | None, typer.Option(help="Instructions for the session.")] = None,
    text: Annotated[str | None, typer.Option(help="What the user has said before, as text.")] = None,
    speed: Annotated[
        float | None, typer.Option(help="1 is real time; 4 sends the sound four times as fast.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of the recipe seed-tts-duplex. Repeatable."),
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the API key.")
    ] = None,
) -> None:
    """Let a full-duplex model hear a recording in real time, and keep all that it says.

    Writes output.wav, audio_chunks/, events.jsonl and result.json. Exit codes: 0 the session went well, also
    where the model chose to listen; 1 it did not.
    """
    from omnieval import api
    from omnieval.config import parse_assignment
    from omnieval.console import new_console, print_line
    from omnieval.duplex import OF_CONVERSATIONS, converse

    flags: dict[str, Any] = {
        "base_url": base_url, "model": model, "duplex.speed": speed, "system_prompt": instructions,
        "api_key_env": api_key_env,
    }  # fmt: skip
    overrides = [parse_assignment(given) for given in set_ or []]
    overrides += [(key, value) for key, value in flags.items() if value is not None]
    console = new_console()
    found = converse(
        api.configure("seed-tts-duplex", [*OF_CONVERSATIONS, *overrides]),
        input_wav,
        out=out,
        convert=convert,
        text=text,
        voice=ref_audio,
        notify=lambda line: print_line(console, line, style="dim"),
    )
    for line in _told(found):
        print_line(console, line)
    print_line(console, f"files: {found.directory}")
    if not found.ok:
        sys.exit(1)


def _told(found: Conversation) -> list[str]:
    """What a user wants to know first."""
    latency, stalls = found.latency, found.session["stalls"]
    lines = [f"decision: {found.model_decision or 'none'}"]
    if found.transcript:
        lines.append(f"it said: {found.transcript}")
    if found.output_duration_s:
        times = [
            f"{name} {value_ms:.0f} ms"
            for name, value_ms in (("TTFT", latency.ttft_ms), ("TTFP", latency.ttfp_ms))
            if value_ms is not None
        ]
        times += [] if latency.rtf is None else [f"RTF {latency.rtf:.3f}"]
        lines.append(f"sound: {found.output_duration_s:.2f} s; {', '.join(times)}")
    if stalls:
        lost_s = sum(length for _, length in stalls) / 1000
        lines.append(f"stalls: {len(stalls)} gaps in the sound, {lost_s:.2f} s in all")
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"error: {error.kind}: {error.message} ({error.hint})" for error in found.errors]
    return lines
