"""Filing the pairs of a set: every field arrives, equal images are one file, a bad id is one line."""

import json
from dataclasses import replace

import pytest

from cfeval.core.errors import InputError
from cfeval.cvqa.interfaces import RawPair
from cfeval.cvqa.records import Question, QuestionPair
from cfeval.datasets.sample import as_record
from tests.images import image

RAW = RawPair(
    id="p1",
    image=image(1),
    original=Question(question="How many?", answer="3"),
    counterfactual=Question(question="How many if?", answer="2"),
    type="direct",
    img_path="COCO_val2014_000000000007.jpg",
    coco=7,
    counts={"red dots": 3},
)


def test_a_pair_is_filed_with_all_that_is_known_of_it() -> None:
    pair = as_record(RAW, QuestionPair)
    assert pair.image == RAW.image.ref(f"{RAW.image.sha256[:32]}.png")
    assert (pair.id, pair.type, pair.coco, pair.img_path) == ("p1", "direct", 7, RAW.img_path)
    assert (pair.original, pair.counterfactual, pair.counts) == (RAW.original, RAW.counterfactual, {"red dots": 3})
    assert pair.questions["original"] == RAW.original
    assert pair.questions["counterfactual"] == RAW.counterfactual


def test_pairs_about_one_image_share_its_file() -> None:
    three = [RAW, replace(RAW, id="p2"), replace(RAW, id="p3", image=image(2))]
    first, second, third = (as_record(raw, QuestionPair) for raw in three)
    assert first.image == second.image != third.image
    assert first.image.sha256.startswith(first.image.path.removesuffix(".png"))


@pytest.mark.parametrize("name", ["a b", "../x", "", "é\u200b", "字" * 34])
def test_an_id_that_is_no_file_name_is_named(name: str) -> None:
    with pytest.raises(InputError, match=r"pair '.*': id: id '.*' cannot be a file name"):
        as_record(replace(RAW, id=name), QuestionPair)


def test_metadata_are_kept_as_they_are() -> None:
    known = {"place": "kitchen", "boxes": [[1, 2.5], []]}
    pair = as_record(RAW, QuestionPair).model_dump(mode="json", exclude={"metadata"})
    read = QuestionPair.model_validate_json(json.dumps(pair | {"metadata": known}))
    assert read == as_record(replace(RAW, metadata=known), QuestionPair)
    assert read.model_dump(mode="json")["metadata"] == known
