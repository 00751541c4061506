"""Where people disagree somebody decides: until then the edit is missing, and then it counts as hard."""

import json
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, write_csv
from cfeval.edct.labelling.agreement import known_truth, open_items, people, rated
from cfeval.edct.labelling.records import KeyRow, Label, read_labels
from cfeval.edct.labelling.table import LabelAgreementRow, render, rows
from tests.conftest import Run
from tests.edct.labelling.test_files import SHEET, key, page
from tests.edct.labelling.test_table import found, label
from tests.edct.tables.study import GROUNDED, HOW, score

__all__ = ["key"]
EASY, HARD = 20, 6
"""Ann and Bob agree on 10 edits each way, where the judge is right; they differ on 6, where it is wrong."""


def labels() -> list[Label]:
    easy = [label(who, n, pcs=str(n % 2), ncc="1") for n in range(EASY) for who in ("Ann", "Bob")]
    hard = [(n, who, mark) for n in range(EASY, EASY + HARD) for who, mark in (("Ann", "1"), ("Bob", "0"))]
    return easy + [label(who, n, pcs=mark, ncc="1") for n, who, mark in hard]


def rulings(count: int = HARD, **said: object) -> list[Label]:
    numbers = range(EASY, EASY + count)
    return [label("Eve", n, **{"pcs": str(n % 2), "ncc": "1", **said}, adjudication=1) for n in numbers]


SCORES = [score(GROUNDED, f"i{n:03d}", pcs=n % 2 if n < EASY else 1 - n % 2) for n in range(EASY + HARD)]


def of_tool(of: list[Label], about: str = "pcs") -> LabelAgreementRow:
    return found(rows(of, SCORES, HOW), about, "tool_consensus")


def test_until_somebody_decides_the_edits_are_missing_and_the_table_says_how_many() -> None:
    row = of_tool(labels())
    assert (row.n, row.n_assessable, row.n_open, row.n_hard) == (26, 20, 6, 0)
    assert row.missing == "not adjudicated 6"
    assert row.sensitivity == row.specificity == 1, "the judge's error on easy edits"
    assert found(rows(labels(), SCORES, HOW), "pcs", "human_human").n_open == 6
    assert open_items(labels()) == [n + 1 for n in range(EASY, EASY + HARD)]
    assert "6 open" in str(render(rows(labels(), SCORES, HOW)))


def test_what_was_decided_counts_as_hard_and_the_judges_error_is_that_on_all_edits() -> None:
    row = of_tool([*labels(), *rulings()])
    assert (row.n_assessable, row.n_open, row.n_hard, row.hard_wrong, row.missing) == (26, 0, 6, 6, "")
    assert (row.sensitivity, row.specificity) == (round(10 / 13, 4), round(10 / 13, 4))
    assert len(known_truth([*labels(), *rulings()], SCORES)) == 26
    some = of_tool([*labels(), *rulings(2)])
    assert (some.n_open, some.n_hard, some.missing) == (4, 2, "not adjudicated 4")
    assert "2 (2 wrong), 4 open" in str(render([some]))


def test_who_adjudicates_is_none_of_the_people_whose_agreement_is_measured() -> None:
    both = [*labels(), *rulings()]
    assert people(both) == ["Ann", "Bob"]
    alone, beside = (found(rows(of, SCORES, HOW), "pcs", "human_human") for of in (labels(), both))
    assert (alone.agreement, alone.kappa, alone.alpha) == (beside.agreement, beside.kappa, beside.alpha)
    assert not [row for row in rows(both, SCORES, HOW) if row.rater == "Eve"]


def test_a_third_rater_decides_by_majority_and_is_overruled_by_an_adjudication() -> None:
    third = [label("Cat", n, pcs="1", ncc="1") for n in range(EASY, EASY + HARD)]
    row = of_tool([*labels(), *third])
    assert (row.n_open, row.n_hard, row.hard_wrong) == (0, 6, 3)
    assert of_tool([*labels(), *third, *rulings()]).hard_wrong == 6
    assert open_items([*labels(), *third]) == []


