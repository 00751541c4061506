"""Tables in LaTeX, read again by a reader that knows `tabular` and siunitx's columns."""

import re

import pytest

from cfeval.report.files import latex
from cfeval.report.tables import RenderedTable
from tests.edct.tables.whole import OF_SCORES, rows, table

COLUMN = re.compile(r"S\[table-format=(-?)(\d)\.(\d)\]|@\{\\ \}|>\{\\raggedright\\arraybackslash\}p\{14em\}|l")
ESTIMATES = RenderedTable(
    "estimates",
    "CCS",
    ("Target", "CCS", "p", "Rests on"),
    (
        ("model", "−0.9500 [-0.9900, 0.1000]", "< 0.0001", "300 of 300"),
        ("other", "12.5000", "0.0210", ""),
        ("none", "", "", "0 of 300"),
    ),
)


def columns(text: str) -> list[re.Match[str]]:
    """The columns that a `tabular` declares, gaps left out."""
    [spec] = re.findall(r"\\begin\{tabular\}\{(.*)\}\n", text)
    found = list(COLUMN.finditer(spec))
    assert "".join(one[0] for one in found) == spec
    return [one for one in found if not one[0].startswith("@")]


def cells(text: str) -> list[list[str]]:
    """The cells of each line between the rules; a heading over two columns counts twice."""
    inside = text.split("\\toprule\n")[1].split("\\bottomrule")[0].replace("\\midrule\n", "")
    lines = [re.split(r"(?<!\\)&", line.removesuffix(r" \\")) for line in inside.splitlines()]
    return [[one.strip() for cell in line for one in [cell] * (2 if "multicolumn{2}" in cell else 1)] for line in lines]


@pytest.mark.parametrize("name", OF_SCORES)
def test_every_line_has_a_cell_for_each_column_and_every_number_fits_its_column(name: str) -> None:
    text = latex(table(name).render(rows(name)))
    declared, (headings, *body) = columns(text), cells(text)
    assert {len(line) for line in (headings, *body)} == {len(declared)}
    for column, heading, *of in zip(declared, headings, *body, strict=True):
        if column[0].startswith("S"):
            sign, whole, decimals = column.groups()
            allowed = rf"{sign and '-?'}\d{{1,{whole}}}(\.\d{{0,{decimals}}})?|\{{.*\}}|"
            assert all(re.fullmatch(allowed, cell) for cell in of), (column[0], of)
            assert heading.startswith(("{", "\\multicolumn"))
            assert any(re.match(r"[-\d]", cell) for cell in of)


def test_numbers_are_aligned_and_intervals_stand_in_a_column_of_their_own() -> None:
    text = latex(ESTIMATES)
    assert r"{lS[table-format=-2.4]@{\ }lS[table-format=1.4]l}" in text
    assert cells(text) == [
        ["Target", *[r"\multicolumn{2}{c}{CCS}"] * 2, "{p}", "Rests on"],
        ["model", "-0.9500", "[$-$0.9900, 0.1000]", r"{\textless{} 0.0001}", "300 of 300"],
        ["other", "12.5000", "", "0.0210", ""],
        ["none", "", "", "", "0 of 300"],
    ]


def wide(columns: int, lines: int, width: int) -> str:
    """The LaTeX of a table of so many columns and lines of words of so many letters."""
    line = ("m" * width,) * columns
    return latex(RenderedTable("wide", "t", line, (line,) * lines))


def test_a_table_takes_one_column_where_it_fits_else_the_page_and_is_turned_or_shrunk_before_it_leaves_the_page() -> (
    None
):
    narrow, page, turned, shrunk = wide(4, 2, 11), wide(5, 2, 11), wide(9, 2, 11), wide(9, 9, 11)
    kinds = [re.findall(r"begin\{(table\*?)\}", text) for text in (narrow, page, turned, shrunk)]
    assert kinds == [["table"], ["table*"], ["table"], ["table*"]]
    assert [len(columns(text)) for text in (narrow, page, turned, shrunk)] == [4, 5, 3, 9]
    assert [r"\resizebox{\textwidth}" in text for text in (narrow, page, turned, shrunk)] == [False, False, False, True]


def test_long_cells_are_broken_into_lines() -> None:
    assert [one[0][-1] for one in columns(wide(2, 1, 33))] == ["}", "}"]
    assert [one[0] for one in columns(wide(2, 1, 32))] == ["l", "l"]


def test_a_line_that_begins_with_a_bracket_is_no_option_of_the_line_before() -> None:
    text = latex(RenderedTable("t", "t", ("a",), (("[1]",),)))
    assert "\n{}[1] \\\\\n" in text
