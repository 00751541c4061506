"""The prompts of every protocol: what they show and ask for is in the form that is read, and texts stand as data."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cfeval.edct.plugins import judges
from cfeval.edct.plugins.chat_writer import FORMS as WRITTEN
from cfeval.edct.plugins.judges import Forms
from cfeval.edct.plugins.pair_judges import NAMES
from cfeval.edct.plugins.verifiers import FORM as VERIFY
from cfeval.edct.protocols.rules import EDCT_2025, RULES
from cfeval.edct.stages.curation import FORM as FILTER
from cfeval.inference.prompts import load_prompt, prompt_file

FOLDER = Path(prompt_file("x", protocol="x")).parents[1]
JUDGES: dict[str, Mapping[str, Forms]] = {
    name: {protocol: judge.forms(protocol) for protocol in RULES}
    for name, judge in {
        "chat": judges.ChatPlugin(model={}),
        "chat, wording b": judges.ChatPlugin(model={}, wording="b"),
        "blind": judges.BlindPlugin(model={}),
    }.items()
}
JUDGED = {
    (form.folder, *form.templates): form
    for by_protocol in JUDGES.values()
    for forms in by_protocol.values()
    for form in forms
}
"""Every form of every judge, by its templates."""
FORMS = JUDGED | {(form.folder, *form.templates): form for form in (written(1) for written in WRITTEN.values())}
"""Those of writers too."""


def openings(form: Any) -> str:
    return load_prompt(form.templates[0], protocol=form.folder)


def examples(form: Any) -> list[str]:
    """Each starts like the first."""
    text = openings(form).split("# Examples")[1].split("# The texts")[0].strip()
    return re.split(rf"^{text.partition(':')[0]}:", text, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("key", JUDGED, ids="/".join)
def test_the_worked_examples_are_in_the_form_that_is_read_and_each_shows_another_reply(key: Any) -> None:
    form = JUDGED[key]
    found = [form.read(example) for example in examples(form)]
    assert None not in found
    assert len(set(found)) == len(found) >= 2
    for said in (one.model_dump() for one in found):
        *bits, last = said.values()
        assert "ccs" not in said or last == bits[0] * bits[1]


@pytest.mark.parametrize("key", JUDGED, ids="/".join)
def test_who_repeats_what_it_was_told_has_judged_nothing(key: Any) -> None:
    form = JUDGED[key]
    assert form.read(openings(form).split("# Examples")[0]) is None
    assert form.read(load_prompt(form.templates[1], protocol=form.folder)) is None


@pytest.mark.parametrize("key", FORMS, ids="/".join)
def test_every_text_stands_once_between_tags_that_end_in_the_mark(key: Any) -> None:
    text, texts = openings(FORMS[key]), [name for name in FORMS[key].placeholders if name != "edits"]
    blocks = re.findall(r"^<([a-z-]+-\{mark\})>\n\{([a-z_]+)\}\n</\1>$", text, re.MULTILINE)
    assert [name for _, name in blocks] == texts
    assert sorted(set(re.findall(r"\{([a-z_]*)\}", text)) - {"edits"}) == sorted({"mark", *texts})
    assert all(text.count(f"{{{name}}}") == 1 for name in texts)
    assert "{mark}" in text.split("# The texts")[1].split("<")[0], "it is said what stands between them"
    repair = load_prompt(FORMS[key].templates[1], protocol=FORMS[key].folder)
    assert set(re.findall(r"\{([a-z_]*)\}", repair)) <= {"edits"}, "the texts are not repeated"


@pytest.mark.parametrize("protocol", [protocol for protocol in WRITTEN if protocol != EDCT_2025])
def test_the_worked_examples_of_a_writer_are_in_the_form_that_is_read(protocol: str) -> None:
    form = WRITTEN[protocol](2)
    parts = openings(form).split("# The texts")[0].split("# Example with ")[1:]
    found = [form.read(part.split("Explanation:", 1)[1]) for part in parts]
    counts = {"one": 1, "two": 2}
    assert [len(said.edits) for said in found if said] == [counts[part.split()[0]] for part in parts]


def test_no_template_lies_there_unused() -> None:
    forms = [*FORMS.values(), FILTER, VERIFY, NAMES]
    used = {(form.folder, name) for form in forms for name in form.templates}
    there = {(path.parent.name, path.stem) for path in FOLDER.glob("*/*.md") if path.parent.name != "conversation"}
    assert used == there


@pytest.mark.parametrize("judge", JUDGES)
def test_every_judge_has_something_to_ask_under_every_protocol(judge: str) -> None:
    assert {name: len(forms) for name, forms in JUDGES[judge].items()} == {
        name: 1 + rules.graded for name, rules in RULES.items()
    }


@pytest.mark.parametrize("name", ["judge", "judge_b", "blind_judge"])
def test_an_explanation_that_silently_drops_the_old_state_has_one_score_and_not_two(name: str) -> None:
    """As in the paper, NCC asks that the change be acknowledged; `stops resting on it` and `says nothing of it` met."""
    [rule] = [line for line in load_prompt(name, protocol="edct-2025").splitlines() if line.startswith("**NCC")]
    ones, zeros = (re.search(rf"is {bit} (?:where|if) (.*?)\.", rule) for bit in (1, 0))
    assert ones and zeros  # noqa: PT018
    assert "acknowledges" in ones[1]
    assert "without a word" in zeros[1]
    assert not re.search("no longer|stopped", ones[1])
