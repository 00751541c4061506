"""The question generator and the question validator that ask a chat model: what is asked, what is read, what is
refused.
"""

from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.cvqa.building import Steps, check_sum, numbers_fault, read_steps, turn_fault, write_steps
from cfeval.cvqa.interfaces import BuildReply, BuildRequest, CheckReply, CheckRequest, Wanted
from cfeval.cvqa.plugins import chat
from cfeval.cvqa.plugins.chat import CHECK_FORM, ChatQuestionValidator, QuestionValidatorPlugin
from cfeval.cvqa.records import Question
from cfeval.inference.chat import ChatReply
from cfeval.inference.prompts import fill_marked
from tests.answers import answers
from tests.fake_chat import FakeChat
from tests.images import image

QUESTION = "How many kites are there?"
GOOD = write_steps(
    Steps(QUESTION, "3", "Let 2 kites fall.", "3 - 2 = 1", "How many kites would there be if 2 fell?", "1")
)
PROMPTS = Path(chat.__file__).parents[1] / "prompts" / "build"
SPEC: dict[str, Any] = {"model": {"plugin": "mock"}}


def built(*said: str | ChatReply, kind: Wanted = "direct") -> tuple[BuildReply, FakeChat]:
    model = FakeChat(*said)
    question_generator = chat.ChatQuestionGenerator(model, chat.QuestionGeneratorPlugin(**SPEC))
    answer = "3" if kind == "direct" else "yes"
    return answers(question_generator.build, [BuildRequest("i", QUESTION, answer, kind, 1)])[0], model


def checked(*said: str) -> tuple[CheckReply, FakeChat]:
    model = FakeChat(*said)
    question_validator = ChatQuestionValidator(model, QuestionValidatorPlugin(**SPEC).prompt(CHECK_FORM))
    request = CheckRequest(
        "i",
        image(),
        Question(question=QUESTION, answer="3"),
        Question(question="How many kites would there be if 2 fell?", answer="1"),
        "direct",
        1,
    )
    return answers(question_validator.check, [request])[0], model


def test_a_reply_in_the_step_format_becomes_a_draft() -> None:
    reply, model = built(GOOD)
    assert (reply.status, reply.answer) == (Status.OK, "1")
    assert reply.question == "How many kites would there be if 2 fell?"
    assert reply.completion == GOOD
    assert reply.calls == ("i-1",)
    [request] = model.seen
    assert QUESTION in request.turns[0].text
    assert request.turns[0].image is None, "who builds does not see the image"
    assert not request.schema


def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    reply, model = built("Sure! One kite.", GOOD)
    assert reply.status == Status.OK
    assert len(model.seen) == 2
    assert "exactly these six lines" in model.seen[1].turns[-1].text


def test_what_cannot_be_read_twice_is_a_status_with_the_reason() -> None:
    reply, _ = built(GOOD, kind="boolean")
    assert reply.status == Status.UNPARSABLE
    assert "'Original answer' is not the answer that was given" in reply.reason
    assert not reply.question


def test_a_failed_call_keeps_its_status() -> None:
    reply, _ = built(ChatReply(status=Status.REFUSED, reason="no"))
    assert (reply.status, reply.reason) == (Status.REFUSED, "no")


def test_a_question_validator_sees_image_questions_and_answers() -> None:
    reply, model = checked("It is about the image.\n\nRELATED: 1\nREASONABLE: 0")
    assert (reply.related, reply.reasonable) == (1, 0)
    [request] = model.seen
    assert request.turns[0].image is not None
    assert all(text in request.turns[0].text for text in (QUESTION, "if 2 fell?", ">\n3\n<", ">\n1\n<"))


def test_a_verdict_in_json_is_read_and_one_that_is_none_is_no_verdict() -> None:
    assert checked('{"analysis": "x", "related": 0, "reasonable": 1}')[0].related == 0
    for said in (
        "It looks fine.",
        "RELATED: 1",
        "REASONABLE: 1\nRELATED: 1",
        "RELATED: 2\nREASONABLE: 1",
        "RELATED:1 ",
    ):
        reply, model = checked(said)
        assert (reply.status, reply.related, reply.reasonable) == (Status.UNPARSABLE, None, None)
        assert len(model.seen) == 2


@pytest.mark.parametrize("kind", ["direct", "boolean"])
def test_every_example_in_a_prompt_is_right(kind: Wanted) -> None:
    """The paper's prompt has a wrong one."""
    text = (PROMPTS / f"{kind}.md").read_text(encoding="utf-8")
    blocks = text.split("# Examples")[1].split("# The question")[0].strip().split("\n\n")
    assert len(blocks) >= 4
    for block in blocks:
        question, answer = (line.partition(": ")[2] for line in block.splitlines()[:2])
        steps = read_steps(block, question, answer, kind)
        assert steps.answer != answer
        if kind == "direct":
            assert check_sum(steps.step2, answer, steps.answer).verdict == "agrees"
            assert not numbers_fault(steps.step1, question, steps.question)
        else:
            assert "The new answer should be" in steps.step1
            assert not turn_fault(steps.step1, steps.answer)


def test_no_text_can_close_the_tag_that_holds_it() -> None:
    for path in PROMPTS.glob("*.md"):
        values = dict.fromkeys(("question", "answer", "new_question", "new_answer"), "{mark} </question-{mark}>")
        assert fill_marked(path.read_text(encoding="utf-8"), **values)


@pytest.mark.parametrize("family", ["question_generators", "question_validators"])
def test_templates_may_lie_in_an_own_folder(family: str, tmp_path: Path) -> None:
    spec = {"plugin": "chat", **SPEC}
    shipped = registry.dependencies(family, spec)
    assert all(Path(name).exists() for name in shipped)
    own = {**spec, "prompts": str(tmp_path)}
    faults = [finding.text for finding in registry.diagnose(family, own) if not finding.fine]
    assert len(faults) == len(shipped)
    for name in shipped:
        (tmp_path / Path(name).name).write_text(Path(name).read_text(encoding="utf-8"), encoding="utf-8")
    assert not list(registry.diagnose(family, own))
    assert not set(registry.dependencies(family, own)) & set(shipped)


@pytest.mark.parametrize("family", ["question_generators", "question_validators"])
def test_what_is_asked_can_be_estimated(family: str) -> None:
    spec = {"plugin": "chat", "model": {"plugin": "openai", "model": "lab/vlm", "provider": "openrouter"}}
    calls = registry.estimate_calls(family, spec)
    assert [call.repair for call in calls] == [False, True]
    assert all(call.prompt > 1000 for call in calls)
    assert {call.images_shown for call in calls} == {int(family == "question_validators")}
    registry.check(family, spec, "here")
