"""A set as others load it: by Hugging Face `datasets`, by its card. Croissant's own checker: `tests/formats`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.core.shards import file_with_images
from cfeval.cvqa.stages.questions import FIELDS
from tests.conftest import Run
from tests.cvqa.pairs import image_of, pair

PAIRS = [pair(number) for number in range(1, 6)]


@pytest.fixture
def published(cfeval: Run, tmp_path: Path) -> Path:
    """The folder of a set of five pairs."""
    source, out = tmp_path / "pairs.jsonl", tmp_path / "dataset"
    file_with_images(source, [(one.id, one, {one.image.path: image_of(one)}) for one in PAIRS])
    given = ["--out", out, "--license", "CC-BY-4.0", "--title", "Five, counted"]
    status, told, err = cfeval("cvqa", "dataset", source, *given)
    assert (status, told.startswith("5 pairs in ")) == (0, True), err
    status, _, err = cfeval("cvqa", "dataset", source, *given)
    assert (status, "is not empty" in err) == (2, True), "nothing is written over"
    return out


@pytest.mark.parametrize("verb", ["dataset", "export"])
def test_a_pair_that_no_such_layout_holds_is_refused_in_the_same_words(cfeval: Run, tmp_path: Path, verb: str) -> None:
    source, out = tmp_path / "pairs.jsonl", tmp_path / "out"
    alone = PAIRS[0].model_copy(update={"original": None})
    file_with_images(source, [(alone.id, alone, {alone.image.path: image_of(alone)})])
    licence = ["--license", "CC-BY-4.0"] if verb == "dataset" else []
    status, _, err = cfeval("cvqa", verb, source, "--out", out, *licence)
    assert (status, out.is_file()) == (2, False)
    assert f"pair '{alone.id}' has no original question, which " in err
    assert err.endswith("keep the JSONL\n")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "test" / "metadata.jsonl").read_text().splitlines()]


def test_images_and_questions_are_those_of_the_set(published: Path) -> None:
    rows = rows_of(published)
    assert [list(row) for row in rows] == [list(FIELDS)] * 5
    for one, row in zip(PAIRS, rows, strict=True):
        assert (row["id"], row["question"], row["answer"]) == (one.id, one.original.question, one.original.answer)
        assert row["counterfactual_question"] == one.counterfactual.question
        assert (published / "test" / row["file_name"]).read_bytes() == image_of(one).png


def test_the_card_states_licence_task_and_figures(published: Path) -> None:
    _, head, text = (published / "README.md").read_text().split("---\n", 2)
    about = yaml.safe_load(head)
    assert (about["license"], about["pretty_name"], about["size_categories"]) == (
        "cc-by-4.0",
        "Five, counted",
        ["n<1K"],
    )
    assert about["task_categories"] == ["visual-question-answering"]
    assert "5 pairs of questions" in text
    assert all(f"| `{name}` |" in text for name in FIELDS)


@pytest.mark.slow
def test_hugging_face_datasets_loads_it(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    found = datasets.load_dataset(str(published), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["test"]
    assert found["test"]["id"] == [one.id for one in PAIRS]
    assert found["test"][0]["image"].size == image_of(PAIRS[0]).pixels.shape[1::-1]
    assert found["test"][0]["counterfactual_answer"] == PAIRS[0].counterfactual.answer


def test_croissant_describes_what_is_there(published: Path) -> None:
    described = json.loads((published / "croissant.json").read_text())
    [rows] = described["distribution"]
    assert (published / rows["contentUrl"]).is_file()
    assert [field["name"] for field in described["recordSet"][0]["field"]] == list(rows_of(published)[0])
    assert described["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
