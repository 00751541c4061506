"""Accuracy of free-text answers."""

import re


def answer_matches(answer: str, reference: str) -> bool:
    """Whether the reference stands in the answer as whole words, letter case and punctuation aside.

    A plain containment test: "I think it is red." matches "red", "Fred" does not.
    """
    return f" {_words(reference)} " in f" {_words(answer)} "


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
