"""`cfeval edct edit-bank`: from a study's verified edits to pairs that any target runs on."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.images import import_image
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.pair import pair_of
from cfeval.datasets.sample import Sample
from tests.conftest import Run
from tests.edct.verification.study import CHAINED, IMAGES, NULL, PLAIN, UNCITED, Study, edited
from tests.edct.verification.tamper import Results

OTHER = PLAIN.model_copy(update={"vlm": "n"})
JUDGED_TWICE = PLAIN.model_copy(update={"judge": "k"})
VERIFIED = ["a", "e", "f", "g"]
"""Items whose edit was made; `check` of the made-up study finds each right. `e` and `f` failed after the edit."""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    Study(tmp_path / "results", (PLAIN, JUDGED_TWICE, OTHER, NULL), calls=False)
    return Results(tmp_path / "results")


def bank(cfeval: Run, results: Results, out: Path) -> tuple[list[dict[str, Any]], str]:
    """The pairs of a bank that is made now, and what was printed."""
    status, said, error = cfeval("edct", "edit-bank", "--results", results.folder, "--out", out)
    assert status == 0, error
    return [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()], said


def items(pairs: list[dict[str, Any]]) -> list[str]:
    return sorted(pair["question"].split()[-1][:-1] for pair in pairs)


@pytest.mark.slow
def test_each_verified_edit_becomes_one_pair_whoever_cited_it(results: Results, tmp_path: Path, cfeval: Run) -> None:
    pairs, said = bank(cfeval, results, tmp_path / "bank")
    assert items(pairs) == VERIFIED
    one = next(pair for pair in pairs if pair["question"] == "What is in a?")
    assert (one["changed"], one["became"]) == ("the a", "as after this edit: Make a blue.")
    assert (one["reference_before"], one["verified"]) == ("red", "the study's verifier")
    shown = [import_image(tmp_path / "bank" / one[side]) for side in ("before", "after")]
    for image, wanted in zip(shown, (IMAGES["a"], edited(PLAIN, "a", 1)), strict=True):
        assert (image.pixels == wanted.pixels).all()
    assert len({pair["id"] for pair in pairs}) == len(pairs)
    assert "4 verified edits of 4 items" in said


@pytest.mark.slow
def test_the_reader_of_own_pairs_takes_the_bank(results: Results, tmp_path: Path, cfeval: Run) -> None:
    pairs, _ = bank(cfeval, results, tmp_path / "bank")
    spec = json.dumps({"plugin": "files", "path": str(tmp_path / "bank" / "pairs.jsonl")})
    filed = ("--pair-set", spec, "--items", 10, "--seed", 1, "--out", tmp_path / "items.jsonl")
    assert cfeval("edct", "pair-items", *filed)[0] == 0
    samples = [sample for sample in read_jsonl(tmp_path / "items.jsonl", Sample) if pair_of(sample).side == "after"]
    assert {pair_of(sample).pair for sample in samples} == {pair["id"] for pair in pairs}
    assert {pair_of(sample).verified for sample in samples} == {"the study's verifier"}
    assert all(sample.reference == "" for sample in samples), "nobody knows the right answer after an edit"


@pytest.mark.slow
def test_a_workflow_knows_every_image_of_the_bank(results: Results, tmp_path: Path, cfeval: Run) -> None:
    """A job may read only files that are named before it runs."""
    bank(cfeval, results, tmp_path / "bank")
    spec = {"plugin": "files", "path": str(tmp_path / "bank" / "pairs.jsonl")}
    images = {str(path) for path in (tmp_path / "bank" / "images").iterdir()}
    assert set(registry.dependencies("pair_sets", spec)) == {spec["path"], *images}
    folder = spec | {"images": str(tmp_path / "bank")}
    assert registry.dependencies("pair_sets", folder) == (spec["path"], f"{tmp_path / 'bank'}/")
    assert registry.dependencies("pair_sets", {"plugin": "files", "path": "none.csv"}) == ("none.csv",)


@pytest.mark.slow
def test_it_says_for_how_many_items_of_each_target_it_has_the_cited_concept(
    results: Results, tmp_path: Path, cfeval: Run
) -> None:
    """Both cite in five items, and the edit of `d` failed. In `a` target `n` cites another thing, edited wrong."""
    results.alter("instructions", "a", 1, OTHER, concept="the sky")
    results.alter("checks", "a", 1, OTHER, found={"verified": 0})
    _, said = bank(cfeval, results, tmp_path / "bank")
    assert "m: the bank has a concept that it cited for 4 of 5 items" in said
    assert "n: the bank has a concept that it cited for 3 of 5 items" in said
    assert (tmp_path / "bank/coverage.csv").read_text() == "vlm,items,held\nm,5,4\nn,5,3\n"


@pytest.mark.slow
def test_an_edit_of_another_target_serves_who_cites_the_same(results: Results, tmp_path: Path, cfeval: Run) -> None:
    results.alter("checks", "a", 1, PLAIN, found={"verified": 0})
    results.alter("instructions", "a", 1, OTHER, concept=" The  A")
    pairs, said = bank(cfeval, results, tmp_path / "bank")
    assert items(pairs) == VERIFIED
    assert "m: the bank has a concept that it cited for 4 of 5 items" in said


@pytest.mark.slow
@pytest.mark.parametrize("found", [{"verified": 0}, {"verified": None}, None])
def test_what_nobody_found_right_is_no_pair(found: Any, tmp_path: Path, cfeval: Run) -> None:
    Study(tmp_path / "results", (PLAIN,), calls=False)
    results = Results(tmp_path / "results")
    results.alter("checks", "a", 1, PLAIN, found=found)
    assert items(bank(cfeval, results, tmp_path / "bank")[0]) == ["e", "f", "g"]
    for item in "efg":
        results.alter("checks", item, 1, PLAIN, found={"verified": 0})
    status, _, error = cfeval("edct", "edit-bank", "--results", results.folder, "--out", tmp_path / "none")
    assert (status, error.count("\n")) == (2, 1)
    assert "no verified edit; put the editor behind a gate or name a verifier" in error
    assert not (tmp_path / "none").exists()


def test_of_a_chain_the_first_edit_counts_and_the_gate_verifies(tmp_path: Path, cfeval: Run) -> None:
    Study(tmp_path / "results", (CHAINED,), calls=False)
    results = Results(tmp_path / "results")
    results.alter("checks", "a", 1, CHAINED, found={"verified": None})
    pairs, _ = bank(cfeval, results, tmp_path / "bank")
    assert items(pairs) == VERIFIED
    assert sorted({pair["verified"] for pair in pairs}) == [
        "the gate of editor e",
        "the gate of editor e and the study's verifier",
    ]
    assert [
        import_image(tmp_path / "bank" / pair["after"]).sha256 for pair in pairs if pair["id"].startswith("a-")
    ] == [edited(CHAINED, "a", 1).sha256]


def test_uncited_edits_are_pairs_but_no_cited_concepts(tmp_path: Path, cfeval: Run) -> None:
    Study(tmp_path / "results", (UNCITED,), calls=False)
    pairs, said = bank(cfeval, Results(tmp_path / "results"), tmp_path / "bank")
    assert items(pairs) == VERIFIED
    assert "a concept that it cited" not in said


@pytest.mark.slow
def test_nothing_is_overwritten_and_a_lost_image_leaves_nothing_behind(
    results: Results, tmp_path: Path, cfeval: Run
) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    status, _, error = cfeval("edct", "edit-bank", "--results", results.folder, "--out", taken)
    assert (status, "there is something already" in error) == (2, True)
    assert (taken / "mine.txt").read_text() == "mine"
    for condition in (PLAIN, OTHER):
        results.image("counterfactuals", "a-1.png", condition).unlink()
    status, _, error = cfeval("edct", "edit-bank", "--results", results.folder, "--out", tmp_path / "bank")
    assert (status, error.count("\n")) == (2, 1)
    assert "a-1.png: cannot read the image" in error
    assert not (tmp_path / "bank").exists()


def test_the_same_results_give_the_same_bytes(results: Results, tmp_path: Path, cfeval: Run) -> None:
    for name in ("one", "two"):
        bank(cfeval, results, tmp_path / name)
    one, two = ((tmp_path / name / "pairs.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two
    assert str(tmp_path).encode() not in one
