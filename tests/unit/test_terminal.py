"""Tables on terminals of any width: no number is ever cut."""

from __future__ import annotations

import io

import pytest

from omnieval.data_display import show_checked
from omnieval.datasets import check_data
from omnieval.report.page import Table
from omnieval.report.terminal import show_table
from omnieval.samples import sample_dir

COLUMNS = ("type", "official", "95 % interval", "strict", "why")
TABLE = Table(
    "By type",
    COLUMNS,
    (
        ("AV Event Alignment", "78.28 % (937/1197)", "-52.4 to +100.0", "1.25 % (15/1200)", "pass"),
        (
            "事件顺序与时间上的先后关系",
            "9.00 % (9/100)",
            "3.7 to 36.8",
            "-",
            "the run has minicpm-interleave",
        ),
    ),
    numeric=(1, 2, 3),
)


def printed(table: Table, width: int) -> str:
    from rich.console import Console

    out = io.StringIO()
    show_table(table, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 31, 40, 60, 76, 77, 80, 100, 118, 119, 200])
def test_every_number_is_whole_and_beside_its_row_at_any_width(width: int) -> None:
    from rich.cells import cell_len

    text = printed(TABLE, width)
    words = " ".join(text.split())
    assert all(cell_len(line) <= width for line in text.splitlines())
    for row in TABLE.rows:
        for cell in row[1:4]:
            assert all(part in words for part in cell.split())
    assert words.index("78.28 %") < words.index("9.00 %")


@pytest.mark.parametrize("width", [77, 80, 120])
def test_short_words_are_not_broken_while_there_is_room_for_the_table(width: int) -> None:
    text = printed(TABLE, width)
    assert "type: " not in text
    for word in ("Alignment", "official", "95 % interval", "pass"):
        assert word in text


def test_counts_go_below_their_percentages_before_words_are_cut() -> None:
    assert "78.28 % (937/1197)" in printed(TABLE, 150)
    narrow = printed(TABLE, 80)
    assert "78.28 % (937/1197)" not in narrow
    assert "(937/1197)" in narrow


def test_a_terminal_without_room_for_a_table_gets_its_rows_line_by_line() -> None:
    assert printed(TABLE, 40).split("\n\n")[1].splitlines() == [
        "type: AV Event Alignment",
        "official: 78.28 % (937/1197)",
        "95 % interval: -52.4 to +100.0",
        "strict: 1.25 % (15/1200)",
        "why: pass",
    ]


def test_a_table_without_rows_shows_its_columns() -> None:
    assert "official" in printed(Table("Nothing", COLUMNS, (), numeric=(1,)), 80)


def test_the_fingerprints_of_a_data_set_are_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    found = check_data("daily-omni", sample_dir("daily-omni"), part=True)
    show_checked(found)
    shown = capsys.readouterr().out
    for name in (found.fingerprint, found.questions_fingerprint, found.media_fingerprint):
        assert len(name) == 16 and name in shown
