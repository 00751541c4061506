"""Untouched results pass, and whatever is changed in them is found, by the command as an auditor runs it."""

import csv
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.records import Record, Status
from cfeval.edct.asked import AskedTable
from cfeval.edct.files import STAGES
from cfeval.edct.labelling.records import Label
from cfeval.edct.records import Condition
from cfeval.stats.intervals import Interval
from tests.conftest import Run
from tests.edct.tables.study import write_tables
from tests.edct.verification.study import (
    BLANK,
    BY_EDITOR,
    CHAINED,
    CONDITIONS,
    IMAGES,
    NULL,
    PLAIN,
    UNCITED,
    Study,
    edited,
)
from tests.edct.verification.tamper import Results
from tests.listed import TABLES as LISTED
from tests.slow import first_fast

Change = Callable[[Results], object]
JSONL = [stage for stage in STAGES if stage != "scores"]
OTHERS = [Status.MODERATED, Status.TRANSPORT_ERROR]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("study") / "results"
    Study(results)
    return results


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Results:
    """A copy to change."""
    return Results(Path(shutil.copytree(made, tmp_path / "results")))


def faults(cfeval: Run, results: Results, *options: object) -> str:
    """What is printed about results that do not hold."""
    status, out, err = cfeval("verify", "--results", results.folder, "--limit", 500, *options)
    assert status == 2, out
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    return out


def test_untouched_results_pass_and_the_links_of_every_kind_are_counted(cfeval: Run, results: Results) -> None:
    status, out, err = cfeval("verify", "--results", results.folder)
    assert (status, err) == (0, ""), out
    assert "3 conditions, 26 items and edits" in out
    assert all(f"{kind} " in out for kind in (*STAGES, "images", "calls", "texts"))
    assert "\nfine, but without records: " in out


def test_results_in_shards_pass_as_well(cfeval: Run, tmp_path: Path) -> None:
    Study(tmp_path / "results", shards=3)
    status, out, _ = cfeval("verify", "--results", tmp_path / "results")
    assert status == 0, out
    assert "3 conditions, 26 items and edits" in out


OF_IMAGES = {
    "an original": (
        lambda r: r.place("items", "b.png", 77),
        "items/d.jsonl, item 'b': its image 'b.png' is another",
    ),
    "an edited one": (
        lambda r: r.place("counterfactuals", "a-1.png", 77),
        "edct-2025.jsonl, item 'a', edit 1: its image",
    ),
    "a rejected try": (
        lambda r: r.place("counterfactuals", "g-2-try1.png", 77, CHAINED),
        "e/edct-bench-2026.jsonl, item 'g', edit 2: its image 'g-2-try1.png' is another",
    ),
    "a deleted mask": (
        lambda r: r.image("checks", "f-1-mask.png").unlink(),
        "checks/d/m/w/e/edct-2025.jsonl, item 'f', edit 1: its image 'f-1-mask.png' cannot be read",
    ),
    "an image more": (
        lambda r: r.place("checks", "z.png", 1),
        "checks/d/m/w/e/edct-2025.jsonl: no line names the image z",
    ),
    "one elsewhere": (
        lambda r: r.alter("counterfactuals", "a", image={"path": "../../x.png"}),
        "its image '../../x.png' would lie outside its folder",
    ),
    "the original as edited": (
        lambda r: (
            r.alter("counterfactuals", "a", image={"sha256": IMAGES["a"].sha256}),
            r.image("counterfactuals", "a-1.png").write_bytes(IMAGES["a"].png),
        ),
        "it is ok, and the image is the one it was to change",
    ),
    "a rejected try as the result": (
        lambda r: r.alter("counterfactuals", "a", 1, CHAINED, image={"path": "a-1-try1.png"}, attempts=_swapped(r)),
        "its image is not that of the last try",
    ),
    "that of another edit": (
        lambda r: r.alter(
            "counterfactuals", "a", image={"path": "g-1.png", "sha256": edited(CONDITIONS[0], "g", 1).sha256}
        ),
        "requeries/d/m/w/e/edct-2025.jsonl, item 'a', edit 1: a call of it is not about its image",
    ),
}


def _swapped(results: Results) -> object:
    lines = results.file("counterfactuals", CHAINED).read_text().splitlines()
    return next(json.loads(line)["attempts"] for line in lines)[::-1]


@pytest.mark.parametrize(("change", "words"), first_fast(OF_IMAGES.values(), 3), ids=OF_IMAGES)
def test_a_changed_image_is_found(cfeval: Run, results: Results, change: Change, words: str) -> None:
    change(results)
    assert words in faults(cfeval, results)


