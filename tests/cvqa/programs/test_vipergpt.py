"""ViperGPT's surface: geometry, what each call asks of the vision, and programs of the kinds that the paper shows."""

import pytest

from cfeval.cvqa.programs.vision import View
from tests.cvqa.programs.scripted import Scripted, python, thing, whole

TREES = [thing(120, 20, 140, 90, "b"), thing(10, 30, 40, 90, "a"), thing(160, 30, 180, 90, "c")]
CIRCLES = [thing(10 + 60 * n, 20, 50 + 60 * n, 60, f"c{n}") for n in range(3)]
DOTS = [thing(x, y, x + 4, y + 4) for x, y in ((20, 30), (30, 30), (80, 30), (90, 40), (90, 25), (150, 30))]
COUNTS = {f"c{n}: How many dots are there?": said for n, said in enumerate(("2 dots", "three", "There is 1"))}

SUPPLEMENT = {
    "the leftmost tree is cut down": (
        """
whole = ImagePatch(image)
trees = whole.find("tree")
trees.sort(key=lambda tree: tree.left)
first = trees[0]
rest = whole.crop(first.right + 10, whole.lower, whole.right, whole.upper)
return len(rest.find("tree"))
""",
        "2",
    ),
    "all players wear red": (
        """
whole = ImagePatch(image)
in_red = [one for one in whole.find("player") if one.verify_property("player", "red")]
return str(len(in_red))
""",
        "1",
    ),
    "no birds where a text model says yes": (
        """
whole = ImagePatch(image)
count = len(whole.find("tree"))
if whole.llm_query("Do trees fly away?") == "yes":
    count *= 0
return count
""",
        "0",
    ),
    "at most, after the fullest circle is removed": (
        """
whole = ImagePatch(image)
circles = whole.find("circle")
circles.sort(key=lambda circle: len(circle.find("dot")), reverse=True)
if len(circles) > 1:
    circles.pop(0)
return max(len(circle.find("dot")) for circle in circles)
""",
        "2",
    ),
    "at most in any circle, asked": (
        """
most = 0
for circle in ImagePatch(image).find("circle"):
    dots = coerce_to_numeric(circle.simple_query("How many dots are there?"))
    if dots > most:
        most = dots
return most
""",
        "3",
    ),
    "all dots minus some": (
        """
total = 0
for circle in ImagePatch(image).find("circle"):
    said = circle.simple_query("How many dots are there?")
    total += int(coerce_to_numeric(said))
total -= 4
return total
""",
        "2",
    ),
}


def scene() -> Scripted:
    def like(view: View, text: str) -> float:
        return 20.0 if view.found is not None and view.found.key == "p1" and text == "red player" else 1.0

    players = [thing(20 * n, 10, 20 * n + 15, 50, f"p{n}") for n in range(4)]
    return Scripted(
        {"tree": TREES, "player": players, "circle": CIRCLES, "dot": DOTS},
        COUNTS,
        {("d0", "c1")},
        {"Do trees fly away?": "yes"},
        like,
    )


@pytest.mark.parametrize("name", SUPPLEMENT)
def test_programs_of_the_papers_kinds_run_and_give_the_right_answer(name: str) -> None:
    body, expected = SUPPLEMENT[name]
    run = python(body, scene())
    assert (run.result, run.fault) == (expected, "")
    assert run.trace


def patch(expression: str, vision: Scripted | None = None) -> str:
    """The text of an expression about the patch `p` of the whole image, 200 × 100."""
    run = python(f"p = ImagePatch(image)\nreturn str({expression})", vision or scene())
    assert not run.fault, run.fault
    return run.result


def test_the_y_axis_points_up() -> None:
    low = thing(100, 80, 120, 100)
    vision = Scripted({"cat": [low]})
    assert patch("p", vision) == "imagepatch(0, 0, 200, 100)"
    assert patch("p.find('cat')[0]", vision) == "imagepatch(90, 0, 130, 30)"
    assert patch("(p.find('cat')[0].vertical_center, p.find('cat')[0].horizontal_center)", vision) == "(15.0, 110.0)"
    assert patch("(p.find('cat')[0].width, p.find('cat')[0].height)", vision) == "(40, 30)"


