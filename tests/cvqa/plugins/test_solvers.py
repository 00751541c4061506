"""Solvers: what a model is asked, how its failures end, programs with their fall-back, chance, recorded replies."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError, PluginError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest
from cfeval.cvqa.plugins import chat
from cfeval.cvqa.plugins.solvers import ChatPlugin, ChatSolver
from cfeval.cvqa.prompt_templates import COT
from cfeval.cvqa.records import Form, PairType
from cfeval.inference.chat import ChatReply
from tests.answers import answers
from tests.cvqa.files import write_results
from tests.fake_chat import FakeChat
from tests.images import image

SCRIPTED: dict[str, Any] = {"plugin": "mock"}
MANY = "How many dots are there? Select the correct answer:A:16  B:17  C:12  D:13"


def request(
    question: str = "How many dogs?", item: str = "i", seed: int = 7, type: PairType = "direct"
) -> AnswerRequest:
    return AnswerRequest(item, "original", type, image(3), question, seed)


def asked_of(model: FakeChat, *questions: str, **options: Any) -> list[AnswerReply]:
    """Replies of a model that is asked directly."""
    who = ChatSolver(model, ChatPlugin(model=SCRIPTED, **options))
    return answers(who.answer, [request(text, f"i{n}", n) for n, text in enumerate(questions)])


def answered(spec: dict[str, Any], *requests: AnswerRequest) -> list[AnswerReply]:
    replies: list[AnswerReply] = answers(registry.build("solvers", spec).answer, requests)
    return replies


# A model that is asked


def test_every_question_is_a_conversation_of_its_own_with_the_image() -> None:
    model = FakeChat(" two ")
    replies = asked_of(model, "How many dogs?", "How many dogs if one left?")
    assert [[(turn.role, turn.text, turn.image) for turn in seen.turns] for seen in model.seen] == [
        [("user", "How many dogs?", image(3))],
        [("user", "How many dogs if one left?", image(3))],
    ]
    assert len({seen.seed for seen in model.seen}) == 2
    assert [(reply.text, reply.calls, reply.status) for reply in replies] == [
        ("two", ("i0-1",), Status.OK),
        ("two", ("i1-1",), Status.OK),
    ]


@pytest.mark.parametrize(
    ("family", "question", "put"),
    [
        ("plain", "How many?", "How many?"),
        ("llava", "How many?", "How many? Answer the question using a single word or phrase."),
        ("minigpt", "So?", "Based on the image, respond to this question with a single word or phrase: So?"),
        ("blip", "How many?", "Question: How many? Short answer:"),
        ("blip", MANY, "Question: How many dots are there? Options:(a)16  (b)17  (c)12  (d)13. Answer:"),
        ("plain", MANY, MANY),
    ],
)
def test_a_family_is_asked_in_the_phrase_it_was_trained_on(family: str, question: str, put: str) -> None:
    model = FakeChat("2")
    [reply] = asked_of(model, question, family=family)
    assert model.seen[0].turns[0].text == reply.asked == put


@pytest.mark.parametrize(
    ("family", "question", "put"),
    [
        ("plain", "How many?", f"How many? {COT}"),
        ("blip", "How many?", f"Question: How many? {COT} Short answer:"),
        ("blip", MANY, f"Question: How many dots are there? {COT} Options:(a)16  (b)17  (c)12  (d)13. Answer:"),
    ],
)
def test_a_chain_of_thought_is_asked_for_after_the_question(family: str, question: str, put: str) -> None:
    [reply] = asked_of(FakeChat("2"), question, family=family, cot=True)
    assert reply.asked == put


def test_a_template_of_ones_own_takes_the_place_of_the_familys(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("Look well.\n\n{question}\nOne word.")
    own = {"family": "llava", "prompts": str(tmp_path)}
    assert asked_of(FakeChat("2"), "Who, {you}?", **own)[0].asked == "Look well.\n\nWho, {you}?\nOne word."
    assert asked_of(FakeChat("2"), "Who?", cot=True, **own)[0].asked == f"Look well.\n\nWho? {COT}\nOne word."
    spec = {"plugin": "chat", "model": SCRIPTED, **own}
    assert registry.dependencies("solvers", spec) == (str(tmp_path / "answer.md"),)


@pytest.mark.parametrize(("content", "says"), [(None, "no prompt answer"), ("{query}", "query"), (" ", "empty")])
def test_a_template_that_cannot_be_filled_is_told_before_and_when_it_is_used(
    tmp_path: Path, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / "answer.md").write_text(content)
    spec = {"plugin": "chat", "model": SCRIPTED, "prompts": str(tmp_path)}
    [finding] = registry.diagnose("solvers", spec)
    assert not finding.fine
    assert says in finding.text
    with pytest.raises(InputError, match=says):
        answered(spec, request())


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ParamsError, match="no template of family 'lava'; did you mean 'llava'"):
        registry.check("solvers", {"plugin": "chat", "model": SCRIPTED, "family": "lava"}, "here")


def test_a_failed_call_is_a_status_and_no_answer() -> None:
    failed = ChatReply("", "m", Status.TRANSPORT_ERROR, "timed out", ("c",))
    model = FakeChat(say=lambda seen: failed if seen.item == "i0" else ChatReply("3", "m"))
    broken, fine = asked_of(model, "Where?", "How many?")
    assert broken == AnswerReply("Where?", "", "m", Status.TRANSPORT_ERROR, "timed out", ("c",))
    assert (fine.text, fine.status) == ("3", Status.OK)


@pytest.mark.parametrize("said", ["", " \n", "<think>Three dogs, so three.</think>\n"])
def test_an_empty_reply_is_unparsable(said: str) -> None:
    [reply] = asked_of(FakeChat(ChatReply(said, "m", calls=("c",))), "How many?")
    assert (reply.text, reply.status, reply.reason, reply.calls) == ("", Status.UNPARSABLE, "empty reply", ("c",))


def test_one_call_a_question_is_expected_of_a_provider() -> None:
    model = {"plugin": "openai", "model": "lab/vlm", "provider": "openrouter", "max_tokens": 99}
    [call] = registry.estimate_calls("solvers", {"plugin": "chat", "model": model})
    assert (call.model, call.max_tokens, call.repair) == ("lab/vlm", 99, False)


# Programs


def program(**options: Any) -> dict[str, Any]:
    """A program that asks the question of the whole image; the vision says 4 to any question."""
    vision = {"plugin": "mock", "answer": "4", **options.pop("vision", {})}
    program_generator = {"plugin": "mock", **options.pop("program_generator", {})}
    return {"plugin": "program", "program_generator": program_generator, "vision": vision, **options}


FAILING = {"program_generator": {"programs": {"vipergpt": "def execute_command(image):\n    return 1 // 0"}}}


def test_a_program_answers_and_is_kept_with_its_trace() -> None:
    [reply] = answered(program(), request("How many dogs?"))
    assert (reply.text, reply.status, reply.model) == ("4", Status.OK, "mock")
    run = reply.program
    assert run is not None
    assert (run.language, run.fault, run.fallback, run.calls) == ("vipergpt", "", False, 1)
    assert "simple_query('How many dogs?')" in run.code
    [step] = [step for step in run.trace if "query" in step.call]
    assert (step.line, "4" in step.result) == (2, True)


def test_programs_are_written_in_the_wanted_language() -> None:
    [reply] = answered(program(language="visprog"), request())
    assert reply.program is not None
    assert (reply.text, reply.program.language) == ("4", "visprog")
    assert "FINAL_RESULT" in reply.program.code


def test_a_program_that_fails_falls_back_to_the_question_and_says_so() -> None:
    [reply] = answered(program(**FAILING, vision={"answers": {"How many?": "9"}}), request("How many?"))
    assert (reply.text, reply.status) == ("9", Status.OK)
    assert reply.program is not None
    assert reply.program.fallback
    assert "zero" in reply.program.fault
    assert reply.program.trace[-1].call == "fallback"


def test_without_the_fall_back_a_failed_program_is_unparsable_with_its_fault() -> None:
    [reply] = answered(program(**FAILING, fallback=False), request())
    assert (reply.text, reply.status) == ("", Status.UNPARSABLE)
    assert reply.program is not None
    assert reply.reason == reply.program.fault != ""
    assert not reply.program.fallback


FIXED = "def execute_command(image):\n    return ImagePatch(image).simple_query('How many?')"
BROKEN = "def execute_command(image):\n    return 1 // 0"


def writing(*said: str | ChatReply, **options: Any) -> tuple[AnswerReply, FakeChat]:
    """The reply of a solver whose programs a chat model writes with these replies, one a turn; the model."""
    model = FakeChat(*said)
    spec = program(**options)
    made = registry.build("solvers", spec)
    made.program_generator = chat.ChatProgramGenerator(model, chat.ProgramGeneratorPlugin(model=SCRIPTED))
    [reply] = answers(made.answer, [request("How many dogs?")])
    return reply, model


def test_a_program_that_fails_is_repaired_once_where_that_is_asked_for() -> None:
    reply, model = writing(f"```python\n{BROKEN}\n```", FIXED, repair=True)
    assert (reply.text, reply.status, reply.calls) == ("4", Status.OK, ("i-1", "i-2"))
    run = reply.program
    assert run is not None
    assert (run.fault, run.fallback, "zero" in run.first_fault) == ("", False, True)
    assert run.code == FIXED
    first, second = model.seen
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[0] == first.turns[0]
    assert BROKEN in second.turns[1].text
    assert run.first_fault in second.turns[2].text


def test_a_reply_without_a_program_is_repaired_too_and_a_program_that_runs_is_not() -> None:
    reply, model = writing("I cannot see the image.", FIXED, repair=True)
    assert (reply.text, len(model.seen)) == ("4", 2)
    assert reply.program is not None
    assert "no function execute_command" in reply.program.first_fault
    reply, model = writing(FIXED, BROKEN, repair=True)
    assert (reply.text, len(model.seen)) == ("4", 1)


@pytest.mark.parametrize("second", [BROKEN, "Sorry, I cannot."])
def test_a_repair_that_fails_falls_back_as_any_program_and_there_is_no_third_try(second: str) -> None:
    reply, model = writing(BROKEN, second, FIXED, repair=True)
    assert len(model.seen) == 2
    run = reply.program
    assert run is not None
    assert (reply.text, run.fallback, bool(run.fault), bool(run.first_fault)) == ("4", True, True, True)


def test_a_repair_that_the_provider_fails_to_answer_is_no_result_of_the_program() -> None:
    reply, _ = writing(BROKEN, ChatReply("", "m", Status.TRANSPORT_ERROR, "no connection", ("k",)), repair=True)
    assert (reply.status, reply.text, reply.program) == (Status.TRANSPORT_ERROR, "", None)
    assert reply.calls == ("i-1", "k")


def test_nothing_is_repaired_unless_it_is_asked_for() -> None:
    reply, model = writing(BROKEN, FIXED)
    assert len(model.seen) == 1
    assert reply.program is not None
    assert (reply.program.fallback, reply.program.first_fault) == (True, "")


def test_a_program_may_call_only_so_many_operations() -> None:
    code = (
        "def execute_command(image):\n    p = ImagePatch(image)\n    return [p.simple_query('?') for n in range(3)][2]"
    )
    loops = {"program_generator": {"programs": {"vipergpt": code}}, "fallback": False}
    assert answered(program(**loops, calls=3), request())[0].text == "4"
    [reply] = answered(program(**loops, calls=2), request())
    assert reply.status == Status.UNPARSABLE
    assert "call" in reply.reason


@pytest.mark.parametrize("more", [{}, FAILING], ids=["in the program", "in the fall-back"])
def test_a_failed_call_of_a_vision_model_ends_as_its_status_and_not_as_an_answer(more: dict[str, Any]) -> None:
    vision = {"statuses": {"i0": "transport_error"}}
    broken, fine = answered(program(**more, vision=vision), request(item="i0"), request(item="i1"))
    assert (broken.status, broken.text, broken.program) == (Status.TRANSPORT_ERROR, "", None)
    assert broken.reason
    assert (fine.status, fine.text) == (Status.OK, "4")


def test_a_failed_call_of_the_program_generator_ends_as_its_status() -> None:
    broken, fine = answered(
        program(program_generator={"statuses": {"i0": "refused"}}), request(item="i0"), request(item="i1")
    )
    assert (broken.status, broken.reason, broken.text, broken.program) == (Status.REFUSED, "mock", "", None)
    assert fine.text == "4"


def test_what_breaks_a_whole_job_is_no_reply() -> None:
    with pytest.raises(PluginError, match="item 'i0'"):
        answered(program(vision={"crash_on": ["i0"]}), request(item="i0"))


# Chance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "question", "allowed"),
    [
        ("number", "How many dogs?", [str(n) for n in range(11)]),
        ("boolean", "Is it a dog?", ["no", "yes"]),
        ("choice", MANY, list("ABCD")),
    ],
)
def test_chance_says_every_answer_of_the_right_form_about_equally_often(
    form: Form, question: str, allowed: list[str]
) -> None:
    asked = (replace(request(question, seed=n), form=form) for n in range(1100))
    drawn = Counter(reply.text for reply in answered({"plugin": "random"}, *asked))
    expected = 1100 / len(allowed)
    assert set(drawn) == set(allowed)
    assert all(abs(count - expected) < 5 * expected**0.5 for count in drawn.values())


# Recorded responses


def recorded(folder: Path, **options: Any) -> dict[str, Any]:
    return {"plugin": "responses", "path": str(write_results(folder)), **options}


def of_row(number: int, question: str = "", side: Any = "original") -> AnswerRequest:
    item = f"COCO_val2014_{(number + 1) // 2:012d}-{number:05d}"
    return AnswerRequest(item, side, "direct", image(), question or f"What of {number}?", 1)


def test_a_recorded_response_is_given_to_its_row_and_side(tmp_path: Path) -> None:
    first, other = answered(recorded(tmp_path), of_row(3), of_row(2, question="What of 2 if?", side="counterfactual"))
    assert (first.text, first.status, first.model) == ("said 3", Status.OK, "model_responses")
    assert (other.text, other.asked, other.calls) == ("said 2 if", "What of 2 if?", ())
    assert answered(recorded(tmp_path, model="LLaVA"), of_row(1))[0].model == "LLaVA"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (of_row(13), "has no row for 'COCO_val2014_000000000007-00013'"),
        (of_row(3, question="What of 4?"), "row 3 of .*model_responses.csv asks another one"),
        (of_row(3, side="counterfactual"), "row 3 of .* asks another one"),
    ],
)
def test_a_question_that_the_file_does_not_have_is_rejected_and_not_answered(
    tmp_path: Path, asked: AnswerRequest, says: str
) -> None:
    [reply] = answered(recorded(tmp_path), asked)
    assert (reply.status, reply.text) == (Status.REJECTED, "")
    assert re.match(f"no such question: .*{says}", reply.reason)


def test_an_empty_response_is_unparsable_and_no_answer(tmp_path: Path) -> None:
    spec = recorded(tmp_path)
    path = Path(spec["path"])
    path.write_text(path.read_text().replace(",said 3,", ",,"))
    assert answered(spec, of_row(3))[0].status == Status.UNPARSABLE


def test_doctor_counts_the_responses_that_can_be_used(tmp_path: Path) -> None:
    spec = recorded(tmp_path)
    path = Path(spec["path"])
    assert registry.dependencies("solvers", spec) == (spec["path"],)
    [finding] = registry.diagnose("solvers", spec)
    assert finding.fine
    assert "12 responses" in finding.text
    path.write_text(path.read_text().replace("What of 3?,", "What of 3?,about "))
    [finding] = registry.diagnose("solvers", spec)
    assert not finding.fine
    assert "11 responses, and 1 rows cannot be used" in finding.text
    path.write_text("img_path,query\n")
    [finding] = registry.diagnose("solvers", spec)
    assert "column 'answer' is missing" in finding.text
    with pytest.raises(InputError, match="column 'answer' is missing"):
        answered(spec, of_row(1))
    path.unlink()
    assert list(registry.diagnose("solvers", spec)) == []


ALWAYS_BROKEN = "def execute_command(image):\n    answer = len(ImagePatch(image).find('dog'))\n    return answer -* 1"
SILENT = "def execute_command(image):\n    answer = 4"


def test_a_coder_whose_every_program_breaks_has_faults_alone_and_the_fall_back_is_told_apart() -> None:
    reply, _ = writing(f"```python\n{ALWAYS_BROKEN}\n```")
    run = reply.program
    assert run is not None
    assert (reply.text, run.fallback, run.unsupported) == ("4", True, False)
    assert run.fault.startswith("line 3: not Python")
    assert run.code.endswith("return answer -* 1")


def test_a_program_that_does_not_parse_is_repaired_where_that_is_asked_for() -> None:
    reply, model = writing(ALWAYS_BROKEN, FIXED, repair=True)
    run = reply.program
    assert run is not None
    assert (reply.text, run.fault, run.fallback, len(model.seen)) == ("4", "", False, 2)
    assert run.first_fault.startswith("line 3: not Python")


def test_a_program_that_returns_nothing_is_a_fault_where_that_is_asked_for() -> None:
    reply, _ = writing(SILENT)
    assert reply.program is not None
    assert (reply.text, reply.program.nothing, reply.program.fault) == ("no", True, "")
    reply, _ = writing(SILENT, none_is_fault=True)
    assert reply.program is not None
    assert (reply.text, reply.program.fallback) == ("4", True)
    reply, model = writing(SILENT, FIXED, none_is_fault=True, repair=True)
    assert reply.program is not None
    assert (reply.text, reply.program.fallback, len(model.seen)) == ("4", False, 2)
    assert "returned nothing" in reply.program.first_fault
