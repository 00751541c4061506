"""VisProg's lines and steps, and the extensions of this project."""

import pytest

from cfeval.cvqa.programs.vision import Found
from tests.cvqa.programs.scripted import Scripted, steps, thing

CATS = [thing(100, 40, 120, 60, "a", 0.5), thing(20, 40, 40, 60, "b", 0.9)]
LAST = "\nLAST=VQA(image=PART,question='?')"


def scene(**changes: object) -> Scripted:
    vision = Scripted({"cat": CATS, "dog": []}, {"Is it a cat?": "yes", "How many?": "3", "What?": 'it\'s "odd"'})
    for name, value in changes.items():
        setattr(vision, name, value)
    return vision


def part(line: str) -> tuple[float, ...]:
    """The box that the vision is asked about after a line that makes `PART`; boxes are of cats and of dogs (none)."""
    vision = scene()
    code = f"CATS=LOC(image=IMAGE,object='cat')\nDOGS=LOC(image=IMAGE,object='dog')\n{line}{LAST}"
    run = steps(code, vision)
    assert not run.fault, run.fault
    return vision.asked[-1][1]


@pytest.mark.parametrize(
    ("line", "box"),
    [
        ("PART=CROP(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP(image=IMAGE,box=DOGS)", (0, 0, 200, 100)),
        ("PART=CROP_BEHIND(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP_FRONTOF(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP_INFRONT(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP_INFRONTOF(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP_AHEAD(image=IMAGE,box=CATS)", (15, 35, 45, 65)),
        ("PART=CROP_LEFTOF(image=IMAGE,box=CATS)", (0, 0, 30, 100)),
        ("PART=CROP_RIGHTOF(image=IMAGE,box=CATS)", (30, 0, 200, 100)),
        ("PART=CROP_ABOVE(image=IMAGE,box=CATS)", (0, 0, 200, 50)),
        ("PART=CROP_BELOW(image=IMAGE,box=CATS)", (0, 50, 200, 100)),
        ("PART=CROP_LEFTOF(image=IMAGE,box=DOGS)", (0, 0, 100, 100)),
        ("PART=CROP_ABOVE(image=IMAGE,box=DOGS)", (0, 0, 100, 100)),
        ("PART=CROP_BELOW(image=IMAGE,box=DOGS)", (0, 0, 100, 100)),
        ("PART=CROP_RIGHTOF(image=IMAGE,box=DOGS)", (100, 0, 200, 100)),
        ("H=LOC(image=IMAGE,object='TOP')\nPART=CROP_ABOVE(image=IMAGE,box=H)", (0, 0, 200, 25)),
        ("H=LOC(image=IMAGE,object='RIGHT')\nPART=CROP_RIGHTOF(image=IMAGE,box=H)", (150, 0, 200, 100)),
        ("H=LOC(image=IMAGE,object='LEFT')\nPART=CROP(image=IMAGE,box=H)", (0, 0, 125, 100)),
        ("H=LOC(image=IMAGE,object='BOTTOM')\nPART=CROP(image=IMAGE,box=H)", (0, 37.5, 200, 100)),
        ("PART=RESULT(var=CATS_IMAGE)", (0, 0, 200, 100)),
    ],
)
def test_a_crop_is_the_part_that_its_step_names(line: str, box: tuple[float, ...]) -> None:
    assert part(line) == box


def test_a_crop_of_a_crop_stays_in_the_coordinates_of_the_image() -> None:
    line = "A=CROP_RIGHTOF(image=IMAGE,box=CATS)\nB=LOC(image=A,object='cat')\nPART=CROP(image=A,box=B)"
    assert part(line) == (30, 35, 45, 65)


def test_counting() -> None:
    assert steps("A=LOC(image=IMAGE,object='cat')\nB=COUNT(box=A)", scene()).result == "2"
    assert steps("A=LOC(image=IMAGE,object='dog')\nB=COUNT(box=A)", scene()).result == "0"


