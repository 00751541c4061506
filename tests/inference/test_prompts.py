"""Prompt templates."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.inference import prompts
from cfeval.inference.prompts import fill, fill_marked, load_prompt


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
