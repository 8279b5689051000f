"""What makes a suite: its file, the places of its data, its settings; and what it reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from omnieval import api
from omnieval.errors import ConfigError, DataError, ScoringError
from omnieval.recipe_files import recipe_names
from omnieval.samples import sample_dir
from omnieval.settings import configure
from omnieval.suite import find_suite, plan_suite, suite_gate_page, suite_names
from omnieval.suite.file import load_suite_file
from omnieval.suite.places import parse_places, place_of


def test_bundled_suites_are_found_and_share_no_name_with_a_recipe() -> None:
    assert suite_names() == ["minicpm-challenge"]
    assert not set(suite_names()) & set(recipe_names())
    assert find_suite("daily-omni") is None
    written = load_suite_file(find_suite("minicpm-challenge") or Path())
    assert written.gate == "minicpm-challenge"


def test_every_member_of_a_bundled_suite_has_lines_in_its_gate(tmp_path: Path) -> None:
    plan = plan_suite(["minicpm-challenge"], sample=True)
    assert [member.name for member in plan.members] == ["daily-omni", "video-mme", "seed-tts-en"]
    assert plan.members[2].config.flat()["score"] == "later"


def test_a_recipe_in_the_place_of_a_suite_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("benchmark: daily-omni\n")
    for recipe in ("daily-omni", tmp_path / "mine.yaml"):
        with pytest.raises(ConfigError, match="is a recipe, not a suite; name several, or run it alone"):
            plan_suite([recipe])
    with pytest.raises(ConfigError, match=r"unknown suite 'minicpm-chalenge' \(did you mean 'minicpm-chall"):
        plan_suite(["minicpm-chalenge"])


def test_a_suite_of_ones_own_takes_paths_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("benchmark: daily-omni\nmax_frames: 5\n")
    (tmp_path / "gate.yaml").write_text("- coverage == 1.0\n")
    (tmp_path / "both.yaml").write_text(
        "gate: ./gate.yaml\nsettings: {concurrency: 3, decode: {max_tokens: 9}}\ndata: {mine: /data}\n"
        "members:\n  - ./mine.yaml\n  - {recipe: ./mine.yaml, name: more, settings: {max_frames: 7, data: /other}}\n"
    )
    plan = plan_suite([tmp_path / "both.yaml"], [("more.concurrency", 4)], data=["more=/third"])
    assert plan.gate == str(tmp_path / "gate.yaml")
    mine, more = (member.config for member in plan.members)
    assert (mine.data, mine.concurrency, mine.flat()["max_frames"]) == (Path("/data"), 3, 5)
    assert (more.data, more.concurrency, more.flat()["max_frames"]) == (Path("/third"), 4, 7)
    assert mine.decode.max_tokens == more.decode.max_tokens == 9


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("members: []\n", "members"),
        ("members: [daily-omni]\ngates: x\n", "unknown key 'gates' .did you mean 'gate'"),
        ("members: [{name: x}]\n", "members are names of recipes"),
        ("members: [daily-omni, daily-omni]\n", "'daily-omni' is there twice"),
        ("members: [{recipe: daily-omni, name: ../x}]\n", "cannot be a member's name"),
        ("members: [{recipe: daily-omni, name: decode}]\n", "'decode' is a setting"),
        ("members: [no-such-recipe]\n", "unknown recipe 'no-such-recipe'"),
        ("members: [minicpm-challenge, daily-omni]\n", "minicpm-challenge is a suite, not a recipe"),
        ("members: 5\n", "members"),
    ],
)
def test_a_bad_suite_is_named(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=told):
        plan_suite([path])


def test_a_suite_in_the_place_of_a_recipe_is_named(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text("members: [daily-omni]\n")
    for suite in ("minicpm-challenge", path):
        with pytest.raises(ConfigError, match="is a suite, not a recipe; name"):
            configure(suite)


def test_data_sets_are_found_under_their_usual_names(tmp_path: Path) -> None:
    for name in ("Daily-Omni", "Video_MME", "seedtts_testset"):
        (tmp_path / name).mkdir()
    (tmp_path / "seedtts_testset.tar").touch()
    for names, benchmark, folder in (
        (["daily-omni"], "daily-omni", "Daily-Omni"),
        (["video-mme-short"], "video-mme", "Video_MME"),
        (["seed-tts-zh"], "seed-tts", "seedtts_testset"),
    ):
        assert place_of(names, benchmark, {}, str(tmp_path)) == str(tmp_path / folder)
    (tmp_path / "daily_omni").mkdir()
    with pytest.raises(DataError, match="several data sets for daily-omni"):
        place_of(["daily-omni"], "daily-omni", {}, str(tmp_path))
    with pytest.raises(DataError, match=r"no data set of mcq .*--data mine=DIR"):
        place_of(["mine"], "mcq", {}, str(tmp_path))


def test_places_are_named_by_member_or_are_one_folder() -> None:
    known = {"daily-omni", "seed-tts-en", "seed-tts"}
    assert parse_places(["daily-omni=/a", "seed-tts=/b=c", "/d"], known) == (
        {"daily-omni": "/a", "seed-tts": "/b=c"}, "/d",
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"no member 'daily-omi' \(did you mean 'daily-omni'"):
        parse_places(["daily-omi=/a"], known)
    with pytest.raises(ConfigError, match="several folders"):
        parse_places(["/a", "/b"], known)


def test_a_suite_is_run_continued_and_judged_from_python(tmp_path: Path, cache_dir: Path) -> None:
    out = tmp_path / "suite"
    given = {"sample": True, "backend": "chance", "cache_dir": cache_dir, "out": out, "limit": 2}
    suite = api.run_suite(["daily-omni", "mcq-sounds"], members={"mcq-sounds": {"limit": 1}}, **given)
    report = api.load_suite_report(suite)
    assert [(row.name, row.answered) for row in report.members] == [("daily-omni", 2), ("mcq-sounds", 1)]
    assert api.load_suite_report(api.resume_suite(out)).complete
    gate = tmp_path / "gate.yaml"
    gate.write_text("- coverage >= 0.01\n")
    assert api.gate_suite(out, gate).verdict == "pass"
    for folder in (out, out / "mcq-sounds"):
        (folder / "gate.json").unlink()
        (folder / "gate.json").mkdir()
    unkept = api.gate_suite(out, gate)
    assert unkept.verdict == "pass"
    member, whole = suite_gate_page(unkept).warnings
    assert member.startswith(f"NOT KEPT with the run: {out / 'mcq-sounds' / 'gate.json'}: cannot be written")
    assert whole.startswith(f"NOT KEPT with the suite: {out / 'gate.json'}: cannot be written")
    assert len(api.compare(out, out)) == 2
    with pytest.raises(ConfigError, match=f"run with a member by its name, such as {out}/daily-omni"):
        api.compare(out, out / "daily-omni")


def test_members_with_letters_end_early_by_the_suites_gate_and_the_report_says_so(
    tmp_path: Path, cache_dir: Path
) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("daily-omni:\n  - accuracy >= 0.8\nmcq-sounds:\n  - accuracy >= 0.0\n")
    names = ["daily-omni", "mcq-sounds"]
    given = {"sample": True, "backend": "chance", "cache_dir": cache_dir, "concurrency": 1, "backend_seed": 0}
    suite = api.run_suite(names, out=tmp_path / "suite", gate=gate, stop_when="gate", **given)
    report = api.load_suite_report(suite)
    first, second = report.members
    assert report.complete, "what an early end left out is not unfinished"
    assert first.asked < 23 and first.warnings[0].startswith(f"PARTIAL: ended after {first.asked} of 23")
    assert "PARTIAL" in (suite.directory / "report.md").read_text()
    judged = api.gate_suite(suite.directory, gate)
    assert {name: found.verdict for name, found in judged.members.items()} == {
        "daily-omni": "fail", "mcq-sounds": "pass",
    }  # fmt: skip
    assert second.state == "finished"
    before = (suite.directory / "daily-omni" / "responses.jsonl").read_bytes()
    api.resume_suite(suite.directory)
    assert (suite.directory / "daily-omni" / "responses.jsonl").read_bytes() == before


def test_a_member_ends_early_by_the_lines_of_its_own_name_however_it_is_resumed(
    tmp_path: Path, cache_dir: Path
) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("hard:\n  - accuracy >= 0.8\ndaily-omni:\n  - accuracy >= 0.0\n")
    plan = tmp_path / "two.yaml"
    plan.write_text("gate: gate.yaml\nmembers:\n  - daily-omni\n  - {recipe: daily-omni, name: hard}\n")
    given = {"sample": True, "backend": "chance", "cache_dir": cache_dir, "concurrency": 1}
    suite = api.run_suite(plan, out=tmp_path / "suite", stop_when="gate", **given)
    report = api.load_suite_report(suite)
    assert report.complete
    assert [row.warnings[0].startswith("PARTIAL") for row in report.members] == [True, True]
    for name, text in (("daily-omni", "accuracy >= 0.0"), ("hard", "accuracy >= 0.8")):
        assert [line["text"] for line in suite.runs()[name].info["early"]["lines"]] == [text]
    assert {name: found.verdict for name, found in api.gate_suite(suite).members.items()} == {
        "daily-omni": "pass", "hard": "fail",
    }  # fmt: skip
    member = suite.directory / "hard"
    assert [line.text for line in api.gate(member).lines] == ["accuracy >= 0.8"]
    before = (member / "responses.jsonl").read_bytes()
    api.resume_suite(suite.directory)
    api.resume(member)
    assert (member / "responses.jsonl").read_bytes() == before


def test_a_member_is_judged_alone_as_in_its_suite(tmp_path: Path, cache_dir: Path) -> None:
    gate, other = tmp_path / "gate.yaml", tmp_path / "other.yaml"
    gate.write_text("hard:\n  - rows == 24\ndaily-omni:\n  - rows == 23\n")
    other.write_text("daily-omni:\n  - rows >= 1\n")
    plan = tmp_path / "two.yaml"
    plan.write_text("gate: gate.yaml\nmembers:\n  - daily-omni\n  - {recipe: daily-omni, name: hard}\n")
    suite = api.run_suite(
        plan, out=tmp_path / "suite", sample=True, backend="chance", cache_dir=cache_dir, limit=1
    )
    judged = api.gate_suite(suite)
    together = judged.members
    assert (judged.verdict, judged.unused) == ("fail", ())
    assert api.load_suite_report(suite).verdict == "fail"
    assert [found.verdict for found in together.values()] == ["pass", "fail"]
    for name, found in together.items():
        assert api.gate(suite.directory / name) == api.gate(suite.directory / name, gate) == found
    hard = suite.directory / "hard"
    api.score(hard)
    assert api.load_suite_report(suite).verdict is None, "a member was scored after the verdicts"
    (tmp_path / "link").symlink_to(hard)
    assert api.gate(tmp_path / "link", gate).verdict == "fail"
    assert api.gate(hard, gate, section="daily-omni").verdict == "pass"
    assert api.gate(hard, other).verdict == "pass", "a gate without the member's name goes by the recipe"
    moved = hard.rename(tmp_path / "hard")
    assert api.gate(moved, gate).verdict == "pass", "a run that stands alone goes by its recipe"
    with pytest.raises(ConfigError, match="no gate of its own; give --gate"):
        api.gate(moved)


def test_a_suite_is_scored_again_from_python(tmp_path: Path, cache_dir: Path) -> None:
    suite = api.run_suite(
        ["daily-omni", "mcq-sounds", "seed-tts"], sample=True, backend="chance", cache_dir=cache_dir,
        out=tmp_path / "suite", limit=2,
    )  # fmt: skip
    told: list[str] = []
    before = api.load_suite_report(suite)
    (suite.directory / "report.json").unlink()
    assert api.score_suite(suite.directory, parser="careful", notify=told.append) == before
    assert told == [f"scoring {row.name}" for row in before.members]
    assert (suite.directory / "report.json").is_file()
    letters, last, spoken = (suite.directory / row.name for row in before.members)
    assert api.load_report(letters).parser == api.load_report(last).parser == "careful"
    (letters / "samples.jsonl").write_text("{}\n")
    (last / "report.json").unlink()
    with pytest.raises(ScoringError, match=rf"^daily-omni: {letters}/samples.jsonl: line 1 is damaged"):
        api.score_suite(suite, parser="official")
    assert (last / "report.json").is_file(), "the members after a damaged one are scored"
    with pytest.raises(ScoringError, match=r"seed-tts: scoring a run cannot change language"):
        api.score_suite(suite, members={"seed-tts": {"language": "zh"}})
    with pytest.raises(ConfigError, match="no member 'daily'"):
        api.score_suite(suite, data={"daily": tmp_path})
    for path in spoken.iterdir():
        path.unlink()
    for given in ({"recogniser": {"name": "whisper-hf"}}, {"data": tmp_path}):
        with pytest.raises(
            ConfigError, match=r"no member that was begun is spoken, and only speech takes (recog|d)"
        ):
            api.score_suite(suite, **given)


def test_a_parser_is_refused_where_all_members_are_spoken(tmp_path: Path, cache_dir: Path) -> None:
    (tmp_path / "one.yaml").write_text("members: [seed-tts]\n")
    suite = api.run_suite(
        tmp_path / "one.yaml",
        sample=True,
        backend="chance",
        cache_dir=cache_dir,
        out=tmp_path / "suite",
        limit=1,
    )
    with pytest.raises(ConfigError, match="all members that were begun are spoken, without letters to parse"):
        api.score_suite(suite, parser="careful")


def test_a_suite_goes_on_from_python_where_its_data_were_moved(tmp_path: Path, cache_dir: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    shutil.copytree(sample_dir("daily-omni"), first)
    (tmp_path / "one.yaml").write_text("members: [daily-omni]\n")
    suite = api.run_suite(
        tmp_path / "one.yaml", data={"daily-omni": first}, backend="chance", cache_dir=cache_dir, limit=2,
        out=tmp_path / "suite",
    )  # fmt: skip
    (suite.directory / "daily-omni" / "responses.jsonl").unlink()
    api.score_suite(suite)
    assert not api.load_suite_report(suite).complete
    first.rename(second)
    moved = {"data": {"daily-omni": second}, "members": {"daily-omni": {"concurrency": 1}}}
    assert api.load_suite_report(api.resume_suite(suite.directory, **moved)).complete


def test_what_a_suite_leaves_of_a_gate_is_told_and_another_configuration_is_refused(
    tmp_path: Path, cache_dir: Path
) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("daily-omni:\n  - rows == 23\nvideo-mme:\n  - rows == 9\nall:\n  - coverage >= 0\n")
    given = {
        "sample": True,
        "backend": "chance",
        "cache_dir": cache_dir,
        "limit": 1,
        "out": tmp_path / "suite",
    }
    suite = api.run_suite(["daily-omni", "mcq-sounds"], **given)
    with pytest.raises(ConfigError, match="no section for the recipe 'mcq-sounds'"):
        api.gate_suite(suite, gate)
    gate.write_text(gate.read_text().replace("all:", "mcq-sounds:"))
    assert api.gate_suite(suite, gate).unused == ("video-mme",)
    with pytest.raises(
        ConfigError, match=r"begun with another configuration:\n  daily-omni\.max_frames: 64 -> 8"
    ):
        api.run_suite(["daily-omni", "mcq-sounds"], **given, members={"daily-omni": {"max_frames": 8}})
    with pytest.raises(
        ConfigError, match="holds a suite of daily-omni, mcq-sounds, not of daily-omni, mcq-pictures"
    ):
        api.run_suite(["daily-omni", "mcq-pictures"], **given)


def test_a_member_without_lines_that_an_early_end_could_decide_is_named(
    tmp_path: Path, cache_dir: Path
) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("hard:\n  - coverage == 1.0\ndaily-omni:\n  - accuracy >= 0.0\n")
    plan = tmp_path / "two.yaml"
    plan.write_text("gate: gate.yaml\nmembers:\n  - daily-omni\n  - {recipe: daily-omni, name: hard}\n")
    with pytest.raises(ConfigError, match=r"hard: .*no line on accuracy, strict or unhealthy for hard"):
        api.run_suite(
            plan, sample=True, backend="chance", cache_dir=cache_dir, out=tmp_path / "suite", stop_when="gate"
        )
    assert not (tmp_path / "suite").exists()


def test_a_spoken_member_is_asked_whole_and_that_is_said(tmp_path: Path, cache_dir: Path) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("- accuracy >= 0.8\n")
    told: list[str] = []
    suite = api.run_suite(
        ["daily-omni", "seed-tts"], sample=True, backend="chance", cache_dir=cache_dir, out=tmp_path / "suite",
        gate=gate, stop_when="gate", notify=told.append,
    )  # fmt: skip
    line = "seed-tts: asked whole; spoken answers are heard after the run, too late to end it early"
    assert told.index(line) < told.index("member 1 of 2: daily-omni")
    assert [row.whole for row in api.load_suite_report(suite).members] == [False, True]
    assert f"- {line}" in (suite.directory / "report.md").read_text()
    told.clear()
    api.resume_suite(suite.directory, notify=told.append)
    assert line in told
    with pytest.raises(ConfigError, match="leave out --stop-when"):
        plan_suite(["seed-tts", "seed-tts-en"], [("stop_when", "gate")], sample=True, gate=str(gate))
