"""What files were made from, and which of it is another now, as the jobs' sidecars say."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cfeval.audit.making import Made, made
from cfeval.audit.revisions import WorkingFolder
from tests.audit.studies import JUDGED, PLAN, made_of, put

LAX = '{"plugin": "grammar", "threshold": 0.8}'
LEXICAL = '{"plugin": "lexical"}'


def compared(tmp_path: Path, old: Any, new: Any, results: str = "results") -> list[Made]:
    """What is said about the files of two folders of results, by place."""
    for side, root, of in (("old", "results", old), ("new", results, new)):
        for place, content in of.items():
            put(tmp_path / side, content, place, root)
    return made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new", results), "edct", pytest.fail)


def reasons(tmp_path: Path, old: Any, new: Any, results: str = "results") -> set[str]:
    """Why the one file is not made as it was."""
    found = compared(tmp_path, {JUDGED: old}, {JUDGED: new}, results)
    assert [(one.stage, one.files, set(one.why.values())) for one in found] in ([], [("edct.verdicts", 1, {1})])
    return {why for one in found for why in one.why}


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"command": ["--judge", LAX, "--seed", "1"]}, {"judge.threshold 0.5 → 0.8"}),
        ({"command": [f"--judge={LAX}", "--seed", "1"]}, {"judge.threshold 0.5 → 0.8"}),
        (
            {"command": ["--judge", LEXICAL, "--seed", "1"]},
            {"judge.plugin grammar → lexical", "judge.threshold 0.5 → —"},
        ),
        (
            {"command": ["--judge=", "--seed", "2", "--strict"]},
            {"judge.plugin grammar → —", "judge.threshold 0.5 → —", "judge — → ", "seed 1 → 2", "strict — → true"},
        ),
        ({"code": {"edct.verdicts": "a", "judges:grammar": "other"}}, {"code of judges:grammar changed"}),
        (
            {"code": {"edct.verdicts": "a", "judges:lexical": "b"}},
            {"code of judges:lexical new", "code of judges:grammar no longer used"},
        ),
        (
            {"files": {**PLAN["files"], "cfeval:prompts/edct/judge.txt": "other"}},
            {"cfeval:prompts/edct/judge.txt changed"},
        ),
        ({"files": {"cfeval:prompts/edct/judge.txt": "c"}}, {"data/models/vlm no longer used"}),
        ({"versions": {"python": "3.12", "torch": "2.1"}}, {"python 3.11 → 3.12"}),
        ({"versions": {"python": "3.11", "torch": "2.2", "lpips": "1"}}, {"torch 2.1 → 2.2", "lpips — → 1"}),
    ],
    ids=[
        *("a parameter", "in one word", "another plugin", "other options", "code", "other code"),
        *("a prompt", "weights", "Python", "packages"),
    ],
)
def test_a_sidecar_tells_why_its_file_was_made_otherwise(tmp_path: Path, plan: dict[str, Any], why: set[str]) -> None:
    assert reasons(tmp_path, made_of(), made_of(sha="2", **plan)) == why


def test_another_answer_to_the_same_question_is_said_to_be_one(tmp_path: Path) -> None:
    why = {"came out differently from the same inputs, parameters and code"}
    assert reasons(tmp_path, made_of(), made_of(sha="2")) == why


def test_what_merely_follows_from_another_result_is_no_cause(tmp_path: Path) -> None:
    assert reasons(tmp_path, made_of(), made_of(sha="2", after="3")) == set()


def test_where_results_lie_is_no_cause(tmp_path: Path) -> None:
    assert reasons(tmp_path, made_of(), made_of(results="results/lax"), "results/lax") == set()
    assert reasons(tmp_path, made_of(), made_of(results="once/elsewhere")) == set()


def test_a_condition_more_in_a_list_is_one_condition_more(tmp_path: Path) -> None:
    conditions = [{"vlm": name, "judge": "j"} for name in "abc"]
    plans = [
        made_of(command=["table1", "--conditions", json.dumps(of)], stage="edct.table")
        for of in (conditions[1:2], conditions)
    ]
    [found] = compared(tmp_path, {JUDGED: plans[0]}, {JUDGED: plans[1]})
    assert found == Made("edct.table", 1, {"conditions: 2 new": 1})


def test_files_are_counted_by_stage_and_images_are_none(tmp_path: Path) -> None:
    def sharded(**plan: Any) -> Any:
        made = made_of("edct/items/w/000.jsonl", **{"stage": "edct.items", **plan})
        root = "results/edct/items/w"
        return {**made, "outputs": {**made["outputs"], f"{root}/001.jsonl": "1", f"{root}/000/": "2"}}

    places = [f"edct/verdicts/{name}.jsonl" for name in ("same", "other")]
    old = {"edct/items/w/000.jsonl": sharded(), **{place: made_of(place) for place in places}}
    new = {
        **{"edct/items/w/000.jsonl": sharded(command=["--seed", "2"])},
        **{places[0]: made_of(places[0]), places[1]: made_of(places[1], code={**PLAN["code"], "edct.verdicts": "x"})},
    }
    samples, verdicts = compared(tmp_path, old, new)
    assert (samples.stage, samples.files, samples.why["seed 1 → 2"]) == ("edct.items", 2, 2)
    assert verdicts == Made("edct.verdicts", 2, {"code of edct.verdicts changed": 1})


def test_files_of_one_side_alone_are_new_or_gone(tmp_path: Path) -> None:
    a, b, c = (f"edct/verdicts/{name}.jsonl" for name in "abc")
    found = compared(tmp_path, {a: made_of(a), b: made_of(b)}, {b: made_of(b), c: made_of(c)})
    assert found == [Made("edct.verdicts", 3, {"new": 1, "gone": 1})]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"plan": 1}', json.dumps(made_of("edct/other.jsonl")), "\x00"])
def test_a_folder_with_a_sidecar_that_cannot_be_read_is_not_compared(tmp_path: Path, content: str) -> None:
    said: list[str] = []
    for side in ("old", "new"):
        put(tmp_path / side, made_of())
    put(tmp_path / "new", made_of()).write_text(content)
    assert made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct", said.append) == []
    [line] = said
    assert line.startswith(f"results/{JUDGED}.made.json of the working folder ")
    assert line.endswith("; snakemake writes it anew")


def test_results_without_sidecars_are_not_said_to_be_new(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "old/results/edct/verdicts").mkdir(parents=True)
    (tmp_path / "old/results/edct/verdicts/d.jsonl").touch()
    put(tmp_path / "new", made_of())
    assert made(WorkingFolder(tmp_path / "old"), WorkingFolder(tmp_path / "new"), "edct", said.append) == []
    lacking = "has no provenance records: nothing tells what its files were made from"
    assert said == [f"results/edct of the working folder {lacking}"]


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
                place = f"edct/verdicts/{number // 100}/{number}.jsonl"
                file = put(tmp_path / f"{jobs}" / side, made_of(place, command=["--judge", LAX, "--seed", side]), place)
                file.with_name(f"{number}.jsonl").touch()
                file.with_name(f"{number}").mkdir()
        sides = [Watched(tmp_path / f"{jobs}" / side) for side in ("old", "new")]
        looked.clear()
        tracemalloc.start()
        assert made(sides[0], sides[1], "edct", pytest.fail) == [Made("edct.verdicts", jobs, {"seed old → new": jobs})]
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not any(folder.count("/") > 3 for folder in looked)
        return highest

    peak(10)
    assert peak(500) < 1.5 * peak(50) + 200_000
