"""Every solver passes the family's contract: a reply or a status for every request, each on its own."""

from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.records import SIDES
from tests.answers import answers
from tests.cvqa.files import write_images, write_results

SCRIPTED: dict[str, Any] = {"plugin": "mock"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "agent": {"model": SCRIPTED, "vision": SCRIPTED},
    "by_people": {
        "female": {"plugin": "random"},
        "others": {"plugin": "program", "program_generator": SCRIPTED, "vision": SCRIPTED},
    },
    "chat": {"model": SCRIPTED, "family": "llava"},
    "program": {"program_generator": SCRIPTED, "vision": SCRIPTED},
    "random": {},
    "responses": {"path": "made when the test runs"},
}
"""For every plugin the options with which it is put to the test."""


def spec_of(name: str, folder: Path) -> dict[str, Any]:
    """The specification with which a solver is put to the test."""
    made = {"path": str(write_results(folder))} if name == "responses" else {}
    return {"plugin": name, **EXAMPLES[name], **made}


def requests(folder: Path) -> list[AnswerRequest]:
    """Both questions of the rows of a small file."""
    spec = {"plugin": "csv", "questions": str(write_results(folder)), "images": str(write_images(folder / "images"))}
    pairs = registry.build("question_sets", spec).pairs(5, 1)
    asked = [(pair, side, getattr(pair, side).question) for pair in pairs for side in SIDES]
    return [AnswerRequest(pair.id, side, pair.type, pair.image, text, n) for n, (pair, side, text) in enumerate(asked)]


def test_every_solver_is_put_to_the_test() -> None:
    assert set(registry.names("solvers")) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_unknown_option_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="here: unknown option 'no_such_option'"):
        registry.check("solvers", spec_of(name, tmp_path) | {"no_such_option": 1}, "here")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_question_is_answered_on_its_own(name: str, tmp_path: Path) -> None:
    who: Solver = registry.build("solvers", spec_of(name, tmp_path))
    asked = requests(tmp_path)
    together = answers(who.answer, asked)
    assert answers(who.answer, []) == []
    assert [answers(who.answer, [request])[0] for request in asked] == together
    assert answers(who.answer, asked[::-1]) == together[::-1]
    for request, reply in zip(asked, together, strict=True):
        assert isinstance(reply, AnswerReply)
        assert reply.model
        assert request.question in reply.asked
        assert reply.status == Status.OK
        assert reply.text.strip() == reply.text != ""
        assert not reply.reason


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_it_takes_is_known_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    spec = spec_of(name, tmp_path)
    assert all(finding.fine for finding in registry.diagnose("solvers", spec))
    assert registry.estimate_calls("solvers", spec) == ()
    assert all(Path(file).exists() for file in registry.dependencies("solvers", spec))
