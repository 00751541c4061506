"""The guide of the cvqa study cannot rot: options, fields, words of programs, readings and examples are the code's."""

import csv
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import yaml

from cfeval.config import merged, parse, read
from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Record
from cfeval.cvqa import records
from cfeval.cvqa.config import FAMILIES
from cfeval.cvqa.programs import image_patch, methods, modules, parser, standard_modules, visprog
from cfeval.cvqa.programs.limits import Budget
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import View
from cfeval.cvqa.prompt_templates import FAMILIES as PHRASES
from cfeval.cvqa.records import read_choices
from cfeval.cvqa.stages.scores import read_both
from cfeval.cvqa.synthetic.drawing import icons_of, png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.tables.accuracy import AccuracyRow
from tests.test_docs import PAGES, ROOT, SHARED, YAML, loaded, row

GUIDE, PROGRAMS = "docs/guides/cvqa.md", "docs/reference/cvqa-programs.md"
TABLES, RECORDS = "docs/reference/cvqa-tables.md", "docs/reference/files.md"
PLUGINS = {"solvers": GUIDE, "question_sets": GUIDE, "vision_tools": PROGRAMS}
"""Families of the cvqa study whose every plugin a page names."""
HALVES = {"TOP", "BOTTOM", "LEFT", "RIGHT"}
"""What a step takes in the place of a name."""
READINGS = re.findall(r"^\| `(.+)` \| (number|boolean|choice|text) \| (.+) \| (.+) \|$", PAGES[TABLES], re.MULTILINE)
"""Replies in the docs: the reply, its form, what each reader makes of it."""


def table(heading: str, page: str) -> str:
    """The table of a page whose first heading is this."""
    return PAGES[page].split(f"| {heading} |")[1].split("\n\n")[0]


@pytest.mark.parametrize("block", [block for name, block in YAML if name == GUIDE])
def test_an_overlay_in_the_docs_of_cvqa_is_sound(block: str) -> None:
    content = yaml.safe_load(block)
    study = parse(merged(read(ROOT / "params.yaml"), content), "the docs").cvqa
    assert study is not None
    for section, family in FAMILIES.items():
        for name in content["cvqa"].get(section, {}):
            registry.check(family, getattr(study, section)[name].plugin_options(), f"the docs: {section}.{name}")


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("questions", records.QuestionPair),
        ("drafts", records.Draft),
        ("reviews", records.Review),
        ("fates", records.CvqaBuild),
        ("answers", records.Answer),
        ("scores", records.CvqaScore),
        ("readings", records.Reading),
    ],
)
def test_every_field_of_every_file_of_cvqa_is_in_the_docs(start: str, kind: type[Record]) -> None:
    line = row(f"`../cvqa/{start}/", RECORDS)
    assert not [field for field in kind.model_fields if field not in SHARED and f"`{field}`" not in line]


def test_every_field_of_a_program_and_its_trace_is_in_the_guide() -> None:
    fields = {*records.ProgramRun.model_fields, *records.TraceStep.model_fields}
    assert not [field for field in fields if f"`{field}`" not in PAGES[PROGRAMS].split("## Traces")[1]]


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in PLUGINS for name in registry.names(family)])
def test_every_plugin_of_cvqa_is_in_the_docs(family: str, name: str) -> None:
    assert f"`{name}`" in PAGES[PLUGINS[family]]


def test_every_family_of_models_is_in_the_guide() -> None:
    assert all(f"| `{name}` |" in table("`family`", GUIDE) for name in PHRASES)


def test_every_fate_of_a_draft_is_in_the_docs() -> None:
    assert all(f"`{fate}`" in table("`fate`", TABLES) for fate in get_args(records.Fate))


def test_the_docs_have_readings_of_every_form() -> None:
    assert {form for _, form, _, _ in READINGS} == set(get_args(records.Form))


@pytest.mark.parametrize(("reply", "form", "robust", "reference"), READINGS)
def test_the_readers_read_as_the_docs_say(reply: str, form: records.Form, robust: str, reference: str) -> None:
    [options] = re.findall(r"the options are `(A:.*?)`", PAGES[TABLES])
    choices = read_choices(f"How many? Select the correct answer:{options}") if form == "choice" else None
    question = "Would the dog be wet if it rained?" if form == "boolean" else "How many would there be if one left?"
    read = read_both(reply, form, choices, question)
    told = {name: f"`{value}`" if value else "unread" for name, value in read.items()}
    assert told == {"robust": robust, "reference": reference}


TYPES = {"int", "float", "str", "bool", "list", "tuple", "dict", "set", "frozenset"}
PYTHON = {
    "functions": modules.OFFERED.keys() - TYPES - parser.EXCEPTIONS - modules.MODULES.keys(),
    "types": TYPES,
    "of texts": set(methods.METHODS["str"]),
    "of lists": {name for kind in ("list", "tuple", "float") for name in methods.METHODS[kind]},
    "of dictionaries": set(methods.METHODS["dict"]),
    "of sets": set(methods.METHODS["set"]),
    "of `re`": modules.MODULES["re"].members.keys() | standard_modules.MATCH_METHODS.keys(),
    "of `collections`": {
        *modules.MODULES["collections"].members,
        *(methods.METHODS["Counter"].keys() - methods.METHODS["dict"].keys()),
        *(methods.METHODS["deque"].keys() - methods.METHODS["list"].keys()),
    },
    **{
        f"of `{name}`": set(modules.MODULES[name].members)
        for name in modules.MODULES
        if name not in ("re", "collections", "__future__", "PIL")
    },
}
"""What of Python programs may use, by the first cell of the row that lists it."""


