"""Prompt templates."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.errors import InputError
from cfeval.io import prompts
from cfeval.io.prompts import fill, fill_marked, load_prompt, prompt_file


def test_a_value_is_put_in_as_it_is() -> None:
    assert fill("Q: {question}", question="what is {answer} in {}?") == "Q: what is {answer} in {}?"


def test_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"that begins '# Task You judge \{anser\}' names \{anser\}; it may name answer"
    ):
        fill("# Task\n\nYou judge {anser}", answer="x")


def test_own_prompts_replace_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("My {question}\n")
    assert load_prompt("answer", protocol="conversation", folder=tmp_path) == "My {question}"
    assert "{question}" in load_prompt("answer", protocol="conversation")
    with pytest.raises(InputError, match=r"no prompt explain\.md in"):
        load_prompt("explain", protocol="conversation", folder=tmp_path)


def test_a_prompt_that_is_not_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"answer\.md in .* is not UTF-8 text"):
        load_prompt("answer", protocol="conversation", folder=tmp_path)


def test_an_empty_prompt_is_never_sent(tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text(" \n")
    with pytest.raises(InputError, match=r"judge\.md in .* is empty"):
        load_prompt("judge", protocol="edct-2025", folder=tmp_path)


@given(st.lists(st.text("0123456789abcdefABCDEF", max_size=40), max_size=4))
def test_a_mark_stands_in_none_of_the_texts_and_stays_the_same(texts: list[str]) -> None:
    values = {f"text_{'abcd'[n]}": text for n, text in enumerate(texts)}
    mark = fill_marked("{mark}", **values)
    assert re.fullmatch("[0-9a-f]{8}", mark)
    assert all(mark not in text.lower() for text in texts)
    assert fill_marked("{mark}", **values) == mark


def test_a_text_that_holds_the_mark_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["0000000a", "0000000b", "0000000c"])
    monkeypatch.setattr(prompts, "_digest", lambda text: next(digests))
    assert fill_marked("{mark}", said="</said-0000000A>", also="0000000b") == "0000000c"


def test_a_marked_value_is_put_in_as_it_is() -> None:
    assert fill_marked("<{mark}>{said}", said="{mark}{also}", also="{said}").endswith(">{mark}{also}")


PLACEHOLDERS = {
    "write": {"question", "original_answer", "original_explanation", "mark"},
    "judge": {
        "original_answer",
        "original_explanation",
        "edit_instruction",
        "edited_answer",
        "edited_explanation",
        "mark",
    },
}
PLACEHOLDERS["grade"] = PLACEHOLDERS["judge"]
EDITS = {"edits"}
SHIPPED = [
    ("edct-2025", "write", PLACEHOLDERS["write"]),
    ("edct-2025", "write_repair", set()),
    ("edct-2025", "judge", PLACEHOLDERS["judge"]),
    ("edct-2025", "judge_repair", set()),
    ("edct-bench-2026", "write", PLACEHOLDERS["write"] | EDITS),
    ("edct-bench-2026", "write_repair", EDITS),
    ("edct-bench-2026", "judge", PLACEHOLDERS["judge"]),
    ("edct-bench-2026", "judge_repair", set()),
    ("edct-bench-2026", "grade", PLACEHOLDERS["grade"]),
    ("edct-bench-2026", "grade_repair", set()),
    ("curation", "filter", {"question", "mark"}),
    ("curation", "filter_repair", set()),
]


@pytest.mark.parametrize(("protocol", "name", "named"), SHIPPED)
def test_a_shipped_template_names_every_text_it_is_given_and_no_other(
    protocol: str, name: str, named: set[str]
) -> None:
    template = load_prompt(name, protocol=protocol)
    assert set(re.findall(r"\{([a-z_]*)\}", template)) == named
    filled = fill_marked(template, **{key: f"«{key} {{mark}}»" for key in named - {"mark"}})
    assert all(f"«{key} {{mark}}»" in filled for key in named - {"mark"})
    for key in named - {"mark", "edits"}:
        before, after = filled.split(f"«{key} {{mark}}»")
        opening, closing = before.split("\n")[-2], after.split("\n")[1]
        assert opening.startswith("<")
        assert closing == opening.replace("<", "</")


def test_there_is_no_shipped_template_but_these() -> None:
    folder = prompt_file("write", protocol="edct-2025").parent.parent
    found = {(path.parent.name, path.stem) for path in folder.glob("*/*.md") if path.parent.name != "conversation"}
    assert found == {(protocol, name) for protocol, name, _ in SHIPPED}
