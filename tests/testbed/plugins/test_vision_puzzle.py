"""The puzzles' vision: names, questions, colors, outlines."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import Found, View, Vision, VisionError
from cfeval.cvqa.synthetic.drawing import png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.synthetic.records import Circle, DotScene, FlowerScene, Puzzle, PuzzleType


def vision(**options: Any) -> Vision:
    built: Vision = registry.build("vision_tools", {"plugin": "puzzle", **options})
    return built


EYES = vision()


def shown(kind: PuzzleType, number: int = 3) -> tuple[Puzzle, View]:
    puzzle = make_puzzle(31, number, kind)
    return puzzle, View(Image(png_of(puzzle)), (0, 0, puzzle.size, puzzle.size))


def part(view: View, found: Found) -> View:
    return View(view.image, found.box, found)


def circles(puzzle: Puzzle) -> tuple[Circle, ...]:
    assert isinstance(puzzle.scene, DotScene)
    return puzzle.scene.circles


def places(found: list[Found]) -> list[tuple[int, int]]:
    """The middles, to the pixel."""
    return [(round((f.box[0] + f.box[2]) / 2), round((f.box[1] + f.box[3]) / 2)) for f in found]


def test_circles_are_found_in_reading_order_each_with_its_dots() -> None:
    puzzle, view = shown("abs_counting_4")
    found = EYES.find(view, "circle")
    assert places(found) == [(c.x, c.y) for c in circles(puzzle)]
    assert [len(EYES.find(part(view, one), "dots")) for one in found] == [len(c.dots) for c in circles(puzzle)]
    dots = EYES.find(view, "dot")
    inside = [sum(EYES.inside(part(view, dot), part(view, one)) for dot in dots) for one in found]
    assert inside == [len(c.dots) for c in circles(puzzle)]
    assert {round(dot.box[2] - dot.box[0]) for dot in dots} <= {10, 11, 12}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("circles", (0, 1, 2, 3, 4, 5)),
        ("top circle", (0, 1, 2)),
        ("the top circles", (0, 1, 2)),
        ("bottom right circle", (5,)),
        ("third circle", (2,)),
        ("sixth circle", (5,)),
        ("leftmost top circle", (0,)),
        ("two rightmost circles", (2, 5)),
        ("second bottom circle", (4,)),
        ("polygon", ()),
        ("flower", ()),
    ],
)
def test_names_say_which(name: str, wanted: tuple[int, ...]) -> None:
    puzzle, view = shown("abs_counting_5")
    six = circles(puzzle)
    assert sorted(places(EYES.find(view, name))) == sorted((six[n].x, six[n].y) for n in wanted)


def test_a_part_of_the_image_holds_what_has_its_middle_there() -> None:
    puzzle, view = shown("abs_counting_4")
    half = View(view.image, (0, 0, puzzle.size, puzzle.size / 2))
    assert places(EYES.find(half, "circle")) == [(c.x, c.y) for c in circles(puzzle)[:3]]
    assert EYES.find(View(view.image, (0, 0, 5, 5)), "circle") == []


@pytest.mark.parametrize("number", range(1, 6))
def test_polygons_have_colors_and_hold_flowers(number: int) -> None:
    puzzle, view = shown("abs_counting_3", number)
    assert isinstance(puzzle.scene, FlowerScene)
    flowers = [part(view, found) for found in EYES.find(view, "flower")]
    counts = puzzle.scene.counts()
    assert len(flowers) == sum(counts.values())
    for place, polygon in enumerate(puzzle.scene.polygons):
        [found] = EYES.find(view, f"{polygon.color} polygons")
        outer = part(view, found)
        inside = sum(EYES.inside(flower, outer) for flower in flowers)
        assert inside == sum(count for name, count in counts.items() if f"in{place + 1}" in name)
        assert EYES.ask(outer, "What color is this polygon?") == polygon.color
        texts = ["red polygon", f"{polygon.color} polygon", "no such thing"]
        best = max(range(3), key=EYES.match(outer, texts).__getitem__)
        assert polygon.color in texts[best]


def test_questions_are_answered_from_what_is_there() -> None:
    puzzle, view = shown("abs_counting_2")
    assert isinstance(puzzle.scene, FlowerScene)
    first, second = (polygon.color for polygon in puzzle.scene.polygons)
    count = str(sum(puzzle.scene.counts().values()))
    for question in ("How many flowers are there?", "how many flowers", "What is the number of flowers in the image?"):
        assert EYES.ask(view, question) == count
    assert EYES.ask(view, f"How many {first} polygons are there in this picture?") == "1"
    assert EYES.ask(view, f"Is there a {second} polygon?") == "yes"
    assert EYES.ask(view, "Are there dots here?") == "no"
    _, dotted = shown("abs_counting_6")
    assert EYES.ask(dotted, "How many circles does the image contain?") == "6"
    ring = EYES.find(dotted, "circle")[0]
    dots = str(len(EYES.find(part(dotted, ring), "dot")))
    for question in ("How many dots does this circle contain?", "How many dots are in this circle?", "How many dots?"):
        assert EYES.ask(part(dotted, ring), question) == dots


@pytest.mark.parametrize("number", range(1, 5))
def test_programs_can_verify_properties_and_presence(number: int) -> None:
    puzzle, view = shown("abs_counting_1", number)
    assert isinstance(puzzle.scene, FlowerScene)
    first, second = (polygon.color for polygon in puzzle.scene.polygons)
    lines = [
        "def execute_command(image):",
        "    patch = ImagePatch(image)",
        f"    thing = patch.find('{first} polygon')[0]",
        f"    said = [patch.exists('{second} polygon'), thing.verify_property('polygon', '{first}')]",
        f"    said += [not thing.verify_property('polygon', '{second}'), not patch.exists('dot')]",
        f"    said += [thing.best_text_match(['{second}', '{first}']) == '{first}']",
        "    return all(said)",
    ]
    run = run_program("vipergpt", "\n".join(lines), view, EYES)
    assert (run.result, run.fault) == ("yes", "")


@pytest.mark.parametrize(
    "code",
    [
        "dots = 0\nfor circle in patch.find('circle'):\n    said = circle.simple_query('How many dots?')\n"
        "    dots = max(dots, int(said))",
        "circles = patch.find('circle')\ncircles.sort(key=lambda x: len(x.find('dot')), reverse=True)\n"
        "dots = len(circles[0].find('dot'))",
        "dots = max(coerce_to_numeric(c.simple_query('How many dots does this circle contain?')) "
        "for c in patch.find('circle'))",
    ],
)
def test_programs_like_those_of_the_papers_supplement_get_the_right_answer(code: str) -> None:
    puzzle, view = shown("abs_counting_6")
    body = ["patch = ImagePatch(image)", *code.split("\n"), "return dots"]
    run = run_program("vipergpt", "\n    ".join(["def execute_command(image):", *body]), view, EYES)
    assert (run.result, run.fault) == (str(puzzle.original), "")


@pytest.mark.parametrize(
    "question",
    [
        "How many flowers are outside the red polygons?",
        "How many dots are there in all the circles together? Select the correct answer:A:16  B:17  C:12  D:13",
        "How many trees are there?",
        "What is this?",
        "What color is the sky?",
        "",
        "How many dots are there that are not blue?",
        "How many dots that contain?",
        "How many dots are there in each circle?",
    ],
)
def test_another_question_is_refused_with_what_is_offered(question: str) -> None:
    _, view = shown("abs_counting_4")
    with pytest.raises(VisionError, match=r"cannot answer|finds no"):
        EYES.ask(view, question)


def test_a_question_about_a_polygon_goes_by_its_outline_and_is_asked_of_it_alone() -> None:
    puzzle, view = shown("abs_counting_2")
    assert isinstance(puzzle.scene, FlowerScene)
    counts = puzzle.scene.counts()
    [found] = EYES.find(view, f"{puzzle.scene.polygons[0].color} polygon")
    for question in ("How many flowers are in this polygon?", "How many flowers does the polygon contain?"):
        assert EYES.ask(part(view, found), question) == str(counts["in1_in2"] + counts["in1_out2"])
        with pytest.raises(VisionError, match="cannot tell which polygon is meant"):
            EYES.ask(view, question)


def test_what_is_not_offered_is_said_in_one_line() -> None:
    _, view = shown("abs_counting_1")
    flower = part(view, EYES.find(view, "flower")[0])
    refused = [
        (lambda: EYES.depth(view), "no depth"),
        (lambda: EYES.find(view, "unicorn"), "it finds dots, circles"),
        (lambda: EYES.tell("What is a polygon?", True), "no language model; set its option 'llm'"),
        (lambda: EYES.match(view, ["a dog", "a cat"]), "must name one of purple, red"),
        (lambda: EYES.match(view, ["red polygon", "blue polygon"]), "there are 2 in the part"),
        (lambda: EYES.ask(view, "What color is the polygon?"), "there are 2 in the part"),
        (lambda: EYES.inside(view, flower), "nothing is inside a flower"),
    ]
    for operation, reason in refused:
        with pytest.raises(VisionError, match=reason) as caught:
            operation()
        assert "\n" not in str(caught.value)
        assert caught.value.status == "ok"


def test_a_part_that_is_no_finding_has_its_box_for_an_outline() -> None:
    _, view = shown("abs_counting_1")
    flower = part(view, EYES.find(view, "flower")[0])
    assert EYES.inside(flower, view)
    assert not EYES.inside(flower, View(view.image, (0, 0, 2, 2)))
    assert EYES.inside(flower, View(view.image, view.box, Found(view.box)))


def test_a_language_model_tells_what_a_text_asks() -> None:
    told = vision(llm={"plugin": "mock", "replies": ["said: {question}"]}).tell("How many is a dozen?", False)
    assert told.startswith("said: How many is a dozen?")


def test_an_image_without_any_puzzle_has_nothing_in_it() -> None:
    view = View(Image.from_pixels(np.full((50, 60, 3), 90, dtype=np.uint8)), (0, 0, 60, 50))
    assert [EYES.find(view, name) for name in ("dot", "circle", "polygon")] == [[], [], []]


def test_a_question_takes_at_most_thirty_milliseconds_of_computing() -> None:
    from time import process_time

    times = []
    for number in range(1, 9):
        _, view = shown("abs_counting_1", number)
        started = process_time()
        found = EYES.find(view, "flower")
        polygon = part(view, EYES.find(view, "polygon")[0])
        Counter(EYES.inside(part(view, one), polygon) for one in found)
        times.append((process_time() - started) / (2 + len(found)))
    assert np.median(times) < 0.03