@pytest.mark.parametrize("start", PYTHON)
def test_what_programs_may_use_of_python_is_in_the_guide_and_nothing_else(start: str) -> None:
    assert set(re.findall(r"`(\w+)`", row(f"{start} |", PROGRAMS).split("|", 2)[2])) == PYTHON[start]


def test_the_whole_surface_of_programs_is_in_the_guide() -> None:
    page = PAGES[PROGRAMS]
    patch = table("of `ImagePatch`", PROGRAMS)
    assert set(re.findall(r"^\| `(\w+)\(", patch, re.MULTILINE)) == set(image_patch.METHODS)
    assert not [name for name in (*image_patch.ATTRIBUTES, *image_patch.IMAGE_ATTRIBUTES) if f"`{name}`" not in patch]
    assert not [name for name in image_patch.SURFACE if not re.search(rf"`{name}[`(]", page)]
    assert set(re.findall(r"`([A-Z_]+)`", table("step", PROGRAMS))) == set(visprog.STEPS) | HALVES
    for name, step in visprog.STEPS.items():
        [line] = [line for line in table("step", PROGRAMS).splitlines() if f"`{name}`" in line.split("|")[1]]
        assert tuple(re.findall(r"`(\w+)`", line.split("|")[2])) == step.arguments


def test_every_budget_of_a_program_is_in_the_guide_with_its_default() -> None:
    for name in Budget.__dataclass_fields__:
        assert row(f"`{name}` | {round(getattr(Budget(), name)):,} |", PROGRAMS)


def test_the_programs_of_the_guide_run_as_it_says() -> None:
    image = Image(png_of(make_puzzle(1, 1, "abs_counting_4"), icons_of(None)))
    height, width = image.pixels.shape[:2]
    view, vision = View(image, (0, 0, width, height)), registry.build("vision_tools", {"plugin": "puzzle"})
    python, lines = re.findall(r"```text\n(.*?)```", PAGES[PROGRAMS], re.DOTALL)
    run, other = run_program("vipergpt", python, view, vision), run_program("visprog", lines, view, vision)
    assert (run.fault, other.fault, other.result) == ("", "", run.result)
    [shown] = re.findall(r"```json\n(.*?)```", PAGES[PROGRAMS], re.DOTALL)
    told = tuple(records.TraceStep.model_validate_json(line) for line in shown.splitlines())
    assert told == run.trace[1 : 1 + len(told)]


def test_the_example_of_a_vision_works(tmp_path: Path) -> None:
    [source] = re.findall(r"```python\n(.*?)```", PAGES[PROGRAMS], re.DOTALL)
    module = loaded(tmp_path / "bright.py", source)
    pixels = np.zeros((8, 12, 3), np.uint8)
    pixels[1:3, 1:4] = pixels[5:7, 8:11] = 255
    view, vision = View(Image.from_pixels(pixels), (0, 0, 12, 8)), module.Plugin().build()
    count = "def execute_command(image):\n    return len(ImagePatch(image).find({!r}))"
    assert [one.box for one in vision.find(view, "bright thing")] == [(1, 1, 4, 3), (8, 5, 11, 7)]
    assert run_program("vipergpt", count.format("bright thing"), view, vision).result == "2"
    assert "finds no 'dragon'" in run_program("vipergpt", count.format("dragon"), view, vision).fault


def test_every_model_of_the_paper_that_is_named_has_published_figures() -> None:
    with (ROOT / "data" / "reference" / "cvqa.csv").open(encoding="utf-8") as file:
        published = {line["model"] for line in csv.DictReader(file)}
    overlay = read(ROOT / "workflow" / "params" / "cvqa-paper.yaml")["cvqa"]["solvers"].values()
    named = {spec["paper"] for spec in overlay if "paper" in spec} | set(re.findall(r"`paper: (.+?)`", PAGES[GUIDE]))
    assert named
    assert named <= published


def test_what_the_guide_says_of_the_puzzles_is_what_the_table_says() -> None:
    table = read_csv(ROOT / "results/cvqa/tables/cvqa_table7.csv", AccuracyRow)
    shown = [row for row in table if (row.set, row.type, row.reader) == ("synthetic", "all", "reference")]
    found = {row.solver: row for row in shown}
    [(original, counterfactual)] = re.findall(
        r"answers (0\.\d{4}) of them and (0\.\d{4}) of the counterfactual", PAGES[GUIDE]
    )
    assert (found["puzzles"].original, found["puzzles"].counterfactual) == (float(original), float(counterfactual))
    assert all(found[name].original == found[name].counterfactual == 1 for name in ("programs", "visprog"))
    assert (found["heedless"].original, found["heedless"].counterfactual) == (1, 0)