TEXT = {
    "answer": (
        lambda r: r.alter("baselines", "a", answer="It is blue."),
        "baselines/d/m.jsonl, item 'a': no call replied its answer",
    ),
    "explanation": (
        lambda r: r.alter("baselines", "a", explanation="Because."),
        "item 'a', edit 1: no call of it holds the explanation",
    ),
    "question": (
        lambda r: r.alter("items", "a", question="Who?"),
        "item 'a': its question is not that of the sample",
    ),
    "both questions": (
        lambda r: (r.alter("items", "a", question="Who?"), r.alter("baselines", "a", question="Who?")),
        "item 'a': no call of it holds the question",
    ),
    "writer's reply": (
        lambda r: r.alter("instructions", "a", completion="Nothing."),
        "edit 1: a call of it replied something else",
    ),
    "new answer": (
        lambda r: r.alter("requeries", "a", answer="It is red."),
        "requeries/d/m/w/e/edct-2025.jsonl, item 'a', edit 1: no call",
    ),
    "new explanation": (
        lambda r: r.alter("requeries", "a", explanation="No."),
        "verdicts/d/m/w/e/j/edct-2025.jsonl, item 'a'",
    ),
    "judge's reply": (lambda r: r.alter("verdicts", "a", completion="Bad."), "a call of it replied something else"),
    "no instruction": (lambda r: r.alter("instructions", "a", positive=""), "it is ok, and tells no edit"),
    "no explanation": (lambda r: r.alter("requeries", "a", explanation=" "), "answer or explanation is empty"),
    "one of a failure": (lambda r: r.alter("requeries", "e", explanation="So."), "it failed, and has an explanation"),
}


@pytest.mark.parametrize(("change", "words"), first_fast(TEXT.values(), 4), ids=TEXT)
def test_a_changed_text_is_found(cfeval: Run, results: Results, change: Change, words: str) -> None:
    change(results)
    assert words in faults(cfeval, results)


GONE_ON: dict[str, tuple[str, dict[str, Any]]] = {
    "instructions": ("b", {"positive": "Make it red."}),
    "requeries": ("d", {"answer": "It is red.", "explanation": "So."}),
    "verdicts": ("e", {"scores": {"pcs": 1, "ncc": 1}}),
    "scores": ("f", {"pcs": 1, "ncc": 1, "ccs": 1}),
}


@pytest.mark.parametrize("stage", GONE_ON)
def test_whatever_goes_on_after_a_failure_is_found(cfeval: Run, results: Results, stage: str) -> None:
    item, fields = GONE_ON[stage]
    results.alter(stage, item, status="ok", stage="", reason="", **fields)
    words = "status is 'ok', not 'unparsable'" if stage == "scores" else "it goes on, although the item had ended"
    assert words in faults(cfeval, results)


def test_an_edit_after_one_that_has_no_image_is_found(cfeval: Run, results: Results) -> None:
    ended: dict[str, Any] = {
        "status": "edit_invalid",
        "stage": "counterfactuals",
        "reason": "why",
        "image": None,
        "attempts": [],
    }
    results.alter("counterfactuals", "a", 1, CHAINED, **ended)
    out = faults(cfeval, results)
    assert "item 'a', edit 2: it goes on, although edit 1 has no image (edit_invalid)" in out


@pytest.mark.parametrize("stage", [stage for stage in JSONL if stage != "items"])
@pytest.mark.parametrize("status", OTHERS)
def test_a_failure_that_turns_into_another_one_is_found(
    cfeval: Run, results: Results, stage: str, status: Status
) -> None:
    results.alter(stage, "b", status=status)
    assert f"{stage}/d/m" in (out := faults(cfeval, results)) or "instructions/d/m" in out
    assert "item 'b'" in out
    assert "it ends in another way than the stage before says" in out or "status is" in out


@pytest.mark.parametrize("stage", first_fast(STAGES, 4))
def test_a_line_that_is_gone_or_stands_twice_or_elsewhere_is_found(cfeval: Run, results: Results, stage: str) -> None:
    path = results.file(stage)
    before = path.read_text()
    results.drop(stage, "c")
    assert "item 'c'" in (out := faults(cfeval, results))
    assert "its line is missing" in out or "the stage before has no such item and edit" in out
    path.write_text(before)
    results.twice(stage, "d")
    assert "item 'd'" in (out := faults(cfeval, results))
    assert "it stands there 2 times" in out
    path.write_text(before)
    results.lines(stage, lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]])
    assert "from here on, the order is not that of the stage before" in faults(cfeval, results)


