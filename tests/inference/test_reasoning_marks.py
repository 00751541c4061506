"""Thoughts, special tokens and tags around an answer, for every mark in every place; quoted marks stay."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.cvqa.extraction import robust
from cfeval.cvqa.programs.reply import cut_program
from cfeval.edct.protocols.edct_2025 import read_instructions, read_verdict
from cfeval.inference.chat import ChatReply
from cfeval.inference.remote.openai_api import chat_reply
from cfeval.inference.thinking import answer_of, is_mark, without_thoughts
from tests.edct.plugins.test_chat_judge import judged
from tests.edct.plugins.test_semantic import verified
from tests.fake_chat import FakeChat

NAMES = (
    *("think", "thinking", "thought", "thoughts", "thought_process", "reason", "reasoning", "reasoning_process"),
    *("analysis", "reflection", "scratchpad", "inner_thoughts", "inner_monologue", "internal_monologue", "monologue"),
    *("chain_of_thought", "deliberation", "seed:think", "antml:thinking", "think:opensource", "SUMMARY", "CAPTION"),
)
PAIRS = [
    *((f"<{name}>", f"</{name}>") for name in NAMES),
    ("<THINK>", "</THINK>"),
    ('<thinking budget="9">', "</thinking >"),
    ("[THINK]", "[/THINK]"),
    ("[REASONING]", "[/REASONING]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<｜begin▁of▁thought｜>", "<｜end▁of▁thought｜>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|im_start|>think\n", "<|im_start|>answer\n"),
    ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>commentary<|message|>", "<|end|><|channel|>final<|message|>"),
]
AT_START = [
    ("analysis", "assistantfinal"),
    ("Here is my thought process:", "Here is my response:"),
    ("Here's my thought process:", "Here's my response:"),
]
# A template may have the opening mark in the prompt; these closing ones say so alone.
LONE = [close for _, close in PAIRS if not close.startswith("<|end|>")]
ENDS = (
    *("<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|end|>"),
    *("<|return|>", "<|eot|>", "<|end_of_turn|>", "<turn|>", "<eos>", "<end_of_utterance>", "<seed:eos>", "<|call|>"),
    *(
        "<｜end▁of▁sentence｜>",
        "<|END_OF_TURN_TOKEN|>",
        "<|END_RESPONSE|>",
        "<|assistant_end|>",
        "[|endofturn|]",
        "[e~[",
    ),
    *("<pad>", "<|user|>", "<|im_end|>\n<|endoftext|>", "</s></s>"),
)
BEGINS = (
    "<s>",
    "<bos>",
    "<|im_start|>assistant\n",
    "<|start|>assistant<|message|>",
    "<|START_RESPONSE|>",
    "<start_of_turn>model\n",
)
ANSWERS = ["red", "No.", "Yes, it is 3 m long.", "PCS: 1\nNCC: 0\nCCS: 0", '"red"', '{"pcs": 1}', "不是", "`x` < 3"]
THOUGHTS = ["It is red", "Is it 1?\n\nPCS: 0\nNCC: 0\nCCS: 0", 'They say "stop" here', "", "a < b, [1]"]
GAPS = ["", "\n", "\n\n", " "]


@pytest.mark.parametrize(("opening", "closing"), [*PAIRS, *AT_START])
@pytest.mark.parametrize("answer", ANSWERS)
def test_thoughts_before_an_answer_are_cut_off(opening: str, closing: str, answer: str) -> None:
    for thought, gap, end in product(THOUGHTS, GAPS, ["", "\n", *ENDS[:3]]):
        thought = f"It {thought}" if opening == "analysis" else thought
        break_ = "\n" if closing.startswith("Here") else gap
        assert answer_of(f"{opening}{thought}{break_}{closing}{gap}{answer}{end}") == answer


@pytest.mark.parametrize("closing", LONE)
@pytest.mark.parametrize("answer", ANSWERS)
def test_thoughts_whose_beginning_is_in_the_prompt_are_cut_off(closing: str, answer: str) -> None:
    for thought, gap in product(THOUGHTS, GAPS):
        assert answer_of(f"{thought}{gap}{closing}{gap}{answer}") == answer


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_thoughts_in_other_places(opening: str, closing: str, answer: str) -> None:
    block = f"{opening}It may be so{closing}"
    assert answer_of(f"{answer}\n{block}") == answer, "behind it"
    assert answer_of(f"{block}\n{block}\n{answer}") == answer, "twice"
    assert answer_of(f"Sure.\n{block}\n{answer}") == answer, "after a preface"
    if not closing.startswith("<|end|>"):
        assert answer_of(f"{opening}a {opening}b{closing} c{closing}{answer}") == answer, "nested"
        assert answer_of(f'{opening}I close it by "{closing}" later.{closing}{answer}') == answer, "quoted in thoughts"


@pytest.mark.parametrize(("opening", "closing"), [*PAIRS, AT_START[0]])
def test_thoughts_that_do_not_end_are_no_answer_whatever_the_finish_reason(opening: str, closing: str) -> None:
    thought = f"{opening}It seems to be red\nPCS: 1\nNCC: 1\nCCS: 1"
    before = ["", "\n"] if opening == "analysis" else ["", "\n", "red\n", "Well. ", f"<think>a</think>red\n{opening}"]
    for text in (f"{one}{thought}" for one in before[: 1 if opening == "analysis" else None]):
        assert answer_of(text) is None
        reply = ChatReply(text, status=Status.OK)
        assert (reply.text, reply.status) == (text, Status.TRUNCATED)
        assert "do not end" in reply.reason
        assert read_verdict(text) is None
    quoted = f'{opening}I shall close it by "{closing.strip()}" and then'
    assert answer_of(quoted) is None or closing.startswith("<|end|>")


@pytest.mark.parametrize("mark", sorted({mark for pair in PAIRS for mark in pair if "\n" not in mark} | {*ENDS[:-2]}))
@pytest.mark.parametrize(
    "sentence",
    [
        "The sign reads `{}` in red.",
        'The sign reads "{}" in red.',
        "The sign reads “{}” in red.",
        "The sign reads ‘{}’ in red.",
        "The sign reads '{}' in red.",
        "Auf dem Schild steht „{}“ in Rot.",
        "Le panneau dit « {} ».",
        "牌子上写着「{}」。",
        '牌子上写着"{}"。',
        'The shirt says "press {} now" in red.',
        "`a{}b` is printed there.",
    ],
)
def test_a_quoted_mark_stays(mark: str, sentence: str) -> None:
    text = sentence.format(mark)
    assert answer_of(text) == without_thoughts(text) == ChatReply(text).text == text
    assert answer_of(f"<think>a</think>{text}") == text
    assert ChatReply(text).status == Status.OK


@pytest.mark.parametrize(("opening", "closing"), [pair for pair in PAIRS if pair[1].count("<") < 2])
def test_a_mark_in_mid_sentence_stays(opening: str, closing: str) -> None:
    for mark in (opening.strip(), closing.strip()):
        for text in (f"The word {mark} is written on the wall.", f"The words stop, {mark}, and go."):
            assert answer_of(text) == text


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_special_tokens_around_an_answer_are_stripped(end: str, answer: str) -> None:
    for begin, gap in product(["", *BEGINS], GAPS):
        assert answer_of(f"{begin}{answer}{gap}{end}") == answer
    if end not in ("<pad>", "<|user|>"):
        assert answer_of(f"{answer}{end}\n<|im_start|>user\nAnd now?") == answer, "a turn that the model made up"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>red</answer>", "red"),
        ("<think>a</think>\n<answer> red </answer>", "red"),
        ("<answer>red", "red"),
        ("<|begin_of_box|>red<|end_of_box|>", "red"),
        ("<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>red<|end_of_solution|>", "red"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>red<|END_RESPONSE|>", "red"),
        ("<answer>red</answer> or <answer>blue</answer>", "<answer>red</answer> or <answer>blue</answer>"),
        ("It is <answer>red</answer>.", "It is <answer>red</answer>."),
    ],
)
def test_a_tag_around_the_whole_answer_is_taken_off(text: str, answer: str) -> None:
    assert answer_of(text) == answer


@given(st.text() | st.text("<>/|thinkanlysisHer'`\"[] \n◁▷s", max_size=60))
def test_a_reply_without_marks_keeps_every_character_and_none_is_invented(text: str) -> None:
    found = answer_of(text)
    assert found is None or found in text
    if not set("<[]◁") & set(text) and not text.lstrip().lower().startswith(("analysis", "here")):
        assert found == text
    if found is not None and answer_of(found) is not None:
        assert ChatReply(found).text == answer_of(found)


@given(st.text(max_size=30))
def test_marks_in_json_stay(text: str) -> None:
    said = json.dumps({"analysis": f"</think> {text} <think>", "pcs": 1, "ncc": 1, "ccs": 1})
    assert answer_of(said) == said
    assert ChatReply(said).status == Status.OK


@pytest.mark.parametrize("part", ["<think>", "</think>", "<", "`", '"', "<|end|>", "</s>", "analysis", "[THINK", "\n "])
def test_the_time_is_linear(part: str) -> None:
    for text in (part * 100_000, f"<think>{part * 100_000}</think>", f"x {part}y " * 50_000):
        answer_of(text)


def test_every_reader_takes_the_same_marks_off() -> None:
    verdict, instruction = "PCS: 1\nNCC: 0\nCCS: 0", "Concept: bus\nPositive: Make the bus blue.\nNegative: red bus"
    program = "def execute_command(image):\n    return 3"
    for opening, closing in PAIRS:
        thought = f"{opening}PCS: 0\nNCC: 1\nCCS: 0\nIt may be 7 or no{closing}\n"
        assert judged(FakeChat(say=lambda _, text=thought + verdict: ChatReply(text))).scores == {"pcs": 1, "ncc": 0}
        assert verified(f"{thought}PRESENT: 1\nAS_ASKED: 1\nOTHERS: 0").verified is True
        assert (
            read_instructions(ChatReply(thought + instruction).text, 6) == read_instructions(instruction, 6) is not None
        )
        assert robust.read(f"{thought}There are 3 boats.", "number") == "3"
        assert cut_program(thought + program, "vipergpt") == program


def completion(message: dict[str, object]) -> dict[str, object]:
    return {"model": "m", "choices": [{"finish_reason": "stop", "message": message}]}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize(
    "content", [None, "", " \n", [], [{"type": "thinking", "thinking": [{"type": "text", "text": "red"}]}]]
)
def test_thoughts_beside_an_empty_answer_are_an_empty_answer(name: str, content: object) -> None:
    found = chat_reply(completion({"content": content, name: "It is red."}), "m", (), "KEY")
    assert (found.status, found.text) == (Status.UNPARSABLE, "")
    assert "empty" in found.reason


def test_parts_that_are_thoughts_are_no_part_of_the_answer() -> None:
    parts = [{"type": kind, "text": f"({kind})"} for kind in ("reasoning", "thinking", "text", "output_text")]
    found = chat_reply(completion({"content": [*parts, {"text": "!"}]}), "m", (), "KEY")
    assert found.text == "(text)(output_text)!"


@pytest.mark.parametrize(
    "call",
    [
        '<|python_tag|>{"name": "f", "parameters": {}}',
        "<｜tool▁calls▁begin｜>f({})<｜tool▁calls▁end｜>",
        '<|START_ACTION|>[{"tool_name": "f"}]<|END_ACTION|>',
        '<tool_call>{"name": "f"}</tool_call>',
        '[TOOL_CALLS][{"name": "f"}]',
    ],
)
def test_calls_of_tools_stay(call: str) -> None:
    assert answer_of(call) == answer_of(f"<think>a</think>{call}<|im_end|>") == call
    harmony = '<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>'
    assert '{"a": 1}' in (answer_of(harmony) or "")


class Tokens:
    """A tokenizer with a token a text; those between angle brackets and the first of Mistral's are special."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.all_special_ids = [n for n, text in enumerate(texts) if text[0] in "<["]
        self.all_special_tokens = [texts[n] for n in self.all_special_ids]

    def decode(self, numbers: list[int]) -> str:
        return "".join(self.texts[number] for number in numbers)


@pytest.mark.parametrize(
    "texts",
    [
        ("[THINK]", "Blue?", "[/THINK]", "red", "</s>"),
        ("<think>", "Blue?", "</think>", "red", "<|im_end|>"),
        (
            *("<|channel|>", "analysis", "<|message|>", "Blue?", "<|end|>", "<|start|>", "assistant"),
            *("<|channel|>", "final", "<|message|>", "red", "<|return|>"),
        ),
    ],
)
def test_a_local_model_whose_marks_are_special_tokens_keeps_them_until_the_thoughts_are_cut_off(
    texts: tuple[str, ...],
) -> None:
    pytest.importorskip("torch")
    from cfeval.inference.local.chat_model import _decoded

    assert ChatReply(_decoded(Tokens(*texts), list(range(len(texts))))).text == "red"


def test_tokens_of_marks_are_told_from_other_special_tokens() -> None:
    single = {mark for pair in PAIRS for mark in pair if mark.count("<") + mark.count("[") < 2 and mark.strip() == mark}
    assert all(map(is_mark, single))
    assert not any(map(is_mark, ("<|im_end|>", "<s>", "</s>", "<pad>", "<image>", "<|eot_id|>")))
