"""Seed-TTS: what is asked for each line, where files may lie, and what is wrong with a list."""

from __future__ import annotations

import tarfile
import wave
import zipfile
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.benchmarks.base import Benchmark, Dataset
from omnieval.engine.execute import load_selected
from omnieval.errors import ConfigError, DataError, MediaError
from omnieval.types import MediaPart, PreparedMedia, Request, Sample, SpeechTask, TextPart

LINES = "u1|before|prompt-wavs/p.wav|One two.|wavs/x.wav\nu2|before|prompt-wavs/p.wav|Three.\n"


def write_wav(path: Path, seconds: float = 0.5) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(b"\1\2" * int(16_000 * seconds))
    return path


def data_set(folder: Path, lines: str = LINES, language: str = "en", name: str = "meta.lst") -> Path:
    (folder / language).mkdir(parents=True, exist_ok=True)
    (folder / language / name).write_text(lines, encoding="utf-8")
    for wav in ("prompt-wavs/p.wav", "wavs/x.wav", "wavs/u2.wav"):
        write_wav(folder / language / wav)
    return folder


def loaded(data: Path, **settings: Any) -> tuple[Benchmark, Dataset, list[Sample]]:
    overrides = [("data", str(data)), *((key.replace("__", "."), value) for key, value in settings.items())]
    return load_selected(api.configure("seed-tts", overrides), lambda _: None)


def packed(data: Path, **settings: Any) -> list[Request]:
    benchmark, _, chosen = loaded(data, **settings)
    for sample in chosen:
        benchmark.plan(sample)
    return [benchmark.pack(sample, PreparedMedia()) for sample in chosen]


def speech(request: Request) -> SpeechTask:
    assert request.speech is not None
    return request.speech


def test_a_line_becomes_a_text_to_say_in_the_voice_of_its_reference(tmp_path: Path) -> None:
    first, second = packed(data_set(tmp_path))
    reference = MediaPart("audio", tmp_path / "en" / "prompt-wavs" / "p.wav", "audio/wav")
    assert first.messages[0].parts == (TextPart("One two."),)
    assert speech(first) == SpeechTask("One two.", "en", reference, "before")
    assert speech(second).text == "Three."
    assert first.modalities == ("text", "audio")
    assert first.extra_body["chat_template_kwargs"] == {"enable_thinking": False, "use_tts_template": True}
    _, dataset, chosen = loaded(tmp_path)
    assert [(sample.id, sample.gold, sample.cluster) for sample in chosen] == [
        ("u1", "One two.", "prompt-wavs/p.wav"), ("u2", "Three.", "prompt-wavs/p.wav"),
    ]  # fmt: skip
    assert dataset.notes == ()


def test_a_system_prompt_comes_before_the_text(tmp_path: Path) -> None:
    request = packed(data_set(tmp_path), system_prompt="Speak.")[0]
    assert [message.role for message in request.messages] == ["system", "user"]


def test_the_recording_goes_only_to_the_backend_that_gives_it_back(tmp_path: Path) -> None:
    data = data_set(tmp_path)
    assert {speech(request).recording for request in packed(data)} == {None}
    given = packed(data, backend="ground-truth")
    assert [speech(request).recording for request in given] == [
        tmp_path / "en" / "wavs" / "x.wav",
        tmp_path / "en" / "wavs" / "u2.wav",
    ]
    assert {speech(request).reference_audio for request in given} == {None}


def test_a_named_voice_and_a_designed_one_copy_nobody(tmp_path: Path) -> None:
    named = packed(data_set(tmp_path, "u1|Hello.\n"), variant="voice", voice="anna")[0]
    assert speech(named) == SpeechTask("Hello.", "en", voice="anna")
    designed = packed(data_set(tmp_path, "u1|||Hello.|a calm old man\n"), variant="design")[0]
    assert speech(designed) == SpeechTask("Hello.", "en", instructions="a calm old man")
    with pytest.raises(ConfigError, match="voice=NAME"):
        loaded(tmp_path, variant="voice")


@pytest.mark.parametrize("place", ["", "en", "en/meta.lst"])
def test_the_data_are_found_from_any_folder_or_the_list_itself(tmp_path: Path, place: str) -> None:
    data_set(tmp_path)
    assert [sample.id for sample in loaded(tmp_path / place)[2]] == ["u1", "u2"]


def test_languages_and_lists_are_chosen_by_name(tmp_path: Path) -> None:
    data_set(tmp_path)
    data_set(tmp_path, "h1|p|prompt-wavs/p.wav|绕口令\n", "zh", "hardcase.lst")
    hard = loaded(tmp_path, language="zh", utterances="hardcase.lst")[2]
    assert [(sample.id, sample.question) for sample in hard] == [("h1", "绕口令")]
    with pytest.raises(DataError, match=r"expected zh/meta\.lst, found en, zh"):
        loaded(tmp_path, language="zh")
    with pytest.raises(DataError, match="of language en, but the recipe asks for zh"):
        loaded(tmp_path / "en", language="zh")


