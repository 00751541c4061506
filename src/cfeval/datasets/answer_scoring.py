"""Accuracy of free-text answers: whether the right one stands there, or as VQA and OK-VQA score it.

VQA accuracy: how many of ten people gave this answer (Antol et al. 2015; what the official evaluator computes). For m
of n equal answers the mean over all n ways to leave one person out of min(1, matches among the others / 3). With n =
10: m = 0 gives 0, 1 gives .3, 2 gives .6, 3 gives .9, 4 and more give 1. (The shortcut min(1, m / 3) differs.)

The comparison is the official one: the whole answer, levelled, is the person's or it is not. Nothing is looked for
inside a sentence: "It is red." does not match "red". A model that should score here must be asked for a word or phrase.
The quirks of the evaluator of VQA v2 are kept, since figures are only comparable with them:

- A punctuation mark vanishes everywhere if it once stands beside a space, or if the text has a comma between digits
  anywhere; otherwise it becomes a space. Both tests look at the text as it came.
- `:`, `'`, `$`, `%` and `&` are no punctuation.
- A period vanishes unless a digit follows it, whatever stands before: "3.5" and ".5" stay, "5." becomes "5". Of those
  periods only the first 32 vanish.
- `none` is 0, like `zero`; number words above ten stay words.
- Contractions are looked up in lower case, so that those of `I` never match; three targets are odd.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
# The evaluator hands re.UNICODE, which is 32, to `re.sub` where the greatest number of replacements stands.
_MOST_PERIODS = 32
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"none": "0"} | {word: str(number) for number, word in enumerate(_COUNTED)}
_ARTICLES = {"a", "an", "the"}


def _misspelled(contractions: str) -> dict[str, str]:
    """Each contraction by what is left of it where one apostrophe is forgotten, whichever."""
    return {
        word[:place] + word[place + 1 :]: word
        for word in contractions.split()
        for place, char in enumerate(word)
        if char == "'"
    }


# What the evaluator writes for what: words without an apostrophe that they should have, and one the other way.
CONTRACTIONS = {
    **_misspelled(
        "ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd how'll how's "
        "isn't it'd it'll ma'am mightn't might've mustn't must've needn't not've o'clock oughtn't shan't should've "
        "shouldn't somebody'll somebody's someone'd someone'll someone's something'd something'll that's there'd "
        "there're there's they'd they'll they're they've 'twas wasn't we've weren't what'll what're what's what've "
        "when's where'd where's where've who'd who'll who's who've why'll why're why's won't would've wouldn't y'all "
        "you'd you'll you're you've"
    ),
    **_misspelled(
        "couldn't've hadn't've he'd've it'd've mightn't've she'd've shouldn't've somebody'd've someone'd've "
        "something'd've there'd've they'd've we'd've who'd've wouldn't've y'all'll you'd've y'all'd've 'ow's'at"
    ),
    "somebody'd": "somebodyd",
}


def answer_matches(answer: str, reference: str) -> bool:
    """Whether the reference stands in the answer as whole words, letter case and punctuation aside.

    A plain containment test: "I think it is red." matches "red", "Fred" does not.
    """
    return f" {_spaced_words(reference)} " in f" {_spaced_words(answer)} "


def _spaced_words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def vqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """Accuracy in [0, 1] as VQA v2 scores it.

    Both sides are levelled only where the people disagree; where all said the same the bare texts are compared, letter
    case and punctuation included.

    Args:
        answer: the model's.
        answers: the people's, ten in VQA; at least one.
    """
    reply, given = one_line(answer), [one_line(text) for text in answers]
    if len(set(given)) > 1:
        reply, given = level(reply), [level(text) for text in given]
    return _leave_one_out(given.count(reply), len(given))


def okvqa_accuracy(answer: str, answers: Sequence[str]) -> float:
    """Accuracy in [0, 1] as OK-VQA is scored: the people's answers are published as word stems.

    Both sides are always levelled; then the model's words, and not the people's again, are cut to their stems.

    Args:
        answer: the model's.
        answers: the people's `answer` fields, not their `raw_answer`; at least one.
    """
    given = [level(one_line(text)) for text in answers]
    text = level(one_line(answer))
    tokenizer, stemmer = _language_tools()
    return _leave_one_out(given.count(" ".join(stemmer.stem(token) for token in tokenizer.tokenize(text))), len(given))


def _leave_one_out(matches: int, people: int) -> float:
    """The mean over all people of min(1, matches among the others / 3)."""
    matching, others = min(1, (matches - 1) / 3), min(1, matches / 3)
    return (matches * matching + (people - matches) * others) / people


def one_line(text: str) -> str:
    """The text without line breaks, tabs and space around it; all that is done where no levelling is due."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def level(text: str) -> str:
    """Punctuation, letter case, number words, articles and contractions levelled; the words joined by single spaces."""
    every = _COMMA_IN_NUMBER.search(text) is not None
    gone = {mark for mark in _PUNCTUATION if every or f"{mark} " in text or f" {mark}" in text}
    table = str.maketrans({mark: "" if mark in gone else " " for mark in _PUNCTUATION})
    tokens = (
        _NUMBERS.get(word, word) for word in _PERIOD.sub("", text.translate(table), count=_MOST_PERIODS).lower().split()
    )
    return " ".join(CONTRACTIONS.get(word, word) for word in tokens if word not in _ARTICLES)


@cache
def _language_tools() -> tuple[Any, Any]:
    """Tokenizer and Porter stemmer of nltk; neither needs nltk's data files."""
    from nltk.stem import PorterStemmer  # type: ignore[import-untyped]
    from nltk.tokenize import NLTKWordTokenizer  # type: ignore[import-untyped]

    return NLTKWordTokenizer(), PorterStemmer()
