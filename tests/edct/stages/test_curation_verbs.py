"""From candidates to a frozen set: `cfeval edct curation` and `select`, on drawn scenes and scripted models."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import read_jsonl
from cfeval.core.sampling import read_list
from cfeval.datasets.sample import Sample
from cfeval.edct.stages.curation import Decision
from tests.conftest import Run
from tests.data_files import SETS
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "curation.md").read_text(encoding="utf-8")
KEEP = {"plugin": "mock", "replies": ["Reason: it is seen\nKeep: 1"]}
WORLD = {"plugin": "world"}


class Desk:
    """Runs the verbs in a folder with a pool of drawn scenes."""

    def __init__(self, cfeval: Run, folder: Path) -> None:
        self.cfeval, self.folder = cfeval, folder
        self.pool = folder / "pool.jsonl"
        self.run("items", "--dataset", json.dumps(WORLD), "--items", 24, "--seed", 1, "--out", self.pool)

    def run(self, *arguments: object) -> str:
        """What a verb that ends well prints."""
        status, out, err = self.cfeval("edct", *arguments)
        assert status == 0, err
        return out

    def filter(self, model: dict[str, Any], *more: str, out: str = "decisions.jsonl") -> str:
        options = ["--samples", self.pool, "--model", json.dumps(model), "--seed", 1, "--out", self.folder / out]
        return self.run("curation", *options, *more)

    def select(self, *more: object, items: int = 12, seed: int = 1) -> str:
        options = ["--samples", self.pool, "--items", items, "--seed", seed, "--out", self.folder / "chosen.txt"]
        return self.run("selection", *options, *more)

    def chosen(self) -> list[str]:
        return list(read_list(self.folder / "chosen.txt"))

    def overrides(self, *lines: str) -> Path:
        path = self.folder / "overrides.csv"
        path.write_text("\n".join(("id,keep,reason,who", *lines)) + "\n")
        return path


@pytest.fixture
def desk(cfeval: Run, tmp_path: Path) -> Desk:
    return Desk(cfeval, tmp_path)


def row(printed: str, name: str) -> list[int]:
    """The figures of a line of the table."""
    [line] = [line.split() for line in printed.splitlines() if line.split()[:1] == [name]]
    return [int(word) for word in line[1:]]


def test_from_a_pool_to_a_study_of_the_chosen_items(desk: Desk) -> None:
    printed = desk.filter(KEEP | {"statuses": {"world-00002": "refused", "world-00008": "moderated"}})
    assert "24 candidates: 22 kept, 0 left out, 2 undecided (moderated 1, refused 1); decisions in" in printed
    decided = {one.id: one for one in read_jsonl(desk.folder / "decisions.jsonl", Decision)}
    assert decided["world-00000"].why == "it is seen"
    assert (decided["world-00002"].keep, decided["world-00002"].status) == (None, "refused")

    people = desk.overrides("world-00000,no,two objects fit,AB", "world-00002,yes,asks for a place,AB")
    files = ("--decisions", desk.folder / "decisions.jsonl", "--overrides", people)
    printed = desk.select(*files, "--per-image", 1)
    assert row(printed, "sum") == [24, 1, 22, 22, 12]
    chosen = desk.chosen()
    assert not {"world-00000", "world-00008"} & set(chosen)
    assert f"12 items frozen in {desk.folder / 'chosen.txt'} (SHA-256 " in printed

    frozen = {"plugin": "samples", "path": str(desk.pool), "ids": str(desk.folder / "chosen.txt")}
    options = ("--items", 12, "--seed", 1, "--out", desk.folder / "study.jsonl")
    desk.run("items", "--dataset", json.dumps(frozen), *options)
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == chosen

    changed = desk.pool.read_text().replace('"question": "', '"question": "Say, ')
    desk.pool.write_text(changed)
    status, _, err = desk.cfeval("edct", "items", "--dataset", json.dumps(frozen), *options)
    assert (status, f"chosen.txt: '{chosen[0]}' is not what was frozen" in err) == (2, True)
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == chosen, "what there was stays"


def shuffled(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[::2] + lines[1::2][::-1]))


def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_the_files(desk: Desk) -> None:
    desk.filter(KEEP)
    people = desk.overrides("world-00000,no,a,AB", "world-00001,no,b,AB", "world-00002,no,c,CD")
    files = ("--decisions", desk.folder / "decisions.jsonl", "--overrides", people)
    printed = desk.select(*files)
    before = (desk.folder / "chosen.txt").read_bytes()
    shuffled(desk.pool)
    shuffled(desk.folder / "decisions.jsonl")
    desk.overrides("world-00002,no,c,CD", "world-00000,no,a,AB", "world-00001,no,b,AB")
    assert desk.select(*files) == printed
    assert (desk.folder / "chosen.txt").read_bytes() == before
    desk.select(*files, seed=2)
    assert (desk.folder / "chosen.txt").read_bytes() != before


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_set_that_was_frozen_in_a_pool_is_taken_from_every_release(name: str, desk: Desk) -> None:
    release = {"plugin": name, **SETS[name](desk.folder)}
    options = ("--items", 6, "--seed", 1, "--out")
    desk.run("items", "--dataset", json.dumps(release), *options, desk.pool)
    kinds = {sample.kind for sample in read_jsonl(desk.pool, Sample)}
    printed = desk.select("--equal", items=3)
    assert all(f" {kind or '(none)'} " in printed for kind in kinds)
    frozen = release | {"ids": str(desk.folder / "chosen.txt")}
    desk.run("items", "--dataset", json.dumps(frozen), *options, desk.folder / "study.jsonl")
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == desk.chosen()


def test_strata_can_be_equal_or_left_out(desk: Desk) -> None:
    leave_out = [f"world-{number:05d},no,x,AB" for number in range(0, 24, 6)]
    printed = desk.select("--overrides", desk.overrides(*leave_out[1:]), "--equal", items=16)
    taken = sorted(row(printed, kind)[-1] for kind in ("color", "count", "position", "presence", "robot", "shape"))
    assert taken == [1, 3, 3, 3, 3, 3]
    assert row(desk.select("--by", "none"), "(none)") == [24, 0, 24, 24, 12]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["world-00099,no,x,AB"], "overrides: no candidate 'world-00099'"),
        (["world-00001,no,x,AB", "world-00001,yes,y,CD"], "overrides: 'world-00001' stands there twice"),
        (["world-00001,perhaps,x,AB"], "overrides.csv, line 2: keep: "),
        (["world-00001,no,,AB"], "overrides.csv, line 2: reason: "),
        (["world-00001,no,x,"], "overrides.csv, line 2: who: "),
    ],
)
def test_an_override_with_a_fault_is_one_line_and_nothing_is_written(
    desk: Desk, lines: Sequence[str], complaint: str
) -> None:
    options = ("--samples", desk.pool, "--items", 3, "--seed", 1, "--out", desk.folder / "chosen.txt")
    status, _, err = desk.cfeval("edct", "selection", *options, "--overrides", desk.overrides(*lines))
    assert (status, err.count("\n")) == (2, 1)
    assert complaint in err
    assert not (desk.folder / "chosen.txt").exists()


def test_more_than_there_are_is_one_line_and_nothing_is_written(desk: Desk) -> None:
    options = ("--samples", desk.pool, "--items", 25, "--seed", 1, "--out", desk.folder / "chosen.txt")
    status, _, err = desk.cfeval("edct", "selection", *options)
    assert (status, "24 of 24 candidates can be taken, 25 are wanted" in err) == (2, True)
    assert not (desk.folder / "chosen.txt").exists()


def test_own_prompts_are_asked_with(desk: Desk) -> None:
    for name in ("filter", "filter_repair"):
        (desk.folder / f"{name}.md").write_text("Visual? {question}")
    desk.filter({"plugin": "mock", "replies": ["Reason: {question}\nKeep: 0"]}, "--prompts", str(desk.folder))
    first = next(iter(read_jsonl(desk.folder / "decisions.jsonl", Decision)))
    assert (first.keep, first.why) == (0, f"Visual? {first.question}")


def test_a_decision_is_paid_for_once_and_made_again_offline_without_a_key(
    desk: Desk, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(desk.folder / "calls.sqlite"), "max_retries": 0}))
    desk.filter(target(server.openai, json_schema=True))
    sent = server.sent().total()
    decided = list(read_jsonl(desk.folder / "decisions.jsonl", Decision))
    assert {one.keep for one in decided} == {0, 1}
    assert sent == sum(len(one.calls) for one in decided) == 24
    monkeypatch.delenv(KEY_ENV)
    desk.filter(target(server.openai, json_schema=True), "--offline", out="again.jsonl")
    assert server.sent().total() == sent
    again = (desk.folder / "again.jsonl").read_bytes()
    assert again == (desk.folder / "decisions.jsonl").read_bytes()
    assert CANARY.encode() not in again


def test_the_example_of_the_page_works_and_prints_what_it_shows(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    overrides = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)[0]
    printed = [cfeval(*shlex.split(line)[1:]) for line in commands[0].splitlines()]
    assert [status for status, _, _ in printed] == [0, 0, 0]
    assert shown.split() == printed[2][1].partition("20 items frozen")[0].split()
    (tmp_path / "data" / "overrides.csv").write_text(overrides)
    [last] = [line for block in commands[1:] for line in block.splitlines() if "select" in line]
    assert cfeval(*shlex.split(last)[1:])[0] == 0
    assert not {"world-00001"} & set(read_list(tmp_path / "data" / "chosen.txt"))