def test_a_crop_reaches_ten_pixels_farther_and_stays_within_its_patch() -> None:
    assert patch("p.crop(50, 20, 60, 30)") == "imagepatch(40, 10, 70, 40)"
    assert patch("p.crop(0, 0, 200, 100)") == "imagepatch(0, 0, 200, 100)"
    assert patch("p.crop(5.9, -7, 10, 500)") == "imagepatch(0, 0, 20, 100)"


def test_a_crop_of_a_crop_is_placed_in_the_whole_image() -> None:
    assert patch("p.crop(50, 20, 100, 60).crop(20, 20, 30, 30)") == "imagepatch(50, 20, 80, 50)"


def test_the_vision_is_shown_the_part_with_y_down() -> None:
    vision = Scripted()
    python("return ImagePatch(image).crop(50, 20, 60, 30).simple_query('What?')", vision)
    assert vision.asked == [("ask", (40, 60, 70, 90), "What?")]


def test_a_finding_within_a_part_is_placed_in_the_whole_image() -> None:
    vision = Scripted({"dot": [thing(60, 50, 64, 54)]})
    run = python("return str(ImagePatch(image).crop(50, 20, 90, 60).find('dot')[0])", vision)
    assert run.result == "imagepatch(50, 36, 74, 60)"


def test_a_patch_can_be_cut_from_the_image_and_its_pixels_are_an_image_again() -> None:
    assert patch("ImagePatch(image, 10, 20, 50, 60)") == "imagepatch(10, 20, 50, 60)"
    vision = Scripted()
    body = "q = ImagePatch(ImagePatch(image, 10, 20, 50, 60).cropped_image)\nq.simple_query('?')\nreturn str(q)"
    assert python(body, vision).result == "imagepatch(0, 0, 40, 40)"
    assert vision.asked == [("ask", (10, 40, 50, 80), "?")]


def test_exists_asks_about_each_finding_until_one_is_confirmed() -> None:
    vision = scene()
    vision.answers["b: Is this a tree?"] = "no"
    vision.answers["a: Is this a tree?"] = "Yes, it is"
    assert python("return ImagePatch(image).exists('tree')", vision).result == "yes"
    assert [what for what, _, _ in vision.asked] == ["find", "ask", "ask"]
    assert python("return ImagePatch(image).exists('dragon')", vision).result == "no"


@pytest.mark.parametrize(
    ("name", "said", "expected"), [("7", "7", "yes"), ("number seven", "it is 7", "yes"), ("8", "7", "no")]
)
def test_exists_of_a_number_asks_what_is_written(name: str, said: str, expected: str) -> None:
    vision = Scripted(answers={"What number is written here, in digits?": said})
    assert python(f"return ImagePatch(image).exists('{name}')", vision).result == expected


def test_verify_property_compares_with_others_of_its_kind_or_with_the_thing_itself() -> None:
    vision = Scripted(like=lambda view, text: 9.0 if text in ("red car", "shiny car") else 0.5)
    assert python("return ImagePatch(image).verify_property('car', 'red')", vision).result == "yes"
    assert python("return ImagePatch(image).verify_property('car', 'blue')", vision).result == "no"
    assert python("return ImagePatch(image).verify_property('car', 'shiny')", vision).result == "yes"
    assert next(texts for _, _, texts in vision.asked)[:2] == ("red car", "orange car")  # type: ignore[index]
    assert vision.asked[-1][2] == ("shiny car", "car")


def test_best_text_match_takes_the_likeliest_option() -> None:
    vision = Scripted(like=lambda view, text: 5.0 if text == "a blue" else 1.0)
    assert python("return ImagePatch(image).best_text_match(['red', 'blue'], 'a')", vision).result == "blue"
    assert python("return ImagePatch(image).best_text_match(['red', 'blue'])", vision).result == "red"


def test_best_image_match_takes_the_likeliest_patch() -> None:
    def like(view: View, text: str) -> float:
        return 5.0 if view.found is not None and view.found.key == "c" and text == "old tree" else 1.0

    vision = Scripted({"tree": TREES}, like=like)
    body = "trees = ImagePatch(image).find('tree')\nreturn best_image_match(trees, ['old tree'], return_index=True)"
    assert python(body, vision).result == "2"
    assert python(body.replace(", return_index=True", ".left"), vision).fault
    assert python("return best_image_match([], ['x'])", vision).result == "no"


