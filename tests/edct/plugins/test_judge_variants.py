"""The same texts in another order, and the same task in other words: the reply has the same fields."""

import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError
from cfeval.edct.interfaces import JudgeRequest
from cfeval.edct.plugins.judges import ChatJudge, edited_first
from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.inference.chat import ChatReply, ChatRequest
from cfeval.inference.prompts import load_prompt
from tests.answers import answers
from tests.edct.plugins.judging import BAR, LABELS, RAMP, blind_of, judge_of, lines, request, unseen
from tests.fake_chat import FakeChat

VARIANTS = [{"order": order, "wording": wording} for order in ("original-first", "edited-first") for wording in "ab"]
SPEC: dict[str, Any] = {"plugin": "chat", "model": {"plugin": "mock"}}


def scores(asked: ChatRequest) -> ChatReply:
    """What the form that was asked for wants."""
    prompt = asked.turns[0].text
    if "Grade: the digit" in prompt:
        return ChatReply("Grade: 3")
    protocol = next((name for name in RULES if f"{LABELS[name][0]}: the digit" in prompt), "edct-2025")
    return ChatReply(lines(*[1, 0, 0][: len(LABELS[protocol])], protocol=protocol))


def prompts(judge: ChatJudge, asked: JudgeRequest) -> list[str]:
    """What the model is told first, in every conversation."""
    model = FakeChat(say=scores)
    judge.model = model
    answers(judge.judge, [asked])
    return [seen.turns[0].text for seen in model.seen]


def blocks(prompt: str) -> dict[str, str]:
    """The texts of a prompt by their tag, in order."""
    return dict(re.findall(r"^<([a-z-]+)-[0-9a-f]{8}>\n(.*?)\n</\1-[0-9a-f]{8}>$", prompt, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("protocol", RULES)
@pytest.mark.parametrize("options", VARIANTS)
def test_every_variant_gives_the_same_fields(protocol: str, options: dict[str, Any]) -> None:
    plain, [reply] = (
        answers(judge_of(FakeChat(say=scores), **chosen).judge, [request(protocol=protocol)])
        for chosen in ({}, options)
    )
    assert [reply] == plain
    assert tuple(reply.scores) == RULES[protocol].scores
    assert reply.grade == (3 if RULES[protocol].graded else None)


@pytest.mark.parametrize("protocol", RULES)
def test_every_variant_asks_something_else_and_holds_the_same_texts(protocol: str) -> None:
    asked = request(protocol=protocol) if protocol in CONTROLS else request(protocol=protocol, changes=(RAMP, BAR))
    told = [prompts(judge_of(FakeChat(say=scores), **options), asked) for options in VARIANTS]
    assert len({text for texts in told for text in texts}) == len(VARIANTS) * (1 + RULES[protocol].graded)
    contents = {tuple(sorted(blocks(text).values())) for texts in told for text in texts}
    assert len(contents) == 1
    assert {"No.", "steps", "Yes.", "a ramp"} <= set(*contents)


@pytest.mark.parametrize("protocol", RULES)
@pytest.mark.parametrize("wording", ["a", "b"])
def test_edited_first_puts_what_was_said_of_the_edited_image_first(protocol: str, wording: str) -> None:
    before, after = (
        [tuple(blocks(text)) for text in prompts(judge_of(FakeChat(say=scores), **options), request(protocol=protocol))]
        for options in ({"wording": wording}, {"wording": wording, "order": "edited-first"})
    )
    for usual, turned in zip(before, after, strict=True):
        middle = usual[2:-2]
        assert turned == (*usual[-2:], *middle, *usual[:2])


def test_the_blind_judge_reads_the_question_first_in_either_order() -> None:
    usual, turned = (
        tuple(blocks(prompts(blind_of(FakeChat(say=scores), order=order), unseen())[0]))
        for order in ("original-first", "edited-first")
    )
    assert usual[0] == turned[0] == "question"
    assert turned[1:] == (*usual[3:], *usual[1:3])


def test_a_text_that_looks_like_a_tag_or_placeholder_is_not_moved() -> None:
    sly = "<original-answer-{mark}>\n{original_answer}\n</original-answer-{mark}>"
    [prompt] = prompts(judge_of(FakeChat(say=scores), order="edited-first"), request(new_explanation=sly))
    assert blocks(prompt)["explanation-after-the-edit"] == sly


OWN = {
    "loose": "A: {original_answer} B: {edited_answer}",
    "twice": "<a-{mark}>\n{original_answer}\n</a-{mark}>\nAgain: {original_answer}",
    "another end": "<a-{mark}>\n{original_answer}\n</b-{mark}>",
}


@pytest.mark.parametrize("template", OWN.values(), ids=OWN)
def test_an_own_template_whose_texts_cannot_be_moved_is_told(tmp_path: Path, template: str) -> None:
    (tmp_path / "judge.md").write_text(template)
    (tmp_path / "judge_repair.md").write_text("again")
    spec = SPEC | {"prompts": str(tmp_path)}
    assert not list(registry.diagnose("judges", spec, protocols=["edct-2025"]))
    [finding] = registry.diagnose("judges", spec | {"order": "edited-first"}, protocols=["edct-2025"])
    assert "judge.md: order: edited-first moves texts, and {" in finding.text
    with pytest.raises(InputError, match="does not stand once"):
        answers(judge_of(FakeChat(say=scores), prompts=str(tmp_path), order="edited-first").judge, [request()])


def test_an_own_template_with_tags_can_be_moved_and_need_not_hold_every_text() -> None:
    one, two = ("<x-{mark}>\n{original_answer}\n</x-{mark}>", "<y-{mark}>\n{edited_answer}\n</y-{mark}>")
    assert edited_first(f"Now:\n{one}\n\nand\n{two}\nEnd.") == f"Now:\n{two}\n\nand\n{one}\nEnd."


def test_another_wording_of_an_own_folder_has_its_own_file(tmp_path: Path) -> None:
    for name in ("judge_b", "judge_repair"):
        (tmp_path / f"{name}.md").write_text(name)
    assert prompts(judge_of(FakeChat(say=scores), prompts=str(tmp_path), wording="b"), request()) == ["judge_b"]
    spec = SPEC | {"prompts": str(tmp_path), "wording": "b"}
    named = [Path(path).name for path in registry.dependencies("judges", spec, ["edct-2025"])]
    assert named == ["judge_b.md", "judge_repair.md"]


@pytest.mark.parametrize("option", [{"order": "edited"}, {"wording": "c"}])
def test_an_unknown_variant_is_one_line(option: dict[str, Any]) -> None:
    with pytest.raises(ParamsError, match=f"here: option '{next(iter(option))}' of 'chat': Input should be '"):
        registry.check("judges", SPEC | option, "here")


@pytest.mark.parametrize("name", ["edct-2025/judge", "edct-bench-2026/judge", "edct-bench-2026/grade"])
def test_no_two_wordings_share_a_sentence_of_their_task(name: str) -> None:
    folder, _, file = name.partition("/")
    both = [load_prompt(which, protocol=folder).split("# The texts")[0] for which in (file, f"{file}_b")]
    first, second = ({part.strip() for part in re.split(r"(?<=[.:])\s|\n", text) if len(part) > 40} for text in both)
    assert not first & second
