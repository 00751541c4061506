"""Every vision passes the family's contract: it sees, or says in one line what it does not offer."""

from collections.abc import Callable
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.cvqa.programs.vision import Found, View, Vision, VisionError
from cfeval.cvqa.synthetic.drawing import png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from tests.slow import each_once_fast
from tests.tiny import detectors, visions

SAYS = {"plugin": "mock", "replies": ["a reply"]}
EXAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "puzzle": dict,
    "world": dict,
    "mock": lambda: {"found": {"object": [(1.0, 1.0, 9.0, 9.0)]}},
    "transformers": lambda: {
        "detector": str(detectors.checkpoint("owlv2")),
        "matcher": str(visions.checkpoint("clip")),
        "depth": str(visions.checkpoint("dpt")),
        "sam": str(detectors.checkpoint("sam2")),
        "vqa": SAYS,
        "llm": SAYS,
        "threshold": 1e-6,
        "device": "cpu",
    },
}
"""For every plugin the options with which it is put to the test."""
NAMES = registry.names("vision_tools")


def built(name: str) -> Vision:
    vision: Vision = registry.build("vision_tools", {"plugin": name, **EXAMPLES[name]()})
    return vision


def view(name: str) -> View:
    """An image that the plugin is for."""
    if name == "world":
        image = next(registry.build("datasets", {"plugin": "world"}).samples(1, 3)).image
    else:
        image = Image(png_of(make_puzzle(1, 1, "abs_counting_1")))
    height, width = image.pixels.shape[:2]
    return View(image, (0, 0, width, height), item="i", seed=1)


def tried(operation: Callable[[], Any]) -> Any:
    """What an operation gives; for one that is not offered its reason, one line."""
    try:
        return operation()
    except VisionError as error:
        [line] = str(error).splitlines()
        return error.status, line


def test_every_plug_in_has_a_contract_test() -> None:
    assert set(NAMES) == set(EXAMPLES)


def test_an_unknown_plug_in_or_option_is_named() -> None:
    with pytest.raises(ParamsError, match="unknown vision_tools plugin 'puzle'; did you mean 'puzzle'"):
        registry.build("vision_tools", {"plugin": "puzle"})
    for name in NAMES:
        with pytest.raises(ParamsError, match="unknown option 'no_such_option'"):
            registry.check("vision_tools", {"plugin": name, "no_such_option": 1}, "here")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_found_lies_in_the_part_and_the_surest_comes_first(name: str) -> None:
    vision, whole = built(name), view(name)
    found = vision.find(whole, "object")
    assert found
    for one in found:
        left, top, right, bottom = one.box
        assert 0 <= left < right <= whole.box[2]
        assert 0 <= top < bottom <= whole.box[3]
        assert 0 <= one.score <= 1
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    half = (0.0, 0.0, whole.box[2] / 2, whole.box[3])
    assert all(one.box[0] < half[2] for one in vision.find(View(whole.image, half), "object"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_arguments_give_the_same_result_whoever_asked_before(name: str) -> None:
    first, second, whole = built(name), built(name), view(name)
    found: Found = first.find(whole, "object")[0]
    part = View(whole.image, found.box, found, "i", 1)
    texts = ["red polygon", "blue circle"]

    def operations(vision: Vision) -> list[Callable[[], Any]]:
        return [
            lambda: vision.find(part, "object"),
            lambda: vision.ask(part, "What color is this polygon?"),
            lambda: vision.ask(whole, "How many objects are there?"),
            lambda: vision.match(part, texts),
            lambda: vision.depth(part),
            lambda: vision.inside(part, whole),
            lambda: vision.tell("How many is a dozen?", False),
        ]

    forwards = [tried(operation) for operation in operations(first)]
    backwards = [tried(operation) for operation in reversed(operations(second))]
    assert forwards == backwards[::-1]
    scores = forwards[3]
    if isinstance(scores, list):
        assert len(scores) == 2
        assert sum(scores) == pytest.approx(1)
    assert isinstance(forwards[5], bool | tuple)


TEXTS = ("", "{0.__class__}", "x" * 5000, "a\nb", "💡 ünïcode")


@pytest.mark.parametrize(("text", "name"), each_once_fast(TEXTS, NAMES))
def test_any_text_is_taken_or_refused(text: str, name: str) -> None:
    vision, whole = built(name), view(name)
    for operation in (
        lambda: vision.find(whole, text),
        lambda: vision.ask(whole, text),
        lambda: vision.match(whole, [text, "a"]),
        lambda: vision.tell(text, True),
    ):
        tried(operation)
