"""Programs by a chat model: what it is asked, and how a program is cut out of what it says."""

from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import ProgramReply, ProgramRequest
from cfeval.cvqa.plugins.chat import ChatProgramGenerator, ProgramGeneratorPlugin
from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View
from cfeval.cvqa.records import Language
from cfeval.inference.chat import ChatReply
from cfeval.inference.prompts import load_prompt
from tests.answers import answers
from tests.fake_chat import FakeChat
from tests.images import image

BODY = "def execute_command(image):\n    image_patch = ImagePatch(image)\n    return len(image_patch.find('dot'))"
STEPS = "BOX0=LOC(image=IMAGE,object='dot')\nANSWER0=COUNT(box=BOX0)\nFINAL_RESULT=RESULT(var=ANSWER0)"
SPEC: dict[str, Any] = {"plugin": "mock"}


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"Sure! Here it is:\n\n{BODY}\n\nThis counts the dots.",
        f"```python\n{BODY}\n```",
        f"Here:\n```\n{BODY}\n```\nand\n```python\ndef other():\n    pass\n```",
        f"```\npip install nothing\n```\n```python\nimport math\n{BODY}\n```",
        f"```python\n{BODY}",
        f"{BODY}\n\ndef execute_command(image):\n    return 'no'",
        f"{BODY}\n\nQuery: How many cats?\ndef execute_command(image):\n    return 2",
        f"{BODY}\n    Query: How many cats?",
        f"### Instruction:\ndef execute_command(image):\n    return 1\n### Response:\n{BODY}",
        f"{BODY}\nprint(execute_command(image))",
        f"{BODY}\r\n".replace("\n", "\r\n"),
    ],
)
def test_a_function_is_cut_out_of_what_surrounds_it(text: str) -> None:
    assert cut_program(text, "vipergpt") == BODY


def test_what_belongs_to_a_function_is_kept() -> None:
    text = (
        "def execute_command(image) -> str:\n    # how many?\n\n"
        "    def twice(n):\n        return 2 * n\n\n    return twice('#')"
    )
    assert cut_program(text, "vipergpt") == text
    spread = "def execute_command(\n    image,\n):\n    return 1"
    assert cut_program(spread + "\nDone.", "vipergpt") == spread


@pytest.mark.parametrize(
    "text",
    [
        STEPS,
        f"Program:\n{STEPS}",
        f"Program: {STEPS}",
        f"Here is the program:\n```\n{STEPS}\n```\nIt counts.",
        f"{STEPS}\n\nQuestion: How many cats?\nProgram:\nBOX0=LOC(image=IMAGE,object='cat')",
        STEPS.replace("\n", "\n\n"),
        f"### Response:\n  {STEPS}",
    ],
)
def test_steps_are_cut_out_of_what_surrounds_them(text: str) -> None:
    assert cut_program(text, "visprog") == STEPS


@pytest.mark.parametrize("language", ["vipergpt", "visprog"])
@pytest.mark.parametrize("text", ["", "I cannot see the image.", "return 3", "x = 3", "```\n```", "The answer is (B)."])
def test_a_reply_without_a_program_is_unparsable(text: str, language: Language) -> None:
    assert cut_program(text, language) == ""
    reply = write(FakeChat(ChatReply(text or " ", "m", calls=("c",))), language)
    assert (reply.status, reply.code, reply.calls) == (Status.UNPARSABLE, "", ("c",))
    assert "the reply holds no" in reply.reason


def write(model: FakeChat, language: Language = "vipergpt", **options: Any) -> ProgramReply:
    writer = ChatProgramGenerator(model, ProgramGeneratorPlugin(model=SPEC, **options))
    [reply] = answers(writer.write, [ProgramRequest("i", "How many {dots} are there?", "direct", language, 7)])
    return reply


def test_a_failed_reply_keeps_its_status_and_is_no_program() -> None:
    reply = write(FakeChat(ChatReply(BODY, "m", Status.TRUNCATED, "too long")))
    assert (reply.status, reply.reason, reply.code, reply.completion) == (Status.TRUNCATED, "too long", "", BODY)


@pytest.mark.parametrize("language", ["vipergpt", "visprog"])
def test_the_model_is_told_the_language_and_the_question_and_sees_no_image(language: Language) -> None:
    model = FakeChat(ChatReply(BODY + "\n" + STEPS, "m"))
    write(model, language, max_tokens=99)
    [asked] = model.seen
    [turn] = asked.turns
    assert turn.image is None
    assert asked.max_tokens == 99
    assert "How many {dots} are there?" in turn.text
    assert ("execute_command" if language == "vipergpt" else "FINAL_RESULT=RESULT(") in turn.text


def test_languages_and_seeds_have_seeds_of_their_own() -> None:
    model = FakeChat(ChatReply(BODY, "m"))
    for language in ("vipergpt", "visprog", "vipergpt"):
        write(model, language)
    first, second, third = (asked.seed for asked in model.seen)
    assert first == third != second


@pytest.mark.parametrize(
    ("template", "begins"),
    [
        ("plain", "# Task"),
        ("llama", "### Instruction:\n# Task"),
        ("alpaca", "Below is an instruction"),
    ],
)
def test_an_instruction_template_is_put_around_the_prompt(template: str, begins: str) -> None:
    model = FakeChat(ChatReply(BODY, "m"))
    write(model, template=template)
    text = model.seen[0].turns[0].text
    assert text.startswith(begins)
    assert text.endswith("### Response:") == (template != "plain")


def test_own_prompts_are_used_and_missing_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "vipergpt.md").write_text("Program for: {question}")
    model = FakeChat(ChatReply(BODY, "m"))
    write(model, prompts=str(tmp_path))
    assert model.seen[0].turns[0].text == "Program for: How many {dots} are there?"
    with pytest.raises(InputError, match="no prompt visprog"):
        write(model, "visprog", prompts=str(tmp_path))
    spec = {"plugin": "chat", "model": SPEC, "prompts": str(tmp_path)}
    (tmp_path / "visprog.md").write_text("{questions}")
    assert [
        finding.fine for finding in registry.diagnose("program_generators", spec) if "visprog.md" in finding.text
    ] == [False]


def test_what_a_request_costs_is_known_before() -> None:
    spec = {"plugin": "chat", "model": {"plugin": "openai", "model": "lab/llm", "provider": "openrouter"}}
    [call] = registry.estimate_calls("program_generators", spec)
    assert call.max_tokens == 512
    assert call.prompt > 3000
    assert call.images_shown == 0
    assert len(registry.dependencies("program_generators", spec)) >= 2


def examples(language: Language) -> list[str]:
    """The example programs of a prompt."""
    mark = "Query: " if language == "vipergpt" else "Question: "
    blocks = load_prompt(language, protocol="programs", study="cvqa").split(mark)[1:-1]
    return [cut_program(block, language) for block in blocks]


@pytest.mark.parametrize("language", ["vipergpt", "visprog"])
def test_every_example_of_the_prompts_runs(language: Language) -> None:
    boxes = {name: [(2, 2, 20, 20)] for name in ("shelf", "mug", "bench", "umbrella", "kite", "table", "cup", "flag")}
    vision = registry.build("vision_tools", {"plugin": "mock", "found": boxes, "scores": {"green umbrella": 100}})
    programs = examples(language)
    assert len(programs) >= 5
    for code in programs:
        run = run_program(language, code, View(image(size=(40, 40)), (0, 0, 40, 40)), vision, fallback=False)
        assert run.fault == "", f"{run.fault}\n{code}"
        assert run.result
