"""Whether an answer is another one in substance or evades, and whether an explanation names a thing: what texts alone
say.

An answer has *moved* if it says something else in substance than the answer before. Where the texts decide, no judge is
asked, since one that is asked about everything errs on everything: most answers stay as they are, and a judge with a
specificity of .8 calls every fifth of those changed.

An evasion is no answer: it says that nothing can be told, or that the thing is not to be seen. A model that says of
every edited image that what was asked about is no longer visible has neither followed the edit nor ignored it. The
texts show the usual wordings; the judge that compares two answers also says of others whether they evade
(`cfeval.edct.protocols.controls`).
"""

import re
import unicodedata
from fractions import Fraction

from cfeval.core.records import Binary, Status
from cfeval.datasets.answer_scoring import level, one_line
from cfeval.inference.replies.boolean import boolean
from cfeval.inference.replies.text import Stated, number, numbers, stated, tokens

_OPENING = re.compile(
    r"^(?:(?:i (?:think|believe|guess|would say)(?: that)?|(?:my |the )?(?:final )?answer(?: is|:)|it is|it's|this is"
    r"|that is|there (?:is|are)|probably) )+"
)
_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "’": "'", "٫": ".", "٬": ",", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
# More than 30 digits are no number that an answer names.
_NUMERAL = re.compile(
    r"(?<![\w.,])[+-]?(?:[0-9]{1,3}(?:[ '][0-9]{3})+(?:[.,][0-9]{1,30})?(?![0-9])"
    r"|[0-9]{1,30}/[0-9]{1,30}|(?:[0-9]{1,30}|(?=[.,]))(?:[.,][0-9]{1,30}){0,9}(?:e[+-]?[0-9]{1,2})?)(?!\w)"
)
_GROUPS = re.compile(
    r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]{0,2}(?:'[0-9]{3})+"
    r"|[1-9][0-9]{0,2}(?: [0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
)
_NONE = re.compile(
    r"none(?: at all)?"
    r"|no(?! (?:question|doubt|wonder|mistake|kidding|objection|idea|worr|problem))(?: [^\W\d_]+){1,3}"
)
# A whole sentence without one of these, such as `it is`, answers by what was asked.
_POLAR = re.compile(r"\b(?:yes|yeah|yep|yup|no(?! doubt)|nope|nah)\b")
_MOST_WORDS = 12
_OPTION = re.compile(r"\(?([a-z])[.)]?")
_WORD = re.compile(r"[^\W_]+")
# Words that name no thing.
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at behind beside between by for from in into is it its next no not of off on onto or over that"
        " the their there this to under with color colour shape size position presence background state number kind"
    )
)
# The basic color terms of English (Berlin & Kay 1969): no two of them mean the same.
_COLORS = frozenset(("black", "blue", "brown", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow"))
# So many things are named by each of two answers to one question that differ for sure since they share no word.
SURE = 3
# So large a share of a thing's words stands in an explanation that names it.
NAMED = 0.5


def moved_by_text(before: str, after: str) -> Binary | None:
    """Whether an answer moved, in 0 and 1; None where the texts alone do not decide.

    Equal texts have not moved, with letter case, punctuation, articles and number words aside (as VQA v2 levels them),
    and with what merely opens an answer, such as `I think` or `The answer is`.
    Two numbers, two letters of options, and two answers that say yes or no, are compared as such. `none` and `no dogs`
    are the number 0. A number that may be two, such as `2.500`, leaves it open.
    """
    if _plain(before) == _plain(after):
        return 0
    options = [_OPTION.fullmatch(text.strip().lower()) for text in (before, after)]
    if options[0] and options[1]:
        return 0 if options[0][1] == options[1][1] else 1
    values = _number(before), _number(after)
    if values[0] and values[1]:
        if not values[0] & values[1]:
            return 1
        return 0 if values[0] == values[1] and len(values[0]) == 1 else None
    if _bare(before) == _bare(after):
        figures = [[_readings(numeral) for numeral in _NUMERAL.findall(_plain(text))] for text in (before, after)]
        return 0 if figures[0] == figures[1] else None
    polar = _polarity(before), _polarity(after)
    return 1 if None not in polar and polar[0] != polar[1] else None


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
        # `none` may say no.
        nothing = all(_names_none(text) or _polarity(text) == "no" for text in (before, after))
        return forms[0] != forms[1] and not nothing
    things = [_stems(_bare(text)) - _EMPTY for text in (before, after)]
    enough = min(map(len, things)) >= (SURE if same_question else 1)
    return forms[0] == forms[1] and enough and not things[0] & things[1]


def _form(text: str) -> str:
    """`number`, or `polar` where an answer says yes or no; else empty."""
    return "number" if _number(text) else "polar" if _polarity(text) else ""


def _bare(text: str) -> str:
    return _OPENING.sub("", level(one_line(text)).rstrip(" .")).strip()


def _plain(text: str) -> str:
    """The answer alone with its punctuation, digits of every script as ASCII."""
    folded = unicodedata.normalize("NFKC", text.translate(_SIGNS)).lower()
    digits = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in folded)
    return _OPENING.sub("", digits.strip().strip("\"'*_`“”").rstrip(" .!")).strip()


# What a number may be; a text where digits are written as no number is.
Values = frozenset[Fraction | str]
_ZERO: Values = frozenset([Fraction(0)])


def _polarity(text: str) -> str | None:
    """`yes` or `no`, where an answer says so; `no dogs` says no, `no doubt, it rains` does not."""
    plain = _plain(text)
    if _names_none(text):
        return "no"
    statement = stated(plain) if _POLAR.search(plain) else None
    return boolean(statement) if statement else None


def _names_none(text: str) -> bool:
    """Whether the whole of an answer is `none`, `no dogs` or the like."""
    plain = _plain(text)
    return bool(_NONE.fullmatch(plain)) and number(Stated(plain, None)) == "0"


def _number(text: str) -> Values | None:
    """The number that the whole of an answer is; None where it is none."""
    plain = _plain(text)
    if _NUMERAL.fullmatch(plain):
        return _readings(plain)
    if _names_none(text):
        return _ZERO
    plain_tokens = tokens(plain)
    spelled = list(numbers(plain_tokens)) if len(plain_tokens) <= _MOST_WORDS else []
    if len(spelled) != 1 or (spelled[0].first, spelled[0].last) != (0, len(plain_tokens) - 1):
        return None
    value = spelled[0].value
    return None if value is None else frozenset([Fraction(value)])


def _readings(numeral: str) -> Values:
    """What digits with separators may mean, whatever the language: `1,5` is one and a half, `2.500` may be two numbers.

    Groups have three digits, or two and at the end three as in India. A single separator before three digits may
    begin decimals or part thousands.
    """
    sign = -1 if numeral.startswith("-") else 1
    digits, _, exponent = numeral.lstrip("+-").partition("e")
    power = Fraction(10) ** int(exponent) if exponent else Fraction(1)
    marks = "".join(dict.fromkeys(re.sub("[0-9]", "", digits)))
    if marks == "/":
        above, below = map(int, digits.split("/"))
        return frozenset([sign * Fraction(above, below) if below else digits, digits])
    values = [Fraction(int(digits))] if not marks else list[Fraction]()
    head, _, tail = digits.rpartition(marks[-1]) if marks else ("", "", "")
    if marks and marks[-1] in ".," and marks[-1] not in head and (not re.search("[^0-9]", head) or _grouped(head)):
        values.append(Fraction(int(re.sub("[^0-9]", "", head) + tail), 10 ** len(tail)))
    if len(marks) == 1 and _grouped(digits):
        values.append(Fraction(int(re.sub("[^0-9]", "", digits))))
    return frozenset(sign * value * power for value in values) or frozenset([numeral])


def _grouped(digits: str) -> bool:
    return _GROUPS.fullmatch(digits) is not None


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
    wanted = {word for word in _stems(thing) if word not in _EMPTY}
    explained = _stems(explanation)
    return 1 if wanted and len(wanted & explained) >= NAMED * len(wanted) else 0


def _stems(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.lower())}


