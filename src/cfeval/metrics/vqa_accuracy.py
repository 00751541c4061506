"""VQA accuracy: how many of ten people gave this answer (Antol et al. 2015; what the official evaluator computes).

For m of n equal answers the mean over all n ways to leave one person out of min(1, matches among the others / 3). With
n = 10: m = 0 gives 0, 1 gives .3, 2 gives .6, 3 gives .9, 4 and more give 1. (The shortcut min(1, m / 3) differs.)

The comparison is the official one: the whole answer, levelled, is the person's or it is not. Nothing is looked for
inside a sentence: "It is red." does not match "red". A model that should score here must be asked for a word or phrase.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from cfeval.metrics.vqa_text import level, one_line


def vqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """Accuracy in [0, 1] as VQA v2 scores it.

    Both sides are levelled only where the people disagree; where all said the same the bare texts are compared, letter
    case and punctuation included.

    Args:
        answer: the model's.
        answers: the people's, ten in VQA; at least one.
    """
    said, given = one_line(answer), [one_line(text) for text in answers]
    if len(set(given)) > 1:
        said, given = level(said), [level(text) for text in given]
    return _leave_one_out(given.count(said), len(given))


def okvqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """Accuracy in [0, 1] as OK-VQA is scored: the people's answers are published as word stems.

    Both sides are always levelled; then the model's words, and not the people's again, are cut to their stems.

    Args:
        answer: the model's.
        answers: the people's `answer` fields, not their `raw_answer`; at least one.
    """
    given = [level(one_line(text)) for text in answers]
    return _leave_one_out(given.count(_stems(level(one_line(answer)))), len(given))


def _leave_one_out(matches: int, people: int) -> float:
    """The mean over all people of min(1, matches among the others / 3)."""
    matching, others = min(1, (matches - 1) / 3), min(1, matches / 3)
    return (matches * matching + (people - matches) * others) / people


def _stems(text: str) -> str:
    tokenizer, stemmer = _language_tools()
    return " ".join(stemmer.stem(token) for token in tokenizer.tokenize(text))


@cache
def _language_tools() -> tuple[Any, Any]:
    """Tokenizer and Porter stemmer of nltk; neither needs nltk's data files."""
    from nltk.stem import PorterStemmer  # type: ignore[import-untyped]
    from nltk.tokenize import NLTKWordTokenizer  # type: ignore[import-untyped]

    return NLTKWordTokenizer(), PorterStemmer()
