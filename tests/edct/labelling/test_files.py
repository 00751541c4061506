"""Reading labels: what people and spreadsheets write is taken, what does not fit is refused in one line."""

import json
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, write_csv
from cfeval.edct.labelling.records import CONTEXT, KeyRow, Label, read_key, read_labels

SHEET, OTHER = "a" * 64, "b" * 64
NAMES = {"dataset": "d", "vlm": "v", "writer": "w", "editor": "e"}
SINGLE = {"protocol": "edct-2025", "asks": "edit_valid pcs ncc"}
CHAIN = {"protocol": "edct-bench-2026", "asks": "edit_valid ac ef grade", "gate": 1}
REJECTED = {"protocol": "edct-bench-2026", "asks": "edit_valid", "gate": 0}
HEADER = ",".join(["sheet,item,rater", *CONTEXT, "edit_valid,pcs,ncc,ac,ef,grade,comment"])


@pytest.fixture
def key(tmp_path: Path) -> dict[int, KeyRow]:
    kinds = [SINGLE, CHAIN, REJECTED]
    rows = [
        KeyRow.model_validate(
            {**NAMES, **kind, "id": f"i{n}", "sheet": SHEET, "item": n, "weight": 2.5, "cluster": "g"}
        )
        for n, kind in enumerate(kinds, start=1)
    ]
    write_csv(tmp_path / "s.key.csv", KeyRow, rows)
    return read_key(tmp_path / "s.key.csv")


def page(folder: Path, rater: str, *labels: dict[str, object], **fields: object) -> Path:
    """What the page of the sheet saves."""
    path = folder / f"{rater[:20].strip()}.json"
    path.write_text(
        json.dumps({"format": "cfeval-labels-1", "sheet": SHEET, "rater": rater, "labels": labels, **fields})
    )
    return path


def table(folder: Path, *lines: str, header: str = HEADER, end: str = "\n") -> Path:
    """A sheet's CSV, filled in; `…` stands for the texts of an item."""
    path = folder / "filled.csv"
    path.write_text(end.join([header, *lines]).replace("…", "q,c,a,e,n,x") + end)
    return path


def test_labels_bring_together_what_was_said_and_what_was_shown(key: dict[int, KeyRow], tmp_path: Path) -> None:
    said = [{"item": 2, "edit_valid": "valid", "ac": "1", "ef": "not_assessable", "grade": "5", "comment": "x\ny"}]
    found = read_labels(
        [page(tmp_path, " Ann ", *said), page(tmp_path, "bob", {"item": 1, "edit_valid": "invalid"})], key
    )
    assert [(one.item, one.rater, one.id) for one in found] == [(1, "bob", "i1"), (2, "Ann", "i2")]
    assert found[1].answered() == {"edit_valid": "valid", "ac": "1", "ef": "not_assessable", "grade": "5"}
    assert (found[1].gate, found[1].weight, found[1].cluster, found[1].protocol) == (1, 2.5, "g", "edct-bench-2026")
    write_csv(tmp_path / "labels.csv", Label, found)
    assert read_csv(tmp_path / "labels.csv", Label) == found


def test_a_csv_filled_in_by_hand_is_as_good_as_the_page(key: dict[int, KeyRow], tmp_path: Path) -> None:
    by_page = page(tmp_path, "Ann", {"item": 1, "edit_valid": "cannot_tell", "pcs": "1", "ncc": "not_assessable"})
    by_hand = table(tmp_path, f"{SHEET},1,Ann,…,Cannot tell,1, Not assessable ,,,,", f"{SHEET},2,,…,,,,,,,")
    assert read_labels([by_hand], key) == read_labels([by_page], key)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_csv_may_come_from_a_spreadsheet_that_writes_semicolons(
    key: dict[int, KeyRow], tmp_path: Path, start: str, end: str
) -> None:
    header = start + "sheet;item;rater;edit_valid;pcs;ncc;comment"
    path = table(tmp_path, f'{SHEET};1;Ann;VALID;0;1;"a; b"', header=header, end=end)
    [label] = read_labels([path], key)
    assert (label.answered(), label.comment) == ({"edit_valid": "valid", "pcs": "0", "ncc": "1"}, "a; b")


