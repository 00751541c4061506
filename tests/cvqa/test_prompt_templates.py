"""How questions are put to families of models."""

import pytest

from cfeval.cvqa.prompt_templates import FAMILIES, put

Q = "How many cats are there?"
OPTIONS = "How many dots do a circle contain at most? Select the correct answer:A:7  B:9  C:4  D:6"
STEPS = "Let's think step by step:"


@pytest.mark.parametrize(
    ("family", "asked"),
    [
        ("plain", Q),
        ("llava", f"{Q} Answer the question using a single word or phrase."),
        ("minigpt", f"Based on the image, respond to this question with a single word or phrase: {Q}"),
        ("blip", f"Question: {Q} Short answer:"),
    ],
)
def test_each_family_gets_its_own_phrase(family: str, asked: str) -> None:
    assert put(Q, family) == asked
    assert put(Q, family, cot=True) == asked.replace(Q, f"{Q} {STEPS}")


def test_lavis_models_get_options_in_brackets() -> None:
    stem = "How many dots do a circle contain at most?"
    assert put(OPTIONS, "blip") == f"Question: {stem} Options:(a)7  (b)9  (c)4  (d)6. Answer:"
    assert put(OPTIONS, "blip", cot=True) == f"Question: {stem} {STEPS} Options:(a)7  (b)9  (c)4  (d)6. Answer:"


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "blip"])
def test_other_families_get_options_as_the_file_has_them(family: str) -> None:
    assert OPTIONS in put(OPTIONS, family)


def test_braces_in_a_question_stay_as_they_are() -> None:
    assert put("How many {question} {options}?", "minigpt").endswith(": How many {question} {options}?")
    braces = "How many {options}{question}? Select the correct answer:A:7  B:9  C:4  D:6"
    assert put(braces, "blip") == "Question: How many {options}{question}? Options:(a)7  (b)9  (c)4  (d)6. Answer:"


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ValueError, match="unknown family 'lava'; allowed: plain, llava, minigpt, blip"):
        put(Q, "lava")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_template_says_where_it_is_from(family: str) -> None:
    assert FAMILIES[family].source
    assert FAMILIES[family].models
