"""Every set of question pairs passes the family's contract; one without an entry here fails the first test."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.records import ItemId
from cfeval.cvqa.records import QuestionPair, form_of, read_choices
from tests.cvqa.files import write_images, write_questions
from tests.cvqa.question_tables import TABLES, write_table

EXAMPLES: dict[str, dict[str, Any]] = {
    "counterbench": {},
    "csv": {"share": 0.9},
    "image_pairs": {"of": {"plugin": "world"}},
    "plain": {},
    "synthetic": {"size": 240},
    "whatsup": {},
    "world": {},
}
ALLOWED = {"number": "[0-9]+", "boolean": "yes|no", "choice": "[A-Z]", "text": ".+"}


def spec_of(name: str, folder: Path) -> dict[str, Any]:
    """The specification with which a set is put to the test."""
    made = {}
    if name == "csv":
        made = {"questions": str(write_questions(folder)), "images": str(write_images(folder / "images"))}
    if name in TABLES:
        made = {"path": str(write_table(folder, TABLES[name], 12))}
    return {"plugin": name, **EXAMPLES[name], **made}


def test_every_set_is_put_to_the_test() -> None:
    assert set(registry.names("question_sets")) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_unknown_option_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="unknown option 'no_such_option'"):
        registry.check("question_sets", spec_of(name, tmp_path) | {"no_such_option": 1}, "here")


@pytest.mark.parametrize("name", EXAMPLES)
def test_pairs_are_as_many_as_wanted_the_same_each_time_and_can_be_filed(name: str, tmp_path: Path) -> None:
    spec = spec_of(name, tmp_path)
    made = registry.build("question_sets", spec)
    pairs = list(made.pairs(6, 1))
    assert len(pairs) == made.sizes(6).all == 6
    assert made.skipped == ()
    assert pairs == list(registry.build("question_sets", spec).pairs(6, 1))
    assert len({pair.id for pair in pairs}) == 6
    for pair in pairs:
        TypeAdapter(ItemId).validate_python(pair.id)
        fields = ("id", "original", "counterfactual", "type", "img_path", "coco", "metadata", "counts")
        QuestionPair(image=pair.image.ref(f"{pair.id}.png"), **{field: getattr(pair, field) for field in fields})


@pytest.mark.parametrize("name", EXAMPLES)
def test_answers_have_the_form_of_their_type(name: str, tmp_path: Path) -> None:
    for pair in registry.build("question_sets", spec_of(name, tmp_path)).pairs(8, 2):
        for asked in (pair.original, pair.counterfactual):
            if asked is None:
                continue
            form = form_of(asked)
            assert re.fullmatch(ALLOWED[form], asked.answer)
            assert (read_choices(asked.question) is not None) == (form == "choice")
