"""Makes the bundled samples of Video-MME and of multiple-choice sets out of the Daily-Omni sample.

Run it as `python -m omnieval.samples.build_small_sets [FOLDER]`. The same versions of the parts give the
same files. What it makes is dedicated to the public domain (CC0).
"""

from __future__ import annotations

import csv
import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from omnieval.samples import sample_dir
from omnieval.samples.daily_omni_questions import QUESTIONS, Question

# Which clip lies where in the Video-MME sample: two in an archive, one beside it.
_ZIPPED, _PLAIN = ("kitchen_01", "harbour_02"), ("garden_06",)
# What is said in a clip, and when (seconds).
_SAID = {
    "kitchen_01": (
        (0.4, 2.0, "First, wash the apples."),
        (2.0, 4.6, "Then, cut the <i>bread</i> into slices."),
    ),
    "harbour_02": ((0.4, 3.0, "The boat leaves at seven in the morning."),),
}
_DOMAINS = {"kitchen_01": "Life Record", "harbour_02": "Knowledge", "garden_06": "Life Record"}
_PICTURE_CLIPS = ("kitchen_01", "harbour_02", "market_03", "station_05")
_LETTERS = "ABCD"
# A date that every archive of the sample gets, so that it is the same each time.
_DATE = (2024, 1, 1, 0, 0, 0)


def build(folder: Path) -> None:
    """Write `video_mme`, `mcq_pictures` and `mcq_sounds` into a folder."""
    clips = sample_dir("daily-omni") / "Videos"
    _video_mme(folder / "video_mme", clips)
    _pictures(folder / "mcq_pictures", clips)
    _sounds(folder / "mcq_sounds", clips)


def _video_mme(folder: Path, clips: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    asked = [q for q in QUESTIONS if q.video_id in (*_ZIPPED, *_PLAIN)]
    numbers = {name: f"{i:03d}" for i, name in enumerate((*_ZIPPED, *_PLAIN), 1)}
    rows: list[dict[str, object]] = []
    for question in asked:
        name = question.video_id
        turn = sum(row["videoID"] == name for row in rows) + 1
        rows.append(
            {
                "video_id": numbers[name],
                "duration": "short",
                "domain": _DOMAINS[name],
                "sub_category": question.category,
                "url": "",
                "videoID": name,
                "question_id": f"{numbers[name]}-{turn}",
                "task_type": question.type,
                "question": question.text,
                "options": [f"{a}. {b}" for a, b in zip(_LETTERS, question.options, strict=True)],
                "answer": question.answer,
            }
        )
    for inner in ("videomme", "video"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "videomme" / "test-00000-of-00001.parquet")
    videos = {f"data/{name}.mp4": _video(clips, name) for name in _ZIPPED}
    _archive(folder / "videos_chunked_01.zip", videos, zipfile.ZIP_STORED)
    for name in _PLAIN:
        (folder / "video" / f"{name}.mp4").write_bytes(_video(clips, name))
    subtitles = {f"subtitle/{name}.srt": _srt(lines).encode() for name, lines in _SAID.items()}
    _archive(folder / "subtitle.zip", subtitles, zipfile.ZIP_DEFLATED)


def _pictures(folder: Path, clips: Path) -> None:
    from omnieval.media.decode import decode_frames
    from omnieval.media.encode import encode_image
    from omnieval.types import ImageEncoding

    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = []
    for name in _PICTURE_CLIPS:
        frames = decode_frames(clips / name / f"{name}_video.mp4", (0, 25, 49))
        files = []
        for number, frame in enumerate(frames, 1):
            file = f"pictures/{name}-{number}.png"
            (folder / file).write_bytes(encode_image(frame.rgb, ImageEncoding("png")))
            files.append(file)
        for question in _about_shapes(name):
            lines.append(_picture_row(question, files, len(lines) + 1))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")


def _about_shapes(name: str) -> list[Question]:
    words = ("shape", "circle", "square", "colour", "direction")
    return [q for q in QUESTIONS if q.video_id == name and any(word in q.text for word in words)]


def _picture_row(question: Question, files: Sequence[str], number: int) -> dict[str, object]:
    return {
        "name": f"shape-{number}",
        "about": "motion" if "direction" in question.text else "colour",
        "pictures": list(files),
        "ask": question.text,
        "choices": list(question.options),
        "right": question.answer,
    }


def _sounds(folder: Path, clips: Path) -> None:
    (folder / "recordings").mkdir(parents=True, exist_ok=True)
    heard = ("harbour_02", "market_03")
    fields = ["id", "kind", "recording", "question", "first", "second", "third", "fourth", "right_answer"]
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for name in heard:
            wav = clips / name / f"{name}_audio.wav"
            (folder / "recordings" / f"{name}.wav").write_bytes(wav.read_bytes())
            spoken = [q for q in QUESTIONS if q.video_id == name and q not in _about_shapes(name)]
            for turn, question in enumerate(spoken, 1):
                right = question.options[_LETTERS.index(question.answer)]
                first, second, third, fourth = question.options
                row = [f"{name}-{turn}", question.type, f"recordings/{name}.wav", question.text]
                writer.writerow(dict(zip(fields, [*row, first, second, third, fourth, right], strict=True)))


def _video(clips: Path, name: str) -> bytes:
    return (clips / name / f"{name}_video.mp4").read_bytes()


def _archive(path: Path, files: dict[str, bytes], method: int) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = method
            archive.writestr(info, content)


def _srt(lines: Sequence[tuple[float, float, str]]) -> str:
    return "".join(
        f"{number}\n{_clock(start)} --> {_clock(end)}\n{text}\n\n"
        for number, (start, end, text) in enumerate(lines, 1)
    )


def _clock(seconds: float) -> str:
    return f"00:00:{int(seconds):02d},{round(seconds % 1 * 1000):03d}"


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