# How a conversation ends without an answer by the doing of the target, or of those who run it.
NO_ANSWER = (Status.REFUSED, Status.MODERATED, Status.TRUNCATED, Status.UNPARSABLE)

_CANNOT = (
    r"(?:can(?:not|'?t| not)|could(?: not|n'?t)|(?:not|n'?t) able to|unable to"
    r"|(?:im|not )possible to|(?:hard|difficult) to|no way to|not enough (?:information|detail|evidence) to"
    r"|insufficient (?:information|detail|evidence) to)"
)
_CAN_SAY = (
    r"(?:be )?(?:\w+ly )?(?:tell|say|see|know|determine[d]?|answer(?:ed)?|identify|identified|make (?:it |that )?out"
    r"|judge[d]?|read|recogni[sz]e[d]?|establish(?:ed)?|infer(?:red)?|find|assist|help|comment|conclude[d]?)"
)
_GONE = (
    r"(?:no longer|not(?: \w+ly)?|isn'?t|aren'?t|never) (?:be )?(?:\w+ly )?(?:visible|shown|seen|discernible|in view)"
)
_UNKNOWN = (
    r"(?:i (?:do not|don'?t) know|not sure|unsure|uncertain|unknown|indeterminate|undetermined|unclear|unanswerable"
    r"|no answer|no idea|n/?a|cannot answer|insufficient (?:information|evidence)|not enough (?:information|evidence)"
    r"|(?:there is |there'?s )?not enough (?:information|detail) (?:in|to) .*"
    r"|it depends|impossible to (?:say|tell))"
)
_EVASION = re.compile(rf"\b{_CANNOT} {_CAN_SAY}\b|\b{_GONE}\b|^(?:it is |it'?s |that is |i'?m |i am )?{_UNKNOWN}[.!]?$")
_DEFINITE = re.compile(r"^(?:yes|no)\b(?! (?:idea|answer|information|way|clue))")


def declines(status: Status, answer: str, before: str) -> bool:
    """Whether a target gave no answer, or evaded the question as it did not in its answer before."""
    return status in NO_ANSWER or (evades(answer) and not evades(before))


def evades(answer: str) -> bool:
    """Whether an answer evades its question. One that begins with a yes or no does not, whatever it adds."""
    text = " ".join(answer.lower().replace("’", "'").split())
    return not _DEFINITE.match(text) and bool(_EVASION.search(text))