def test_one_name_in_a_csv_counts_for_all_its_rows(key: dict[int, KeyRow], tmp_path: Path) -> None:
    header = "sheet,item,rater,edit_valid"
    path = table(tmp_path, f"{SHEET},1,Ann,valid", f"{SHEET},2,,invalid", header=header)
    assert [label.rater for label in read_labels([path], key)] == ["Ann", "Ann"]
    path = table(tmp_path, f"{SHEET},1,Ann,valid", f"{SHEET},2,,invalid", f"{SHEET},1,Bob,valid", header=header)
    with pytest.raises(InputError, match=r"line 3: says not whose labels"):
        read_labels([path], key)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"item": 4, "edit_valid": "valid"}, "the sheet has no item 4; its items are 1 to 3"),
        ({"item": 0}, "labels.0.item: Input should be greater than or equal to 1"),
        ({"item": 1, "edit_valid": "yes"}, "edit_valid: Input should be 'valid', 'invalid' or 'cannot_tell'"),
        ({"item": 1, "pcs": "2"}, "pcs: Input should be '0', '1' or 'not_assessable'"),
        ({"item": 1, "pcs": True}, "pcs: Input should be '0', '1' or 'not_assessable'"),
        ({"item": 2, "grade": 6}, "grade: Input should be '1'"),
        ({"item": 1, "ac": "1"}, "item 1 is not asked for ac, only for edit_valid, pcs, ncc"),
        ({"item": 3, "ac": "1"}, "item 3 is not asked for ac, only for edit_valid"),
        ({"item": 1, "edit_valid": "invalid", "pcs": 0}, "an invalid edit has no scores"),
        ({"item": 1, "verdict": 1}, "verdict: Extra inputs are not permitted"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    key: dict[int, KeyRow], tmp_path: Path, label: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as error:
        read_labels([page(tmp_path, "Ann", label)], key)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "Invalid JSON"),
        ('{"format": "cfeval-labels-1"}', "sheet: Field required"),
        ('{"format": "cfeval-labels-9"}', "format: Input should be 'cfeval-labels-1'"),
        ('{"labels": ' + "[" * 100_000, "Invalid JSON"),
        ('{"format": "cfeval-labels-1", "sheet": "\\ud800"}', "Invalid JSON"),
    ],
)
def test_a_json_file_that_the_page_did_not_save_is_refused(
    key: dict[int, KeyRow], tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=said):
        read_labels([tmp_path / "x.json"], key)


@pytest.mark.parametrize(
    ("header", "line", "said"),
    [
        (
            HEADER,
            f"{OTHER},1,Ann,…,valid,,,,,,",
            "line 2: labels of the sheet bbbbbbbbbbbb, but the key is that of aaaa",
        ),
        (HEADER, ",1,Ann,…,valid,,,,,,", r"labels of the sheet \(none\)"),
        (HEADER, f"{SHEET},x,Ann,…,valid,,,,,,", "item: Input should be a valid integer"),
        (HEADER, f"{SHEET},1,Ann,valid", "line 2: 4 columns, and the header has"),
        (HEADER, f"{SHEET},1,Ann,…,valid,,,,,,,,", "line 2: 18 columns, and the header has"),
        (HEADER, f"{SHEET},1,{'A' * 41},…,valid,,,,,,", "rater: String should have at most 40"),
        ("sheet,item,rater,edit-valid", f"{SHEET},1,Ann,valid", "not the CSV of a sheet; its columns are"),
        ("item,rater", "1,Ann", "not the CSV of a sheet"),
        (HEADER, f'{SHEET},1,Ann,"{"q" * 140_000}', "line 2: a quote stands in a cell or is not closed"),
    ],
)
def test_a_csv_that_does_not_fit_is_refused(
    key: dict[int, KeyRow], tmp_path: Path, header: str, line: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read_labels([table(tmp_path, line, header=header)], key)


def test_the_same_person_twice_is_refused(key: dict[int, KeyRow], tmp_path: Path) -> None:
    label = {"item": 1, "edit_valid": "valid"}
    two = [page(tmp_path, "Ann", label), page(tmp_path, "ANN", {"item": 2, "edit_valid": "valid"})]
    with pytest.raises(InputError, match=r"labels of 'ANN' are in .*Ann.json too"):
        read_labels(two, key)
    with pytest.raises(InputError, match=r"labels of 'Ann' are in .*Ann.json too"):
        read_labels(two[:1] * 2, key)
    with pytest.raises(InputError, match="item 1 has labels of 'Ann' already"):
        read_labels([page(tmp_path, "Ann", label, label)], key)


def test_labels_of_another_sheet_and_of_another_kind_of_file_are_refused(
    key: dict[int, KeyRow], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="labels of the sheet bbbbbbbbbbbb"):
        read_labels([page(tmp_path, "Ann", sheet=OTHER)], key)
    with pytest.raises(InputError, match=r"labels are \.json"):
        read_labels([tmp_path / "labels.xlsx"], key)
    with pytest.raises(InputError, match="no such file"):
        read_labels([tmp_path / "nobody.json"], key)


def test_a_key_is_of_one_sheet(key: dict[int, KeyRow], tmp_path: Path) -> None:
    rows = [*key.values(), key[1].model_copy(update={"item": 4, "sheet": OTHER})]
    for wrong, said in ((rows, "several sheets"), ([], "has no items"), ([key[1], key[1]], "an item twice")):
        write_csv(tmp_path / "x.csv", KeyRow, wrong)
        with pytest.raises(InputError, match=said):
            read_key(tmp_path / "x.csv")
