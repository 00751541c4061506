"""The lines are what trainers read: TRL's and LLaMA-Factory's, and the chat template of a vision-language model."""

import json
from typing import Any

import PIL.Image
import pytest

from cfeval.edct.training_set.cli import Layout, dataset_info, is_plain, line
from cfeval.edct.training_set.examples import Example, Message, examples
from tests.edct.training_set.items import PROMPTS, trial
from tests.tiny.vlms import checkpoint

CONVERSATION = examples("consistent", [trial()], PROMPTS, ())[1]
ANSWERS, REASONS = (
    examples("contrast", [trial(), other], PROMPTS, ())[0]
    for other in (trial((0, 0), "Red."), trial((1, 0), explanation="It is a red car."))
)
ALL = {"conversation": CONVERSATION, "answers": ANSWERS, "explanations": REASONS}


def read(example: Example, layout: Layout) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(line(example, layout))
    return content


def messages(content: dict[str, Any], reply: str = "chosen") -> list[Any]:
    """The whole conversation of a line in TRL's layout."""
    return list(content["messages"] if "messages" in content else [*content["prompt"], *content[reply]])


@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_trl_finds_a_placeholder_for_each_image_and_parts_everywhere(example: Example) -> None:
    content = read(example, "trl")
    assert content["images"] == [f"images/{example.image}.png"]
    for reply in ("chosen", "rejected"):
        said = messages(content, reply)
        assert [message["role"] for message in said] == (["user", "assistant"] * 2)[: len(said)]
        assert [[part["type"] for part in message["content"]] for message in said] == [
            ["image", "text"],
            *[["text"]] * (len(said) - 1),
        ]
    known = {"images", "provenance", "messages"}
    assert set(content) == (
        known if example is CONVERSATION else known - {"messages"} | {"prompt", "chosen", "rejected"}
    )


@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_llama_factory_finds_a_mark_for_each_image_and_turns_in_step(example: Example) -> None:
    content = read(example, "llama-factory")
    info = json.loads(dataset_info(example is not CONVERSATION, ["train.jsonl"]))["edct_train"]
    turns = content[info["columns"]["messages"]]
    whole = "".join(turn[info["tags"]["content_tag"]] for turn in turns)
    assert whole.count("<image>") == len(content[info["columns"]["images"]]) == 1
    roles = [turn[info["tags"]["role_tag"]] for turn in turns]
    assert roles == ([info["tags"]["user_tag"], info["tags"]["assistant_tag"]] * 2)[: len(turns)]
    assert len(turns) % 2 == (1 if info["ranking"] else 0)
    if info["ranking"]:
        replies = [content[info["columns"][name]] for name in ("chosen", "rejected")]
        assert [reply["role"] for reply in replies] == ["assistant"] * 2
        assert replies[0]["content"] != replies[1]["content"]


@pytest.mark.slow
@pytest.mark.parametrize("filled", [False, True], ids=["as it is", "columns filled with None"])
@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_the_chat_template_of_a_model_takes_the_messages(example: Example, filled: bool) -> None:
    from transformers import AutoProcessor

    said = messages(read(example, "trl"))
    for part in (part for message in said for part in message["content"]):
        if filled:  # as a table of columns gives them back
            part.setdefault("text", None)
        if part["type"] == "image":
            part["image"] = PIL.Image.new("RGB", (64, 64))
    processor = AutoProcessor.from_pretrained(checkpoint("qwen2_5_vl"))
    fed = processor.apply_chat_template(said, tokenize=True, return_dict=True, return_tensors="pt")
    text = processor.apply_chat_template(said, tokenize=False)
    assert fed["image_grid_thw"].shape == (1, 3)
    assert all(part["text"] in text for message in said for part in message["content"] if part["type"] == "text")


def test_provenance_is_one_text_that_holds_all_that_is_known() -> None:
    for example in ALL.values():
        for layout in ("trl", "llama-factory"):
            source = read(example, layout)["provenance"]
            assert isinstance(source, str)
            assert json.loads(source) == example.provenance.model_dump(mode="json")


@pytest.mark.parametrize("tag", ["<image>", "<video>", "<audio>"])
def test_a_text_with_a_mark_for_an_image_is_not_plain(tag: str) -> None:
    assert all(is_plain(example) for example in ALL.values())
    for other in (trial(answer=f"See {tag}."), trial(said_before=tag), trial(explanation=tag)):
        assert not all(is_plain(one) for one in examples("all", [other], PROMPTS, ()))
    [pair] = examples("contrast", [trial(), trial((0, 0), f"Red {tag}.")], PROMPTS, ())
    assert not is_plain(pair)


def test_text_of_any_script_stays_as_it_is() -> None:
    said = 'Zwei\n"rote" \u2028 車 \\ {x}'
    [_, edited] = examples("all", [trial(answer=said)], PROMPTS, ())
    [written] = [line(edited, "trl")]
    assert written.count("\n") == 1
    assert messages(json.loads(written))[1]["content"] == [{"type": "text", "text": said}]
    assert Message("assistant", said) in edited.turns
