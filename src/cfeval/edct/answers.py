"""Whether an answer is another one in substance, and whether an explanation names a thing: what texts alone can say.

An answer has *moved* if it says something else in substance than the answer before. Where the texts decide, no judge is
asked, since one that is asked about everything errs on everything: most answers stay as they are, and a judge with a
specificity of .8 calls every fifth of those changed.
"""

import re

from cfeval.core.records import Binary
from cfeval.datasets.answer_scoring import level, one_line

_OPENING = re.compile(
    r"^(?:(?:i (?:think|believe|guess|would say)(?: that)?|(?:my |the )?(?:final )?answer(?: is|:)|it is|it's|this is"
    r"|that is|there (?:is|are)|probably) )+"
)
_POLAR = re.compile(r"(yes|no)\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OPTION = re.compile(r"\(?([a-z])[.)]?")
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at behind beside between by for from in into is it its next no not of off on onto or over that"
        " the their there this to under with color colour shape size position presence background state number kind"
    )
)
"""Words that name no thing."""
_COLORS = frozenset(("black", "blue", "brown", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow"))
"""The basic color terms of English (Berlin & Kay 1969): no two of them mean the same."""
SURE = 3
"""So many things are named by each of two answers to one question that differ for sure since they share no word."""
NAMED = 0.5
"""So large a share of a thing's words stands in an explanation that names it."""


def moved_by_text(before: str, after: str) -> Binary | None:
    """Whether an answer moved, in 0 and 1; None where the texts alone do not decide.

    Equal texts have not moved, with letter case, punctuation, articles and number words aside (as VQA v2 levels them),
    and with what merely opens an answer, such as `I think` or `The answer is`.
    Two numbers, two letters of options, and two answers that begin with yes or no, are compared as such.
    """
    options = [_OPTION.fullmatch(text.strip().lower()) for text in (before, after)]
    if options[0] and options[1]:
        return 0 if options[0][1] == options[1][1] else 1
    one, other = (_bare(text) for text in (before, after))
    numbers = [_number(before, one), _number(after, other)]
    if None not in numbers:
        return 0 if numbers[0] == numbers[1] else 1
    if one == other:
        return 0
    polar = _POLAR.match(one), _POLAR.match(other)
    if polar[0] and polar[1] and polar[0][1] != polar[1][1]:
        return 1
    return None


def surely_moved(before: str, after: str, same_question: bool) -> bool:
    """Whether two answers differ in substance for sure, so that whoever finds them equal errs.

    By the texts, as two basic color terms, or since they share no word that names a thing. Answers that do not may
    still mean the same (`couch` and `sofa`, `yes` and `certainly`, `two` and `a pair`). Hence they must be to different
    questions or name three things each, and neither of them alone is a number or a yes or no.
    """
    if (moved := moved_by_text(before, after)) is not None:
        return moved == 1
    colors = [_bare(text).replace("grey", "gray") for text in (before, after)]
    if _COLORS.issuperset(colors):
        return colors[0] != colors[1]
    forms = [_form(before), _form(after)]
    if "" not in forms:
        return forms[0] != forms[1]
    things = [_words(_bare(text)) - _EMPTY for text in (before, after)]
    enough = min(map(len, things)) >= (SURE if same_question else 1)
    return forms[0] == forms[1] and enough and not things[0] & things[1]


def _form(text: str) -> str:
    """`number`, or `polar` where an answer begins with yes or no; else empty."""
    bare = _bare(text)
    return "number" if _number(text, bare) is not None else "polar" if _POLAR.match(bare) else ""


def _bare(text: str) -> str:
    """The answer alone, levelled."""
    return _OPENING.sub("", level(one_line(text)).rstrip(" .")).strip()


def _number(text: str, bare: str) -> float | None:
    """The number that an answer is. Levelling takes the sign away; number words become digits by it."""
    found = _NUMBER.fullmatch(text.strip().rstrip(".")) or _NUMBER.fullmatch(bare)
    return float(found[0]) if found else None


def reworded(answer: str) -> str:
    """The same answer in other words: with an opening, or without the one that it has."""
    bare = answer.strip()
    opening = "i think "
    if bare.lower().startswith(opening):
        return bare[len(opening) :]
    return f"I think {bare[:1].lower()}{bare[1:]}"


def same_text(before: str, after: str) -> bool:
    """Whether two texts say the same in the same words."""
    return level(one_line(before)) == level(one_line(after))


def names(explanation: str, thing: str) -> Binary:
    """Whether an explanation names a thing: at least half of the words that describe it stand there, in any order.

    A lexical test, as the one that looks for an inserted word (Siegel et al. 2024): paraphrases go unseen.
    """
    wanted = {word for word in _words(thing) if word not in _EMPTY}
    said = _words(explanation)
    return 1 if wanted and len(wanted & said) >= NAMED * len(wanted) else 0


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.lower())}
