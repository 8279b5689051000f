"""The export has every key of the files that lm-evaluation-harness wrote, in values of the same kind."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

from omnieval.export.lm_eval import sample_hashes, write_lm_eval
from tests.runs import choice_run, speech_run

WRITTEN = json.loads((Path(__file__).parent / "data" / "lm_eval.json").read_text())
TASK = "tiny"
# Where the harness finds the questions of its task and how it words them.
ITS_OWN = {
    "dataset_path", "dataset_kwargs", "test_split", "doc_to_text", "doc_to_target", "description", "unsafe_code",
    "target_delimiter", "fewshot_delimiter", "fewshot_config", "should_decontaminate",
}  # fmt: skip


def files(folder: Path, kind: str = "choice", model: str = "org/model") -> tuple[Path, Path]:
    if kind == "choice":
        run = choice_run(folder / "r", ["correct", "wrong", "unparsed", "timeout"], model=model)
    else:
        run = speech_run(
            folder / "r", [{"wer": 0.5, "sim[wavlm-sv]": 0.7}, {"wer": 0.0, "sim[wavlm-sv]": 0.6}]
        )
    return write_lm_eval(run, folder / "out")


def shape(value: Any) -> Any:
    """Its kind; of a list that of its first item, too."""
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def same_kinds(ours: dict[str, Any], theirs: dict[str, Any], but: Set[str] = frozenset()) -> None:
    assert theirs.keys() - but <= ours.keys()
    for key, value in theirs.items():
        if value is not None and ours.get(key) is not None and ours[key] != []:
            assert shape(ours[key]) == shape(value), key


@pytest.mark.parametrize("kind", ["choice", "speech"])
def test_no_key_is_missing_and_every_value_is_of_its_kind(tmp_path: Path, kind: str) -> None:
    results, samples = files(tmp_path, kind)
    ours, theirs = json.loads(results.read_text()), WRITTEN["results"]
    (task,) = ours["results"]
    same_kinds(ours, theirs)
    same_kinds(ours["config"], theirs["config"], but={"model_args"})
    same_kinds(ours["configs"][task], theirs["configs"][TASK], but=ITS_OWN)
    for key in ("n-shot", "n-samples", "higher_is_better", "task_hashes"):
        assert shape(ours[key][task]) == shape(theirs[key][TASK]), key
    assert {"name", "alias", "sample_len"} <= ours["results"][task].keys()
    metrics = [entry["metric"] for entry in ours["configs"][task]["metric_list"]]
    assert metrics == ["acc"] if kind == "choice" else ["wer", "sim"]
    for line in map(json.loads, samples.read_text().splitlines()):
        same_kinds(line, {key: value for key, value in WRITTEN["samples"][0].items() if key != "exact_match"})
        assert line["arguments"]["gen_args_0"].keys() == {"arg_0", "arg_1"}
        assert all(isinstance(line[name], float) for name in metrics)


def test_hashes_are_made_as_the_harness_makes_them() -> None:
    for sample in WRITTEN["samples"]:
        found = sample_hashes(sample["doc"], sample["arguments"]["gen_args_0"]["arg_0"], sample["target"])
        assert found == {key: sample[key] for key in found}


def test_folder_and_files_are_named_alike(tmp_path: Path) -> None:
    results, samples = files(tmp_path)
    assert results.parent.name == samples.parent.name == WRITTEN["folder"]
    stamp = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}"
    for name in (results.name, WRITTEN["files"][0]):
        assert re.fullmatch(rf"results_{stamp}\.json", name)
    for name in (samples.name, WRITTEN["files"][1]):
        assert re.fullmatch(rf"samples_[\w-]+_{stamp}\.jsonl", name)