def test_distance_is_between_edges_and_negative_where_boxes_overlap() -> None:
    assert patch("distance(ImagePatch(image, 0, 0, 10, 10), ImagePatch(image, 13, 14, 20, 20))") == "5.0"
    assert patch("distance(ImagePatch(image, 0, 0, 10, 10), ImagePatch(image, 5, 0, 15, 10))") == str(-50 / 150)
    assert patch("distance(3, 5.5)") == "2.5"


def test_overlaps_are_of_closed_boxes() -> None:
    run = python("p = ImagePatch(image, 10, 10, 40, 40)\nreturn [p.overlaps_with(40, 40, 50, 50)]")
    assert run.result == "yes"
    assert python("return [ImagePatch(image, 10, 10, 40, 40).overlaps_with(41, 0, 50, 50)]").result == "no"


def test_depth_and_text_models_are_asked() -> None:
    vision = Scripted(told={"Why?": "because"})
    assert python("return ImagePatch(image, 100, 0, 200, 100).compute_depth()", vision).result == "0.5"
    assert python("return llm_query('Why?')", vision).result == "because"
    assert python("return ImagePatch(image).llm_query('Who?', long_answer=False)", vision).result == "no"
    assert python("return bool_to_yesno(1 > 2) + bool_to_yesno(True)", vision).result == "noyes"


def test_inside_goes_by_the_outline_of_what_was_found() -> None:
    vision = Scripted(
        {"flower": [thing(20, 30, 24, 34, "f0"), thing(80, 30, 84, 34, "f1")], "red polygon": CIRCLES[:1]},
        within={("f0", "c0")},
    )
    body = """
whole = ImagePatch(image)
areas = whole.find("red polygon")
return len([f for f in whole.find("flower") if {}any(f.inside(area) for area in areas)])
"""
    assert python(body.format(""), vision).result == "1"
    assert python(body.format("not "), vision).result == "1"


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ("[]", "no"),
        ("['Cat', 'dog']", "cat"),
        ("None", "no"),
        ("True", "yes"),
        ("[False]", "no"),
        ("'TRUE'", "yes"),
        ("'False'", "no"),
        ("7", "7"),
        ("7.0", "7"),
        ("7.5", "7.5"),
        ("' Two Dogs '", "two dogs"),
        ("(1, 2)", "1"),
        ("''", ""),
    ],
)
def test_what_is_returned_is_made_an_answer(returned: str, answer: str) -> None:
    assert python(f"return {returned}").result == answer


def test_every_call_of_the_surface_is_traced_with_its_line() -> None:
    code = (
        "def execute_command(image):\n    p = ImagePatch(image)\n    trees = p.find('tree')\n"
        "    return coerce_to_numeric('12 trees') + len(trees)\n"
    )
    run = whole(code, scene())
    assert run.result == "15"
    assert [(step.line, step.call) for step in run.trace] == [(2, "ImagePatch"), (3, "find"), (4, "coerce_to_numeric")]
    assert run.trace[1].arguments == "ImagePatch(0, 0, 200, 100), 'tree'"
    assert run.trace[1].result.startswith("[ImagePatch(110, 0, 150, 90), ")
    assert (run.trace[2].arguments, run.trace[2].result) == ("'12 trees'", "12")
    assert run.calls == 1


def test_a_long_text_in_a_trace_is_cut_and_long_traces_end() -> None:
    run = python("for i in range(1500):\n    s = bool_to_yesno('a' * 999)\nreturn s")
    assert len(run.trace) == 1001
    assert len(run.trace[0].arguments) == 160
    assert run.trace[0].arguments.endswith("…")
    assert run.trace[-1].result == "later calls are not kept"


def test_the_same_program_leaves_the_same_record() -> None:
    body = SUPPLEMENT["at most, after the fullest circle is removed"][0]
    assert python(body, scene()) == python(body, scene())


def test_math_is_there_without_an_import_as_in_the_prompt_of_vipergpt() -> None:
    assert python("return math.floor(2.5)").result == "2"
