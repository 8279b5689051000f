"""The baseline's rules, on inputs made for the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnieval.backends.embedded.picture import picture_evidence
from omnieval.backends.embedded.text import content_tokens, text_evidence


def best(evidence: dict[str, float]) -> str:
    return max(evidence, key=lambda letter: evidence[letter])


def test_words_are_reduced_to_what_carries_meaning() -> None:
    assert content_tokens("The three dogs were barking at Number 4!") == ["3", "dog", "bark", "number", "4"]


@pytest.mark.parametrize(
    ("question", "options", "transcript", "letter"),
    [
        ("When does the bus leave?", "At five|At nine|At two|At ten", "The bus leaves at nine.", "B"),
        ("How much is the tea?", "Two euros|Six euros|Nine euros|One euro",
         "Coffee is two euros. The tea is six euros.", "B"),
        ("What is done first?", "Paint the wall|Clean the floor|Open the window|Close the door",
         "Open the window, then clean the floor, then paint the wall.", "C"),
        ("What is done last?", "Paint the wall|Clean the floor|Open the window|Close the door",
         "Open the window, then clean the floor, then paint the wall.", "A"),
    ],
)  # fmt: skip
def test_the_option_that_the_transcript_speaks_for_wins(
    question: str, options: str, transcript: str, letter: str
) -> None:
    evidence = text_evidence(question, dict(zip("ABCD", options.split("|"), strict=True)), transcript)
    assert best(evidence) == letter
    assert all(0 <= value <= 1 for value in evidence.values())


def test_silence_gives_no_evidence() -> None:
    assert set(text_evidence("What?", {"A": "red", "B": "blue"}, "").values()) == {0.0}


def frames(folder: Path, colour: str, centres: list[tuple[int, int]]) -> list[Path]:
    from PIL import Image, ImageDraw

    paths = []
    for i, (x, y) in enumerate(centres):
        image = Image.new("RGB", (160, 90), (220, 220, 220))
        ImageDraw.Draw(image).ellipse((x - 12, y - 12, x + 12, y + 12), fill=colour)
        paths.append(folder / f"{i}.png")
        image.save(paths[-1])
    return paths


def test_the_colour_that_stands_out_is_named(tmp_path: Path) -> None:
    seen = frames(tmp_path, "#c81e1e", [(40, 45), (80, 45)])
    options = {"A": "Green", "B": "Blue", "C": "Red", "D": "Yellow"}
    assert best(picture_evidence("What colour is it?", options, seen)) == "C"


@pytest.mark.parametrize(
    ("centres", "letter"),
    [
        ([(20, 45), (80, 45), (140, 45)], "A"),
        ([(140, 45), (80, 45), (20, 45)], "B"),
        ([(80, 75), (80, 45), (80, 15)], "C"),
        ([(80, 15), (80, 45), (80, 75)], "D"),
    ],
)
def test_the_direction_of_motion_is_seen(centres: list[tuple[int, int]], letter: str, tmp_path: Path) -> None:
    options = {"A": "From left to right", "B": "From right to left", "C": "Upwards", "D": "Downwards"}
    seen = frames(tmp_path, "#1e1ec8", centres)
    assert best(picture_evidence("In which direction does it move?", options, seen)) == letter


def test_other_questions_and_empty_pictures_give_no_evidence(tmp_path: Path) -> None:
    seen = frames(tmp_path, "#1e1ec8", [(20, 45), (140, 45)])
    assert picture_evidence("Who speaks?", {"A": "Anna", "B": "Bert"}, seen) == {}
    blank = frames(tmp_path, "#dcdcdc", [(20, 45), (140, 45)])
    assert picture_evidence("What colour is it?", {"A": "Red", "B": "Blue"}, blank) == {}
