"""`cfeval edct training-set`: from a study's results to a folder that trainers load."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfeval import cli
from cfeval.edct.records import Condition
from tests.conftest import Run
from tests.edct.verification.study import CHAINED, IMAGES, ITEMS, NULL, PLAIN, Study, edited
from tests.edct.verification.tamper import Results

OTHER = PLAIN.model_copy(update={"vlm": "n"})


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("study") / "results"
    Study(results)
    return results


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "set"


def arguments(results: Path, out: Path, *options: object, conditions: tuple[Condition, ...] = (PLAIN,)) -> list[str]:
    named = json.dumps([condition.model_dump() for condition in conditions])
    given = ("edct", "training-set", "--results", results, "--conditions", named, "--out", out, *options)
    return [str(argument) for argument in given]


def made(
    results: Path, out: Path, *options: object, conditions: tuple[Condition, ...] = (PLAIN,)
) -> dict[str, list[Any]]:
    """The lines of a set that is made now, by file."""
    assert cli.run(arguments(results, out, *options, conditions=conditions)) == 0
    return {file.name: [json.loads(line) for line in _lines(file)] for file in sorted(out.glob("*.jsonl"))}


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text().split("\n") if line]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_set_holds_the_examples_and_each_image_once_under_its_hash(study: Path, out: Path) -> None:
    lines = made(study, out, "--held-out", 0)
    assert (len(lines["train.jsonl"]), lines["held-out.jsonl"]) == (4, [])
    images = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (out / "images").iterdir()}
    assert all(name == f"{digest}.png" for name, digest in images.items())
    wanted = {IMAGES["a"].sha256, edited(PLAIN, "a", 1).sha256, edited(PLAIN, "g", 1).sha256}
    assert set(images.values()) == wanted
    assert {f"images/{name}" for name in images} == {path for line in lines["train.jsonl"] for path in line["images"]}
    source = json.loads(lines["train.jsonl"][0]["provenance"])
    assert (len(source["calls"]), len(source["tests"][0]["calls"])) == (2, 2)


def test_the_same_results_give_the_same_bytes(study: Path, tmp_path: Path) -> None:
    for layout in ("trl", "llama-factory"):
        for name in ("one", "two"):
            made(study, tmp_path / layout / name, "--layout", layout, "--teach", "all", conditions=(PLAIN, CHAINED))
        one, two = (contents(tmp_path / layout / name) for name in ("one", "two"))
        assert one == two
        assert not any(str(tmp_path).encode() in content for content in one.values())


@pytest.mark.slow
def test_no_image_stands_on_both_sides_and_both_are_served(tmp_path: Path) -> None:
    Study(tmp_path / "results", calls=False)
    for seed in range(6):
        lines = made(
            tmp_path / "results",
            tmp_path / f"{seed}",
            "--teach",
            "all",
            "--held-out",
            0.5,
            "--seed",
            seed,
            conditions=(PLAIN, NULL),
        )
        sides = [{path for line in of for path in line["images"]} for of in lines.values()]
        originals = [{json.loads(line["provenance"])["original"] for line in of} for of in lines.values()]
        assert not sides[0] & sides[1]
        assert not originals[0] & originals[1]


def test_pairs_come_from_two_targets_that_saw_the_same_edit(tmp_path: Path, out: Path) -> None:
    Study(tmp_path / "results", (PLAIN, OTHER), calls=False)
    results = Results(tmp_path / "results")
    results.alter("requeries", "a", 1, OTHER, answer="It is red still.")
    results.alter("scores", "a", 1, OTHER, pcs=0, ccs=0)
    [pair] = made(results.folder, out, "--teach", "contrast", "--held-out", 0, conditions=(PLAIN, OTHER))["train.jsonl"]
    assert pair["chosen"] == [{"role": "assistant", "content": [{"type": "text", "text": "It is blue now."}]}]
    assert pair["rejected"][0]["content"][0]["text"] == "It is red still."
    assert pair["images"] == [f"images/{edited(PLAIN, 'a', 1).sha256}.png"]


def test_only_verified_edits_and_only_right_answers_are_taken_if_that_is_asked_for(study: Path, tmp_path: Path) -> None:
    results = Results(Path(shutil.copytree(study, tmp_path / "results")))
    results.alter("scores", "a", verified=0)
    everything = made(results.folder, tmp_path / "1", "--held-out", 0)
    verified = made(results.folder, tmp_path / "2", "--held-out", 0, "--verified")
    right = made(results.folder, tmp_path / "3", "--held-out", 0, "--correct")
    items = [
        {json.loads(line["provenance"])["item"] for line in lines["train.jsonl"]}
        for lines in (everything, verified, right)
    ]
    assert items == [{"a", "g"}, {"g"}, {"a"}]
    assert "whose edit a verifier found right." in (tmp_path / "2" / "README.md").read_text()
    assert "whose answer about the original is known to be right." in (tmp_path / "3" / "README.md").read_text()


def test_items_that_failed_are_in_no_set(study: Path, out: Path) -> None:
    lines = made(study, out, "--teach", "all", conditions=(PLAIN, CHAINED, NULL))
    items = {json.loads(line["provenance"])["item"] for of in lines.values() for line in of}
    assert items == {"a", "g"} < set(ITEMS)


def test_people_s_words_are_taken_from_a_table(study: Path, tmp_path: Path, out: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(f"id,image,answer,explanation\na,{edited(PLAIN, 'a', 1).sha256}.png,Blue.,The car is.\n")
    lines = made(study, out, "--teach", "written", "--answers", table, "--held-out", 0)
    [line] = lines["train.jsonl"]
    assert [message["content"][-1]["text"] for message in line["messages"]][1::2] == ["Blue.", "The car is."]


@pytest.mark.slow
def test_shards_make_no_difference(study: Path, tmp_path: Path) -> None:
    Study(tmp_path / "results", shards=3)
    whole = made(study, tmp_path / "whole", "--held-out", 0)
    assert made(tmp_path / "results", tmp_path / "cut", "--held-out", 0, "--shards", 3) == whole


def test_the_card_counts_what_is_there_and_names_where_it_comes_from(study: Path, out: Path) -> None:
    made(study, out, "--held-out", 0)
    card = (out / "README.md").read_text()
    assert "| `train.jsonl` | 4 | 2 | 2 | 1 |" in card
    assert "- `d/m/w/edct-2025/e/j`" in card
    assert "  - split: train\n    path: train.jsonl\ntags:" in card
    assert "## Limits" in card
    assert "From 2 scored items and edits." in card


def test_an_ordinary_reader_of_json_lines_reads_a_set(study: Path, out: Path) -> None:
    made(study, out, "--held-out", 0, "--teach", "all", conditions=(PLAIN, CHAINED))
    table = pd.read_json(out / "train.jsonl", lines=True)
    assert list(table.columns) == ["images", "messages", "provenance"]
    assert table["provenance"].map(json.loads).map(len).nunique() == 1


@pytest.mark.slow
def test_the_reader_of_the_card_loads_a_set(study: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    made(study, out, "--held-out", 0)
    monkeypatch.chdir(out)
    data = datasets.load_dataset(str(out), cache_dir=str(out / "cache"))
    data = data.cast_column("images", datasets.List(datasets.Image()))
    assert data["train"][0]["images"][0].size == (10, 12)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_that_is_there_is_replaced(study: Path, out: Path, cfeval: Run, kind: str) -> None:
    mine = out if kind == "file" else out / "thesis.tex"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("years of work")
    status, _, err = cfeval(*arguments(study, out))
    assert (status, "remove it or choose another folder" in err) == (2, True)
    assert mine.read_text() == "years of work"


def test_where_an_image_is_another_one_nothing_is_written(study: Path, tmp_path: Path, cfeval: Run) -> None:
    results = Results(Path(shutil.copytree(study, tmp_path / "results")))
    results.place("counterfactuals", "a-1.png", 250)
    status, _, err = cfeval(*arguments(results.folder, tmp_path / "set"))
    assert (status, "SHA-256 differs" in err, len(err.splitlines())) == (2, True, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--teach", "contrast"), "hold no example to teach `contrast`"),
        (("--teach", "written"), "--answers and `--teach written` go together"),
        (("--answers", "mine.csv"), "mine.csv: no such file"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    study: Path, out: Path, cfeval: Run, options: tuple[str, ...], words: str
) -> None:
    status, _, err = cfeval(*arguments(study, out, *options))
    assert (status, words in err, len(err.splitlines())) == (2, True, 1)
    assert not out.exists()
