"""The gate's table: what passes, by what went wrong."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cfeval.core.jsonl import write_jsonl
from cfeval.core.records import ImageRef, Status
from cfeval.edct.asked import AskedTable
from cfeval.edct.files import stage_files
from cfeval.edct.records import Condition, Counterfactual, EditAttempt, Verification
from cfeval.edct.tables.reliability import GATE, GateRow
from cfeval.report.files import latex
from cfeval.report.tables import markdown
from tests.edct.tables.study import condition, made_of, write_tables

PLAIN, GATED = condition(editor="flawed"), condition(editor="flawed-gated")
OTHER = condition(editor="flawed-gated", vlm="prior")


def image(name: str) -> ImageRef:
    return ImageRef(path=f"{name}.png", sha256="0" * 64)


def plain(item: str, fault: str, status: Status = Status.OK) -> Counterfactual:
    made = image(item) if status == Status.OK else None
    return Counterfactual(id=item, image=made, seed=1, status=status, details={"fault": fault})


def gated(item: str, *faults: str, passes: bool = False) -> Counterfactual:
    """The attempts of an edit, each with its fault; `passes`: the last one is accepted."""
    tries = [
        EditAttempt(seed=n, image=image(f"{item}-try{n}"), found=Verification(), details={"fault": fault})
        for n, fault in enumerate(faults)
    ]
    status = Status.OK if passes else Status.EDIT_INVALID
    details = {"fault": faults[-1]}
    return Counterfactual(
        id=item,
        image=tries[-1].image if passes else None,
        seed=1,
        status=status,
        details=details,
        attempts=tuple(tries),
    )


RECORDS = {
    PLAIN: [plain("a", "none"), plain("b", "wrong_value"), plain("c", "no_op", Status.EDIT_INVALID)],
    GATED: [
        gated("a", "none", passes=True),
        gated("b", "wrong_value", "none", passes=True),
        gated("c", "no_op", "spill"),
    ],
    OTHER: [gated("b", "wrong_value", passes=True)],
}


def rows(of: Sequence[Condition] = tuple(RECORDS)) -> list[GateRow]:
    return GATE.rows(of, made_of([], counterfactuals=RECORDS))


def test_every_attempt_is_counted_by_its_fault_and_good_edits_come_first() -> None:
    found = [(row.editor, row.fault, row.n, row.accepted) for row in rows()]
    assert found == [
        ("flawed", "none", 1, 1),
        ("flawed", "no_op", 1, 0),
        ("flawed", "wrong_value", 1, 1),
        ("flawed-gated", "none", 2, 1),
        ("flawed-gated", "no_op", 1, 0),
        ("flawed-gated", "spill", 1, 0),
        ("flawed-gated", "wrong_value", 2, 0.5),
    ]


def test_the_interval_is_wilsons_and_no_share_is_sure() -> None:
    row = rows()[1]
    assert (row.accepted, row.accepted_lo, row.ci) == (0, 0, "Wilson 95 %")  # type: ignore[attr-defined]
    assert row.accepted_hi == pytest.approx(0.7935)  # type: ignore[attr-defined]


def test_judges_have_no_part_in_it_and_an_edit_is_counted_once() -> None:
    again = [one.model_copy(update={"judge": judge}) for one in RECORDS for judge in ("lexical", one.judge)]
    assert rows(again) == rows()


def test_edits_of_which_nothing_is_known_are_left_aside() -> None:
    unknown = Counterfactual(id="a", image=image("a"), seed=1)
    failed = Counterfactual(id="b", seed=1, status=Status.REFUSED)
    assert GATE.rows([PLAIN], made_of([], counterfactuals={PLAIN: [unknown, failed]})) == []


def test_readers_see_every_fault_with_its_interval() -> None:
    shown = GATE.render(rows())
    assert shown.headings == ("Editor", "Fault", "Edits", "Accepted")
    assert "| flawed-gated | wrong_value | 2 | 0.5000 [" in markdown(shown)
    assert latex(shown).isascii()
    assert "Empty: " in markdown(GATE.render([]))


def test_it_is_made_of_counterfactuals_however_they_are_cut(tmp_path: Path) -> None:
    for shards in (1, 2):
        for one, records in RECORDS.items():
            for number, file in enumerate(stage_files(tmp_path / f"{shards}", "counterfactuals", one, shards)):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_jsonl(file, [record for n, record in enumerate(records) if n % shards == number])
        write_tables(
            tmp_path / f"t{shards}",
            tmp_path / f"{shards}",
            {"gate": AskedTable(conditions=tuple(RECORDS))},
            shards=shards,
        )
    made, again = (tmp_path / f"t{shards}" / "edct_gate.csv" for shards in (1, 2))
    assert made.read_bytes() == again.read_bytes()
    assert made.read_text().count("\n") == 8
