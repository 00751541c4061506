"""`cfeval edct card`: the trust cards of a table, as text and as JSON."""

import json
from pathlib import Path

import pytest

from cfeval.edct.tables.card import CARD, CARD_BOUNDS, FIELDS
from cfeval.report.tables import csv_text
from tests.conftest import Run
from tests.edct.tables.study import GROUNDED, condition, made_of
from tests.edct.tables.whole import CONDITIONS_OF, SCORES


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The table of the cards of three targets."""
    for name, of in (("card", CARD), ("bounds", CARD_BOUNDS)):
        rows = of.rows(CONDITIONS_OF["card"], made_of(SCORES))
        (tmp_path / f"edct_{name}.csv").write_text(csv_text(of.row, rows))
    return tmp_path / "edct_card.csv"


def test_a_card_says_conclusion_reasons_fit_and_six_claims(cfeval: Run, table: Path) -> None:
    status, out, _ = cfeval("edct", "card", table)
    cards = out.strip().split("\n\n")
    assert (status, [card.partition(" ")[0] for card in cards]) == (0, ["grounded", "mixed", "shortcut"])
    [row] = CARD.rows([GROUNDED], made_of(SCORES))
    first, *lines = cards[0].splitlines()
    assert first.endswith(f"16 items): {row.conclusion}")
    assert [line.split()[0] for line in lines if "because" not in line] == ["FIT", *"ABCDEF"]
    assert f"  A cites what is there: {row.present_says} 1.0000 [" in cards[0]


def test_as_json_it_is_for_programs(cfeval: Run, table: Path) -> None:
    status, out, _ = cfeval("edct", "card", table, "--vlm", "shortcut", "--json")
    [card] = json.loads(out)
    [row] = CARD.rows([condition(vlm="shortcut")], made_of(SCORES))
    assert (status, card["vlm"], card["items"], card["conclusion"]) == (0, "shortcut", 16, row.conclusion)
    assert card["because"] == row.why.split("; ")
    assert card["fit"] == {"rate": row.fit, "interval": [row.fit_lo, row.fit_hi]}
    assert {letter: claim["says"] for letter, claim in card["claims"].items()} == {
        letter: getattr(row, f"{name}_says") for letter, name in FIELDS.items()
    }
    assert card["claims"]["B"]["bound"] == 0.65


def test_it_says_under_which_other_bounds_a_conclusion_stays(cfeval: Run, table: Path) -> None:
    status, out, _ = cfeval("edct", "card", table, "--vlm", "shortcut", "--bounds")
    assert (status, out.count("  bound of ")) == (0, 8)
    assert "  bound of FIT, 0.75: the same under all" in out
    [card] = json.loads(cfeval("edct", "card", table, "--vlm", "shortcut", "--bounds", "--json")[1])
    assert card["same_under_bounds"]["FIT"] == "all"
    table.with_name("edct_bounds.csv").unlink()
    status, _, err = cfeval("edct", "card", table, "--bounds")
    assert (status, err.count("\n")) == (2, 1)
    assert "edct_bounds.csv: no such file" in err


def test_a_target_that_has_no_card_and_a_table_that_is_not_there_are_one_line(
    cfeval: Run, table: Path, tmp_path: Path
) -> None:
    for given, said in ((("--vlm", "mxed"), "no card of 'mxed'"), ((tmp_path / "none.csv",), "none.csv: no such file")):
        status, out, err = cfeval("edct", "card", *(given if len(given) == 1 else (table, *given)))
        assert (status, out, len(err.splitlines()), said in err) == (2, "", 1, True)