def test_a_decision_changes_nothing_where_people_agree() -> None:
    against = label("Eve", 0, pcs="1", ncc="1", adjudication=1)
    [one] = [each for each in rated([*labels(), against], "pcs") if each.edited.id == "i000"]
    assert (one.consensus, one.hard) == (0.0, False)


def test_a_decision_about_what_was_open_is_enough_for_the_product() -> None:
    row = of_tool([*labels(), *rulings(ncc=None)], "ccs")
    assert (row.n_open, row.n_hard) == (0, 6)


def test_an_edit_that_is_found_invalid_is_missing_for_that_reason() -> None:
    row = of_tool([*labels(), *rulings(edit_valid="invalid", pcs=None, ncc=None)])
    assert (row.n_open, row.n_hard, row.missing) == (0, 0, "invalid 6")


def test_open_edits_are_told_beside_the_corrected_ccs() -> None:
    rest = [score(GROUNDED, f"r{n:03d}", pcs=n % 2) for n in range(40)]
    row = found(rows(labels(), [*SCORES, *rest], HOW), "ccs", "tool_consensus")
    assert row.corrected is not None
    assert row.corrected_note.startswith("6 labelled edits wait for an adjudication")
    row = found(rows([*labels(), *rulings()], [*SCORES, *rest], HOW), "ccs", "tool_consensus")
    assert row.corrected_note == ""


def test_labels_that_were_kept_before_there_were_adjudications_are_read(tmp_path: Path) -> None:
    write_csv(tmp_path / "labels.csv", Label, labels())
    lines = (tmp_path / "labels.csv").read_text().splitlines()
    assert lines[0].endswith(",adjudication")
    (tmp_path / "old.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert read_csv(tmp_path / "old.csv", Label) == labels()


def test_decisions_are_read_from_the_sheets_own_files(key: dict[int, KeyRow], tmp_path: Path) -> None:
    said = [
        page(tmp_path, who, {"item": 1, "edit_valid": "valid", "pcs": m}) for who, m in (("Ann", "1"), ("Bob", "0"))
    ]
    eve = page(tmp_path, "Eve", {"item": 1, "edit_valid": "valid", "pcs": "1"})
    read = read_labels(said, key, [eve])
    assert [(one.rater, one.adjudication) for one in read] == [("Ann", 0), ("Bob", 0), ("Eve", 1)]
    with pytest.raises(InputError, match="'Bob' labelled the sheet and cannot adjudicate alone"):
        read_labels(said, key, [said[1]])
    with pytest.raises(InputError, match="item 1 is adjudicated by 'Eve' and 'Fay'"):
        read_labels(said, key, [eve, page(tmp_path, "Fay", {"item": 1, "edit_valid": "valid"})])
    with pytest.raises(InputError, match="two adjudications of item 'i020'"):
        rated([*labels(), *rulings(), *rulings()], "pcs")


def test_the_verb_names_the_items_to_decide_about_and_takes_the_decision(
    cfeval: Run, key: dict[int, KeyRow], tmp_path: Path
) -> None:
    said = [
        page(tmp_path, who, {"item": 1, "edit_valid": "valid", "pcs": m}) for who, m in (("Ann", "1"), ("Bob", "0"))
    ]
    given = ("edct", "labels", *said, "--key", tmp_path / "s.key.csv", "--out", tmp_path / "labels.csv")
    status, out, _ = cfeval(*given)
    assert status == 0
    assert out.splitlines()[-1] == "people disagree about 1 edits, not adjudicated yet: items 1"
    eve = tmp_path / "eve.json"
    marks = [{"item": 1, "edit_valid": "valid", "pcs": "1"}]
    eve.write_text(json.dumps({"format": "cfeval-labels-1", "sheet": SHEET, "rater": "Eve", "labels": marks}))
    assert cfeval(*given, "--adjudication", eve)[1].splitlines()[-1] == "Eve: decides about 1"
    assert [one.adjudication for one in read_csv(tmp_path / "labels.csv", Label)] == [0, 0, 1]