def test_the_surest_box_comes_first_and_drops_those_that_cover_it() -> None:
    twice = [Found((20, 40, 41, 60), 0.8), Found((20, 40, 40, 60), 0.9), Found((80, 40, 90, 60), 0.3)]
    code = "A=LOC(image=IMAGE,object='cat')\nB=COUNT(box=A)"
    assert steps(code, scene(things={"cat": twice})).result == "2"
    keyed = [Found(one.box, one.score, str(number)) for number, one in enumerate(twice)]
    assert steps(code, scene(things={"cat": keyed})).result == "3"


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("{N} + 1", "4"),
        ("{ N } * 2 - {N} // 2", "5"),
        ("'yes' if {N} > 0 else 'no'", "yes"),
        ("{Y} and {N} == 3", "yes"),
        ("{Y} xor {Y}", "no"),
        ("{Y} xor (not {Y})", "yes"),
        ("{N} > 1 xor {N} > 5", "no"),
        ("'xor' if {Y} else ''", "xor"),
        ("not {Y} or {N} != 3", "no"),
        ("{W} == 'left'", "no"),
        ("'odd' in {W}", "yes"),
        ("{N} % 2 == 1", "yes"),
        ("-{N} + 10 / 4", "-0.5"),
        ("1 < {N} <= 3", "yes"),
        ("N + 1", "4"),
        ("\\'a\\' + \\'b\\'", "ab"),
    ],
)
def test_eval_binds_variables_by_name(expression: str, answer: str) -> None:
    code = (
        "Y=VQA(image=IMAGE,question='Is it a cat?')\nN=VQA(image=IMAGE,question='How many?')\n"
        f'W=VQA(image=IMAGE,question="What?")\nA=EVAL(expr="{expression}")\nB=RESULT(var=A)'
    )
    run = steps(code, scene())
    # `3 > 1 xor 3 > 5` is Python's chain `3 > 1 != 3 > 5`, as upstream.
    assert (run.result, run.fault) == (answer, "")


def test_the_last_line_is_the_answer() -> None:
    assert steps("A=VQA(image=IMAGE,question='How many?')\nB=RESULT(var='Left')", scene()).result == "left"


def test_inside_and_outside_go_by_the_outline() -> None:
    flowers = [thing(10 * n, 10, 10 * n + 5, 15, f"f{n}") for n in range(4)]
    areas = [thing(0, 0, 50, 50, "p0"), thing(60, 0, 90, 50, "p1")]
    vision = Scripted({"flower": flowers, "red polygon": areas}, within={("f0", "p0"), ("f2", "p1")})
    code = (
        "F=LOC(image=IMAGE,object='flower')\nP=LOC(image=IMAGE,object='red polygon')\n"
        "IN=INSIDE(box=F,region=P)\nOUT=OUTSIDE(box=F,region=P)\nA=COUNT(box=IN)\nB=COUNT(box=OUT)\n"
        "C=EVAL(expr='{A} * 10 + {B}')"
    )
    assert steps(code, vision).result == "22"
    assert steps(code.replace("'red polygon'", "'blue polygon'"), vision).result == "4"


def test_each_line_is_traced() -> None:
    run = steps("# how many cats\nA=LOC(image=IMAGE,object='cat')\n\nB=COUNT(box=A)", scene())
    assert [(step.line, step.call, step.result) for step in run.trace] == [
        (2, "LOC", "[box(20, 40, 40, 60), box(100, 40, 120, 60)]"),
        (4, "COUNT", "2"),
    ]
    assert run.trace[0].arguments == "image=image(0, 0, 200, 100), object='cat'"


def test_lines_may_be_indented_as_models_write_them() -> None:
    assert steps("  A=LOC(image=IMAGE,object='cat')\r\n    B=COUNT(box=A)  ", scene()).result == "2"


def test_an_error_names_its_line_and_what_is_allowed() -> None:
    assert steps("A=LOK(image=IMAGE,object='cat')").fault.startswith(
        "line 1: there is no step 'LOK'; did you mean 'LOC'?"
    )
    assert "CROP_ABOVE" in steps("A=SEG(image=IMAGE)").fault
    assert steps("A=COUNT(box=BOX0)").fault == "line 1: 'BOX0' is not defined; allowed: IMAGE"
    assert steps("B=COUNT(boxes=IMAGE)").fault == "line 1: COUNT takes box; it was given boxes"
    edge = scene(things={"cat": [thing(-30, 40, 10, 60)]})
    edge.find = lambda view, name: [thing(-50, 40, 0, 60)]  # type: ignore[method-assign]
    code = "A=LOC(image=IMAGE,object='cat')\nB=CROP_LEFTOF(image=IMAGE,box=A)"
    assert "line 2: a crop without an area" in steps(code, edge).fault