@pytest.mark.parametrize("kind", ["tar", "tgz", "zip"])
def test_an_archive_stands_for_its_folder(tmp_path: Path, kind: str) -> None:
    folder = data_set(tmp_path / "seedtts_testset")
    archive = tmp_path / f"seedtts_testset.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as packed_files:
            for path in folder.rglob("*.*"):
                packed_files.write(path, path.relative_to(tmp_path))
    else:
        with tarfile.open(archive, "w:gz" if kind == "tgz" else "w") as packed_files:
            packed_files.add(folder, "seedtts_testset")
    inside = packed(archive, cache_dir=str(tmp_path / "cache"))
    reference = speech(inside[0]).reference_audio
    assert reference is not None
    assert reference.path.read_bytes() == (folder / "en" / "prompt-wavs" / "p.wav").read_bytes()
    benchmark, dataset, _ = loaded(archive)
    assert benchmark.media_folders(dataset, tmp_path / "cache") == [tmp_path / "cache"]
    with pytest.raises(DataError, match=r"expected one zh/hardcase\.lst in it, found none"):
        loaded(archive, language="zh", utterances="hardcase.lst")


def test_missing_voices_are_counted_before_the_start_and_named_in_their_turn(tmp_path: Path) -> None:
    benchmark, dataset, chosen = loaded(data_set(tmp_path, LINES + "u3|b|prompt-wavs/gone.wav|Four.\n"))
    assert dataset.notes == ("1 reference voices are missing, of u3",)
    with pytest.raises(MediaError, match=r"u3: no reference voice at .*gone\.wav") as caught:
        benchmark.plan(chosen[2])
    assert caught.value.kind == "media_missing"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("alone", "line 1 has one field, expected 2 to 5"),
        ("u1|p|prompt-wavs/p.wav|", "line 1 (u1) has no text to speak"),
        ("u1|Hello.", "line 1 (u1) names no reference voice; set variant=voice and voice=NAME"),
        ("u1|p|../p.wav|Hello.", "line 1 (u1) names a file outside the list's folder; use relative paths below it"),
        ("u1|p|/etc/p.wav|Hello.", "line 1 (u1) names a file outside the list's folder; use relative paths below it"),
        ("../u1|p|prompt-wavs/p.wav|Hello.", "line 1 has the id '../u1', which contains a path separator or NUL"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_said_is_kept_with_its_problem(tmp_path: Path, line: str, problem: str) -> None:
    sample = loaded(data_set(tmp_path, f"{line}\nu9|p|prompt-wavs/p.wav|Good.\n"))[1].samples[0]
    assert sample.problem is not None
    assert (sample.problem.kind, sample.problem.message) == ("data", problem)
    assert "/" not in sample.id


def test_ids_that_come_twice_get_sounds_of_their_own(tmp_path: Path) -> None:
    _, dataset, chosen = loaded(data_set(tmp_path, LINES + "u1|b|prompt-wavs/p.wav|Again.\n"))
    assert [sample.id for sample in chosen] == ["u1", "u2", "u1-2"]
    assert dataset.notes == ("ids that come more than once: u1",)


def test_a_made_up_id_is_never_that_of_another_line(tmp_path: Path) -> None:
    lines = "a|b|prompt-wavs/p.wav|One.\na|b|prompt-wavs/p.wav|Two.\na-2|b|prompt-wavs/p.wav|Three.\n"
    chosen = loaded(data_set(tmp_path, lines))[1].samples
    assert [(sample.id, sample.question) for sample in chosen] == [
        ("a", "One."),
        ("a-3", "Two."),
        ("a-2", "Three."),
    ]


def test_no_voice_is_compared_that_was_not_given(tmp_path: Path) -> None:
    data = data_set(tmp_path)
    assert all("reference" not in sample.media for sample in loaded(data, variant="voice", voice="anna")[2])
    assert all("reference" in sample.media for sample in loaded(data)[2])


@pytest.mark.parametrize(
    ("key", "value"),
    [("media", "none"), ("options.order", "circular"), ("decode.constrain", "choice"), ("parser", "careful"),
     ("voice", "anna")],
)  # fmt: skip
def test_settings_that_mean_nothing_here_are_refused(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match="means nothing"):
        load_selected(
            api.configure("seed-tts", [("data", str(data_set(tmp_path))), (key, value)]), lambda _: None
        )


def test_a_list_in_the_other_language_and_a_wav_for_a_description_are_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set language=zh"):
        loaded(data_set(tmp_path, "u1|p|prompt-wavs/p.wav|要合成的文本。\n"))
    problem = loaded(data_set(tmp_path), variant="design")[1].samples[0].problem
    assert problem is not None and "describes no voice" in problem.message


def test_the_first_lines_are_the_first_lines_whatever_voices_they_share(tmp_path: Path) -> None:
    lines = "a|p|x.wav|One.\nb|p|y.wav|Two.\nc|p|x.wav|Three.\n"
    assert [sample.id for sample in loaded(data_set(tmp_path, lines), select__limit=2)[2]] == ["a", "b"]


def test_without_data_the_message_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"seedtts_testset\.tar"):
        load_selected(api.configure("seed-tts"), lambda _: None)
    with pytest.raises(DataError, match="no such file or folder"):
        loaded(tmp_path / "missing")
