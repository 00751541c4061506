"""What files were made from, and which of it is another now, as the records beside them say."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cfeval.study.causes import Made, made
from cfeval.study.revisions import WorkingFolder
from tests.study.studies import JUDGED, STEP, put, step

LAX = {"plugin": "grammar", "threshold": 0.8}
VERDICTS, GRAMMAR = STEP["code"]
PROMPT, WEIGHTS = STEP["inputs"]
Steps = dict[str, list[Any]]


def compared(tmp_path: Path, old: Steps, new: Steps, results: str = "results") -> list[Made]:
    """What is said about the files of two folders of results, by place."""
    for side, root, of in (("old", "results", old), ("new", results, new)):
        for place, steps in of.items():
            put(tmp_path / side, *steps, place=place, results=root)
    return made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new", results), "edct", pytest.fail)


def reasons(tmp_path: Path, old: Any, new: Any, results: str = "results") -> set[str]:
    """Why the one file is not made as it was."""
    found = compared(tmp_path, {JUDGED: [old]}, {JUDGED: [new]}, results)
    assert [(one.step, one.files, set(one.why.values())) for one in found] in ([], [("edct.verdicts", 1, {1})])
    return {why for one in found for why in one.why}


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"options": {"--judge": LAX, "--seed": "1"}}, {"judge.threshold 0.5 → 0.8"}),
        (
            {"options": {"--judge": {"plugin": "lexical"}, "--seed": "1"}},
            {"judge.plugin grammar → lexical", "judge.threshold 0.5 → —"},
        ),
        (
            {"options": {"--judge": "", "--seed": "2", "--strict": []}},
            {"judge.plugin grammar → —", "judge.threshold 0.5 → —", "judge — → ", "seed 1 → 2", "strict — → true"},
        ),
        ({"code": {VERDICTS: "a", GRAMMAR: "other"}}, {f"code of {GRAMMAR} changed"}),
        (
            {"code": {VERDICTS: "a", "ours.lexical": "b"}},
            {"code of ours.lexical new", f"code of {GRAMMAR} no longer used"},
        ),
        ({"code": {**STEP["code"], **dict.fromkeys("pqrs", "x")}}, {"code of 4 modules new"}),
        ({"inputs": {**STEP["inputs"], PROMPT: "other"}}, {f"{PROMPT} changed"}),
        ({"inputs": {PROMPT: "c"}}, {f"{WEIGHTS} no longer used"}),
        ({"inputs": {**STEP["inputs"], "prompts/judge.md": None}}, set()),
        ({"packages": {"python": "3.12", "torch": "2.1"}}, {"python 3.11 → 3.12"}),
        ({"packages": {"python": "3.11", "torch": "2.2", "lpips": "1"}}, {"torch 2.1 → 2.2", "lpips — → 1"}),
        ({"of": "pair-verdicts"}, {"command edct verdicts → edct pair-verdicts"}),
    ],
    ids=[
        *("a parameter", "another plugin", "other options", "code", "other code", "much code"),
        *("a prompt", "weights", "a file that is still not there", "Python", "packages", "another step"),
    ],
)
def test_a_record_tells_why_its_file_was_made_otherwise(tmp_path: Path, parts: dict[str, Any], why: set[str]) -> None:
    found = compared(tmp_path, {JUDGED: [step()]}, {JUDGED: [step(sha="2", **parts)]})
    unexplained = {"came out differently from the same inputs, parameters and code"}
    assert {reason for one in found for reason in one.why} == (why or unexplained)


def test_the_modules_whose_code_differs_are_named_once(tmp_path: Path) -> None:
    other = {**STEP["code"], GRAMMAR: "x", "ours": "y"}
    [found] = compared(tmp_path, {JUDGED: [step()]}, {JUDGED: [step(code=other)]})
    assert found.code == (GRAMMAR, "ours")


def test_another_answer_to_the_same_question_is_said_to_be_one(tmp_path: Path) -> None:
    why = {"came out differently from the same inputs, parameters and code"}
    assert reasons(tmp_path, step(), step(sha="2")) == why


def test_what_merely_follows_from_another_result_is_no_cause(tmp_path: Path) -> None:
    assert reasons(tmp_path, step(), step(sha="2", after="3")) == set()


def test_where_results_lie_is_no_cause(tmp_path: Path) -> None:
    assert reasons(tmp_path, step(), step(results="results/lax"), "results/lax") == set()
    assert reasons(tmp_path, step(), step(results="once/elsewhere")) == set()


def test_parameters_of_a_whole_study_are_told_by_name_and_conditions_are_counted(tmp_path: Path) -> None:
    conditions = [{"vlm": name, "judge": "j"} for name in "abc"]
    tables = "edct/tables"

    def record(study: Any) -> dict[str, Any]:
        options = {"": ["edct", "tables"], "--results": "results/edct", "--study": study, "--out": f"results/{tables}"}
        of_table = {f"results/{tables}/edct_table1.{ending}": "1" for ending in ("csv", "md")}
        return {**STEP, "options": options, "outputs": of_table}

    old = {"interval": {"resamples": 100}, "tables": {"table1": {"conditions": conditions[1:2]}}}
    new = {"tables": {"table1": {"conditions": conditions}, "bench": {"conditions": conditions[:1]}}, "shards": 2}
    [found] = compared(tmp_path, {tables: [record(old)]}, {tables: [record(new)]})
    assert found == Made(
        "edct.tables",
        2,
        {
            "study.interval.resamples 100 → —": 2,
            "study.shards — → 2": 2,
            "study.tables.bench.conditions: 1 new": 2,
            "study.tables.table1.conditions: 2 new": 2,
        },
    )


def test_files_are_counted_by_step_and_images_are_none(tmp_path: Path) -> None:
    def sharded(seed: str) -> Any:
        root = "results/edct/items/w"
        outputs = {f"{root}/000.jsonl": "1", f"{root}/001.jsonl": "1", f"{root}/000/": "2"}
        options = {"": ["edct", "items"], "--seed": seed, "--out": f"{root}.jsonl"}
        return {**STEP, "options": options, "outputs": outputs}

    same, other, items = "edct/verdicts/same", "edct/verdicts/other", "edct/items/w.jsonl"
    old = {items: [sharded("1")], same: [step(same)], other: [step(other)]}
    code = {**STEP["code"], VERDICTS: "x"}
    new = {items: [sharded("2")], same: [step(same)], other: [step(other, code=code)]}
    samples, verdicts = compared(tmp_path, old, new)
    assert (samples.step, samples.files, samples.why["seed 1 → 2"]) == ("edct.items", 2, 2)
    assert verdicts == Made("edct.verdicts", 2, {f"code of {VERDICTS} changed": 1}, (VERDICTS,))


def test_each_protocol_of_a_command_is_a_step_of_its_own(tmp_path: Path) -> None:
    old = [step(protocol=name) for name in ("blank-image", "edct-2025", "null-edit")]
    new = [step(protocol="edct-2025", sha="2", packages={}), step(protocol="null-edit"), step(protocol="uncited-edit")]
    found = compared(tmp_path, {JUDGED: old}, {JUDGED: new})
    assert found == [Made("edct.verdicts", 4, {"gone": 1, "python 3.11 → —": 1, "torch 2.1 → —": 1, "new": 1})]


def test_files_of_one_side_alone_are_new_or_gone(tmp_path: Path) -> None:
    a, b, c = (f"edct/verdicts/{name}" for name in "abc")
    found = compared(tmp_path, {a: [step(a)], b: [step(b)]}, {b: [step(b)], c: [step(c)]})
    assert found == [Made("edct.verdicts", 3, {"new": 1, "gone": 1})]


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"steps": []}', '{"steps": [1]}', '{"plan": 1}', "\x00"),
        json.dumps({"steps": [{name: part for name, part in step().items() if name != "code"}]}),
        json.dumps({"steps": [step("edct/other")]}),
        json.dumps({"steps": [step() | {"outputs": {"results/edct/other.csv": "1"}}]}),
    ],
)
def test_a_folder_with_a_record_that_cannot_be_read_is_not_compared(tmp_path: Path, content: str) -> None:
    said: list[str] = []
    for side in ("old", "new"):
        put(tmp_path / side, step())
    put(tmp_path / "new", step()).write_text(content)
    assert made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct", said.append) == []
    [line] = said
    assert line.startswith(f"results/{JUDGED}.made.json of the working folder ")
    assert line.endswith("; snakemake writes it anew")


def test_results_without_records_are_not_said_to_be_new(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "old/results/edct/verdicts").mkdir(parents=True)
    (tmp_path / "old/results/edct/verdicts/d.jsonl").touch()
    put(tmp_path / "new", step())
    assert made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct", said.append) == []
    assert said == ["results/edct of the working folder has no records: nothing tells what its files were made from"]


@pytest.mark.slow
def test_folders_of_images_are_not_looked_into_and_memory_does_not_grow(tmp_path: Path) -> None:
    looked: list[str] = []

    class Watched(WorkingFolder):
        def entries(self, folder: str) -> tuple[list[str], list[str]]:
            looked.append(folder)
            return super().entries(folder)

    def peak(jobs: int) -> int:
        for side in ("old", "new"):
            for number in range(jobs):
                place = f"edct/verdicts/{number // 100}/{number}"
                told = step(place, options={"--judge": LAX, "--seed": side})
                folder = put(tmp_path / f"{jobs}" / side, told, place=place).parent / f"{number}"
                (folder / "edct-2025").mkdir(parents=True)
                (folder / "edct-2025.jsonl").touch()
        sides = [Watched(tmp_path / f"{jobs}" / side) for side in ("old", "new")]
        looked.clear()
        tracemalloc.start()
        assert made(sides[0], sides[1], "edct", pytest.fail) == [Made("edct.verdicts", jobs, {"seed old → new": jobs})]
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not any(folder.endswith("edct-2025") for folder in looked)
        return highest

    peak(10)
    assert peak(500) < 1.5 * peak(50) + 200_000
