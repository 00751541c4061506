"""YAML has one meaning: what PyYAML and ruamel.yaml read differently is refused, whatever it is."""

import math
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from cfeval.core.errors import ParamsError
from cfeval.core.yaml_files import dump_yaml, parse_yaml, read_yaml
from cfeval.inference.remote.prices import load_prices
from tests.conftest import Run

NUMBER = r"[-+]?(0[xob]?)?[0-9_]{1,6}(\.[0-9_]{0,3})?([eE][-+]?[0-9]{1,3})?(:[0-9]{1,2}){0,2}"
TIME = (
    r"[12][0-9]{3}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z| ?[-+][0-9]{1,2}(:?[0-9]{2})?)?)?"
)
WORDS = "y n yes no on off true false null ~ .nan .inf -.inf = << - ? | > !!int !!str"
SCALARS = st.one_of(
    st.text("0123456789_.:+-eExXobBtTzZ aAfF", min_size=1, max_size=12),
    st.from_regex(NUMBER, fullmatch=True),
    st.from_regex(TIME, fullmatch=True),
    st.sampled_from([form for word in WORDS.split() for form in (word, word.upper(), word.title())]),
    st.text(max_size=8),
)
CONTENTS = st.recursive(
    SCALARS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3),
    max_leaves=8,
)


def by_pyyaml(text: str) -> Any:
    return yaml.safe_load(text)


def by_ruamel(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return YAML(typ="safe", pure=True).load(text)


def plain(value: Any) -> Any:
    """A value that is equal to another only if it is of the same kind."""
    if isinstance(value, dict):
        return [(plain(key), plain(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return "a float that is no number"
    if isinstance(value, datetime):
        return ("datetime", value.isoformat())
    return (next(kind for kind in (bool, int, float, str, bytes, date, set, object) if isinstance(value, kind)), value)


def check_one_meaning(text: str) -> None:
    try:
        value = parse_yaml(text, "params.yaml")
    except ParamsError as error:
        complaint = str(error)
    else:
        complaint = ""
    if complaint:
        assert complaint.startswith("params.yaml")
        assert "\n" not in complaint
        return
    assert plain(value) == plain(by_pyyaml(text)) == plain(by_ruamel(text))


@given(SCALARS)
@example("1:30")
@example("no")
@example("010")
@example("1e3")
def test_a_value_is_read_as_by_both_libraries_or_refused(scalar: str) -> None:
    check_one_meaning(f"key: {scalar}")


@given(SCALARS)
def test_a_key_is_read_as_by_both_libraries_or_refused(scalar: str) -> None:
    check_one_meaning(f"{scalar}: value")


@given(st.lists(SCALARS, max_size=4), st.sampled_from(["- {}\n", "[{}, x]", "{{{}: 1}}", "a: &x {}\nb: *x\n", '"{}" ']))
def test_a_document_is_read_as_by_both_libraries_or_refused(scalars: list[str], form: str) -> None:
    check_one_meaning("".join(form.format(scalar) for scalar in scalars))


@given(st.text("ab:#?-[]{},&*!|>'\"%@` \n", max_size=24))
def test_a_structure_is_read_as_by_both_libraries_or_refused(text: str) -> None:
    check_one_meaning(text)


@given(CONTENTS)
def test_what_is_written_is_read_again(content: Any) -> None:
    try:
        text = dump_yaml(content)
        text.encode()
    except UnicodeEncodeError:
        return
    assert parse_yaml(text, "params.yaml") == content


@pytest.mark.parametrize(
    ("text", "line", "first", "second", "instead"),
    [
        ("edct:\n  items: 1:30\n", 2, "the number 90", "the text '1:30'", "90"),
        ("edct:\n  vlms:\n    no: {}\n", 3, "false", "the text 'no'", "false"),
        ("name: on\n", 1, "true", "the text 'on'", "true"),
        ("edct: {seed: 010}\n", 1, "the number 8", "the number 10", "8 or 10"),
        ("edct: {seed: 0o10}\n", 1, "the text '0o10'", "the number 8", "8"),
        ("share: 1e-3\n", 1, "the text '1e-3'", "the number 0.001", "0.001"),
    ],
)
def test_the_refusal_says_where_what_each_reads_and_what_to_write(
    text: str, line: int, first: str, second: str, instead: str
) -> None:
    with pytest.raises(ParamsError) as error:
        parse_yaml(text, "params.yaml")
    said = str(error.value)
    assert said.startswith(f"params.yaml, line {line}: ")
    assert f"is {first} to YAML 1.1" in said
    assert f"and {second} to YAML 1.2" in said
    assert said.endswith(f"put it in quotation marks, or write {instead}")


@pytest.mark.parametrize("text", ["a: 'no'", 'a: "1:30"', "a: true", "a: 0x1F", "a: 1.5", "a: ~", "a: 2026-01-01"])
def test_what_both_read_alike_is_taken(text: str) -> None:
    assert parse_yaml(text, "params.yaml") == by_pyyaml(text) == by_ruamel(text)


@pytest.mark.parametrize("text", ["a: 1\n'a': 2\n", "1: a\n0x1: b\n", "true: a\nTrue: b\n", "x: {a: 1, a: 2}\n"])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(ParamsError, match="stands twice, in line"):
        parse_yaml(text, "params.yaml")


def _bomb(layer: str) -> str:
    return "a0: &a0 {x: 1}\n" + "".join(layer.format(n=n, refs=", ".join([f"*a{n - 1}"] * 9)) for n in range(1, 60))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (_bomb("a{n}: &a{n} [{refs}]\n"), "use fewer aliases"),
        (_bomb("a{n}: &a{n} {{<<: [{refs}]}}\n"), "use fewer aliases"),
        ("a: &a [1, *a]\n", "an alias of itself"),
        ("a: &a {b: {<<: *a}}\n", "an alias of itself"),
        ("a: " + "[" * 100_000, "levels deep"),
        ("".join(f"{' ' * n}a:\n" for n in range(300)), "levels deep"),
        ("a: 2024-13-01", "no value that YAML knows"),
        ("a: " + "9" * 5000, "no value that YAML knows"),
        ("a: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_what_would_hang_or_crash_a_reader_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(ParamsError, match=complaint) as error:  # one that is written out would not end
        read_yaml(tmp_path / "params.yaml")
    assert "\n" not in str(error.value)


def test_a_list_of_prices_has_one_meaning_too(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  m: {input: 0.1, output: 1:30, date: 2026-01-01, source: me}\n")
    with pytest.raises(ParamsError, match=r"prices\.yaml, line 2: '1:30'"):
        load_prices(str(prices))


def test_a_command_refuses_it_in_one_line(tmp_path: Path, cfeval: Run) -> None:
    (tmp_path / "params.yaml").write_text("name: s\nedct:\n  items: 1:30\n")
    status, _, complaint = cfeval("check", str(tmp_path))
    assert status == 2
    assert complaint.count("\n") == 1
    assert "params.yaml, line 3: '1:30' is the number 90 to YAML 1.1" in complaint