def test_a_line_that_no_stage_before_has_is_found(cfeval: Run, results: Results) -> None:
    results.lines("verdicts", lambda lines: [*lines, json.dumps(json.loads(lines[0]) | {"id": "z"}) + "\n"])
    assert "item 'z', edit 1: the stage before has no such item and edit" in faults(cfeval, results)


@pytest.mark.parametrize("stage", STAGES)
def test_a_file_that_is_gone_or_broken_is_found(cfeval: Run, results: Results, stage: str) -> None:
    path = results.file(stage)
    whole = path.read_bytes()
    for content in (None, whole[:-20] + b"\xff\xfe", whole.replace(b"id", b"ix"), whole + b'"\r'):
        path.unlink() if content is None else path.write_bytes(content)
        out = faults(cfeval, results)
        assert out.count("FAIL") == out.count(f"FAIL a file: {path}") == 1


def test_a_call_that_is_gone_or_changed_is_found(cfeval: Run, results: Results) -> None:
    archive = results.folder / "calls" / "calls.zip"
    with zipfile.ZipFile(archive) as old:
        index = old.read("calls.jsonl").decode().splitlines(keepends=True)
    first = next(line for line in index if "It is red." in line)
    for lines, words in [
        ([line for line in index if line != first], "item 'a': its call"),
        ([line.replace("It is red.", "It is odd.") for line in index], "was changed after it was stored"),
    ]:
        with zipfile.ZipFile(archive, "w") as new:
            new.writestr("calls.jsonl", "".join(lines))
        out = faults(cfeval, results)
        assert words in out
    archive.unlink()
    out = faults(cfeval, results)
    assert "item 'a': its call" in out
    assert "by --calls or --cache" in out


def test_the_calls_may_lie_in_a_store_instead(cfeval: Run, results: Results, made: Path, tmp_path: Path) -> None:
    moved = (results.folder / "calls" / "calls.zip").rename(tmp_path / "calls.zip")
    for place in (("--calls", moved), ("--cache", made.parent / "calls.sqlite")):
        assert cfeval("verify", "--results", results.folder, *place)[0] == 0
    status, out, err = cfeval("verify", "--results", results.folder, "--calls", tmp_path / "none.zip")
    assert (status, out, "--calls: no file" in err) == (2, "", True)


