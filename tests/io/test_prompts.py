"""Prompt templates."""

from pathlib import Path

import pytest

from cfeval.errors import InputError
from cfeval.io.prompts import fill, load_prompt


def test_a_value_is_put_in_as_it_is() -> None:
    assert fill("Q: {question}", question="what is {answer} in {}?") == "Q: what is {answer} in {}?"


def test_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(InputError, match=r"names \{anser\}; it may name answer"):
        fill("{anser}", answer="x")


def test_own_prompts_replace_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("My {question}\n")
    assert load_prompt("answer", protocol="conversation", folder=tmp_path) == "My {question}"
    assert "{question}" in load_prompt("answer", protocol="conversation")
    with pytest.raises(InputError, match=r"no prompt explain\.md in"):
        load_prompt("explain", protocol="conversation", folder=tmp_path)