@pytest.fixture(scope="module")
def with_controls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a study with all controls."""
    results = tmp_path_factory.mktemp("controlled") / "results"
    Study(results, (*CONDITIONS, BY_EDITOR, UNCITED, BLANK))
    return results


CONTROLLED = ("card", "faithfulness", "controls")
OF_A_CONDITION = ("table1", "table2", "bench", *CONTROLLED)


def made_table(results: Path, name: str, out: Path, **more: Any) -> list[dict[str, str]]:
    """A table as the step makes it, `out` its name without an ending; its rows."""
    shown = (CHAINED if name == "bench" else PLAIN,)
    beside = (NULL, BY_EDITOR, UNCITED, BLANK) if name in CONTROLLED else ()
    made = out.with_name("tables")
    write_tables(made, results, {name: AskedTable(conditions=shown, beside=beside, **more)}, interval=Interval())
    table = shutil.copy(made / f"edct_{name}.csv", f"{out}.csv")
    with Path(table).open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def written(table: Path, rows: list[dict[str, str]]) -> Path:
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return table


@pytest.mark.parametrize("name", first_fast(OF_A_CONDITION, 2))
def test_every_column_of_a_table_with_one_condition_a_row_is_made_anew(
    cfeval: Run, with_controls: Path, tmp_path: Path, name: str
) -> None:
    [row] = made_table(with_controls, name, tmp_path / "table")
    checked = ("verify", "--results", with_controls, "--table", tmp_path / "other.csv", "--limit", 500)
    written(tmp_path / "other.csv", [row])
    assert cfeval(*checked, "--interval", "{}")[0] == 0
    changed = {column: f"{cell}9" for column, cell in row.items() if column not in Condition.model_fields}
    written(tmp_path / "other.csv", [row | changed])
    for options in ((), ("--interval", "{}")):
        out = cfeval(*checked, *options)[1]
        found = {column for column in row if f": {column} is " in out}
        left = {column for column in changed if column.startswith("paper_") or column == "test_world"}
        limits = set() if options else {column for column in changed if column == "ci" or column[-3:] in ("_lo", "_hi")}
        assert found == changed.keys() - left - limits


def test_figures_that_rest_on_a_judges_exam_are_made_anew_with_it(
    cfeval: Run, with_controls: Path, tmp_path: Path
) -> None:
    assert cfeval("edct", "exam", "--judge", '{"plugin": "lexical"}', "--out", tmp_path / "exam")[0] == 1
    taken = {"j": str(tmp_path / "exam.csv")}
    exams = ("--exams", json.dumps(taken))
    [row] = made_table(with_controls, "faithfulness", tmp_path / "table", exams=taken)
    assert row["exam_sensitivity"] > "0"
    assert "hedge 5 of 9" in row["exam_errors"]
    checked = ("verify", "--results", with_controls, "--table", tmp_path / "table.csv", "--limit", 500)
    assert cfeval(*checked, *exams)[0] == 0
    status, out, _ = cfeval(*checked)
    assert (status, "exam_sensitivity is " in out) == (2, True)


def test_a_row_of_a_condition_without_scores_is_found(cfeval: Run, with_controls: Path, tmp_path: Path) -> None:
    [row] = made_table(with_controls, "table1", tmp_path / "table")
    table = written(tmp_path / "other.csv", [row | {"judge": "other"}])
    status, out, _ = cfeval("verify", "--results", with_controls, "--table", table)
    assert (status, "no scores of the condition d/m/w/edct-2025/e/other" in out) == (2, True)


KINDS = {name: LISTED["edct"][name].row() for name in LISTED["edct"]}


def columns(table: Path, kind: type[Record]) -> None:
    """A table with every column of a kind of row."""
    known = PLAIN.model_dump() | {"n": 7, "n_scored": 2}
    cells = [str(known.get(name, "")) for name in kind.model_fields]
    table.write_text(f"{','.join(kind.model_fields)}\n{','.join(cells)}\n")


@pytest.mark.parametrize(
    "name", [*(name for name in LISTED["edct"] if name not in (*OF_A_CONDITION, "pairs")), "of something else"]
)
def test_any_other_table_is_refused_with_the_names_of_those_that_can_be_checked(
    cfeval: Run, results: Results, tmp_path: Path, name: str
) -> None:
    table = tmp_path / "table.csv"
    columns(table, KINDS.get(name, Label))
    words = f"{table} has not one condition a row; table1, table2, bench, card, faithfulness, controls and pairs can"
    for lines in (2, 1, 0):
        table.write_text("".join(table.read_text().splitlines(keepends=True)[:lines]))
        status, out, err = cfeval("verify", "--results", results.folder, "--table", table)
        assert (status, out, len(err.splitlines()), words in err) == (2, "", 1, True)


def test_only_the_conditions_that_are_named_are_checked(cfeval: Run, results: Results) -> None:
    results.alter("scores", "a", 1, NULL, answer_moved=1)
    conditions = json.dumps([CONDITIONS[0].model_dump()])
    status, out, _ = cfeval("verify", "--results", results.folder, "--conditions", conditions)
    assert (status, "1 conditions, 7 items" in out) == (0, True)
    other = json.dumps([CONDITIONS[0].model_dump() | {"judge": "nobody"}])
    status, _, err = cfeval("verify", "--results", results.folder, "--conditions", other)
    assert (status, "no verdicts and no scores of the condition d/m/w/edct-2025/e/nobody" in err) == (2, True)


def test_files_that_no_scored_condition_rests_on_are_named(cfeval: Run, results: Results) -> None:
    assert "not looked at" not in cfeval("verify", "--results", results.folder)[1]
    other = shutil.copy(results.file("requeries"), results.file("requeries").with_name("other.jsonl"))
    status, out, _ = cfeval("verify", "--results", results.folder)
    assert (status, f"1 files, such as {other}" in out) == (0, True)


def test_a_folder_without_results_and_an_unknown_protocol_are_one_line(cfeval: Run, tmp_path: Path) -> None:
    status, out, err = cfeval("verify", "--results", tmp_path)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    (tmp_path / "verdicts/d/m/w/e/j").mkdir(parents=True)
    (tmp_path / "verdicts/d/m/w/e/j/p.jsonl").touch()
    assert "no protocol 'p'; allowed: edct-2025" in cfeval("verify", "--results", tmp_path)[2]


def test_faults_are_printed_up_to_a_limit_and_counted_beyond(cfeval: Run, results: Results) -> None:
    results.file("requeries").write_text("")
    status, out, err = cfeval("verify", "--results", results.folder, "--limit", 2)
    assert (status, out.count("FAIL")) == (2, 3)
    assert "more; see --limit" in out
    assert " of " in err
    assert "links do not hold" in err
