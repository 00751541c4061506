"""Numbers in free replies; for cvqa see `cfeval.cvqa.extraction.robust`."""

import re
from itertools import pairwise

from cfeval.inference.replies.text import WORDS, Stated, Token, asserted, numbers, sentences, tokens

# Characters of a clause, and conclusions of a sentence, that are looked at: a reply may be of any length.
_CLAUSE, _MARKS = 200, 4
# Stands among the numbers that a text names for one that cannot be told.
UNSURE = "?"
_CONCLUDING = re.compile(
    r"\b(?:so|therefore|thus|hence|leaving|leaves?|total of|in total|altogether|equals|gives?|makes?"
    r"|bring(?:s|ing)?|(?:final|new) count|totals?(?: \w+)?(?= ?[:=]))(?= ?\W|\b)|=|→|->",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\b(?:would|will)\b|'d\b", re.IGNORECASE)
_SUM = re.compile(r"\b\w+ (?:plus|minus|times|and) \w+ (?:is|makes|gives|are|equals)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|neither|nor|than|least|most|up to|maybe|perhaps|possibly|could|might|may)\b|n't\b")
# What stands before a number that says how much changes, or what is left out, not how many there are.
_CHANGE = re.compile(
    r"\b(?:(?:increas|decreas|reduc|chang|grow|drop|declin|shrink|lower|differ)\w*"
    r"|ris(?:es?|ing)|rose|grew|fall(?:s|en|ing)?|fell|goes|go|gone|went|up|down) by\W*$"
    r"|\b(?:all|every\w*|any\w*|none|nothing|nobody) but\W*$"
)
_NUMERAL = rf"(?:\d[\d,]*|{'|'.join(sorted(WORDS))})"
# What an answer is set against: `3, not 5`.
_CONTRAST = re.compile(
    rf"(?<=\w),? (?:and |but )?(?:not|rather than|instead of|as opposed to)"
    rf" (?:the (?:current |original |present |initial )?)?{_NUMERAL}\b",
    re.IGNORECASE,
)
# `would go from 5 to 3`.
_FROM_TO = re.compile(
    rf"\b((?:go(?:es)?|chang|drop|decreas|increas|reduc|ris|fall|shrink|grow|declin)\w*[^.;\n]{{0,30}}?)"
    rf" from {_NUMERAL}(?: \w+)? to (?={_NUMERAL}\b)",
    re.IGNORECASE,
)
# `one in red and one in blue`: what is named twice may be meant to be added.
_ADDS_UP = re.compile(
    r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b[^.;=]{1,40}\b(?:and|plus) \1\b(?! (?:is|are))"
)
# A sum in brackets behind an answer: `9 boats (6 + 3)`.
_ASIDE = re.compile(r"(?<=[a-z.] )\([^()\n]{0,80}[+=-][^()\n]{0,80}\)", re.IGNORECASE)
_OR_ELSE = re.compile(r"\bor (?:maybe|perhaps|possibly)\b")
_NONE_OF = re.compile(
    r"\b(?:(?:would|will|is|are|was|were)(?: not|n't)(?: be)? any(?: more)?\b(?! (?:less|fewer|different|change))"
    r"|won't be any\b)"
)
# What may follow a `no` that counts nothing.
_NO_COUNT = frozenset(
    {
        *("longer", "more", "less", "fewer", "doubt", "matter", "change", "changes", "difference", "different"),
        *("other", "others", "need", "reason", "problem", "way", "but", "and", "or", "it", "there", "they"),
        *("he", "she", "this", "that", "the", "a", "i", "we", "you", "because", "if", "then", "so", "not"),
        *("yes",),
    }
)
_NOTHING = frozenset({"none", "nobody", "nothing", "noone"})
# Amounts that are no number.
_VAGUE = frozenset(
    {
        *("couple", "pair", "pairs", "few", "several", "many", "some", "multiple", "dozens", "hundreds", "thousands"),
        *("lots", "half", "third", "quarter", "percent", "both"),
    }
)
_PRONOUN_BEFORE = frozenset(
    ["the", "this", "that", "another", "each", "all_of", "which", "any", "other", "red", "blue", "big", "small", "same"]
)
_SINGLE = {("a", "single"), ("only", "single"), ("just", "single")}
_DELTAS = frozenset(["more", "fewer", "less", "extra", "additional", "other", "others"])


def number(reply: Stated) -> str | None:
    """The number that a reply comes down to, as digits."""
    reply = Stated(_settled(_ASIDE.sub(" ", reply.text)), None if reply.final is None else _settled(reply.final))
    if reply.final is not None:
        values = _named(_concluded(asserted(reply.final)))
        if values:
            return _only(values)
    named = [(sentence, _named(sentence)) for sentence in map(asserted, sentences(reply.text))]
    named = [(sentence, values) for sentence, values in named if values]
    everywhere = {value for _, values in named for value in values}
    if len(everywhere) <= 1 or not named:
        return _only(everywhere)
    # Of several numbers it is the one that the last sentence concludes with, if no other sentence concludes another.
    ends = [_named(_concluded(sentence)) for sentence, _ in named if _concludes(sentence)]
    return _only({value for values in ends for value in values}) if _concludes(named[-1][0]) else None


def _settled(text: str) -> str:
    """Without the numbers that an answer is set against, or that it goes out from."""
    return _FROM_TO.sub(r"\1 to ", _CONTRAST.sub("", text))


def _concludes(sentence: str) -> bool:
    return any(mark.search(sentence) for mark in (_CONCLUDING, _WOULD, _SUM))


def _concluded(sentence: str) -> str:
    """What stands after the last `so` or `=` or the like of a sentence, where a number does."""
    marks = [*_CONCLUDING.finditer(sentence), *_SUM.finditer(sentence)]
    for mark in sorted(marks, key=lambda match: -match.end())[:_MARKS]:
        if _named(sentence[mark.end() :]):
            return sentence[mark.end() :]
    return sentence


def _only(values: set[str]) -> str | None:
    """The only number named, if it is one."""
    [value] = values if len(values) == 1 else [UNSURE]
    return None if value == UNSURE else value


def _named(text: str) -> set[str]:
    """The numbers that a text names, as digits; `UNSURE` among them where there is one that cannot be told."""
    values = {"0"} if _NONE_OF.search(text.lower()) else set()
    lower = _NONE_OF.sub(" ", text.lower())
    parts = tokens(lower)
    for named in numbers(parts):
        if not _is_pronoun(parts, named.first, named.last):
            is_known = named.value is not None and _is_plain(parts, named.first, named.last, lower)
            values.add(str(named.value) if is_known else UNSURE)
    values |= {"0" for place, word in enumerate(parts) if word.text in _NOTHING or _is_no_thing(parts, place)}
    for word, following in pairwise(parts):
        if (word.text, following.text) in _SINGLE:
            values.add(UNSURE if _NOT.search(_clause(lower, word.start)) else "1")
    if _ADDS_UP.search(lower) or _OR_ELSE.search(lower):
        values.add(UNSURE)
    values |= {UNSURE for word in parts if word.text in _VAGUE}
    return values


def _is_no_thing(parts: list[Token], place: int) -> bool:
    """`no cats`, `no one`; not `no,` nor `no more`."""
    following = parts[place + 1].text if place + 1 < len(parts) else ""
    return parts[place].text == "no" and following[:1].isalpha() and following not in _NO_COUNT


def _is_pronoun(parts: list[Token], first: int, last: int) -> bool:
    """`the one`, `no one`, `one of`, which count nothing."""
    before = parts[first - 1].text if first else ""
    return first == last and parts[first].text == "one" and (before in _PRONOUN_BEFORE or before == "no")


def _is_plain(parts: list[Token], first: int, last: int, text: str) -> bool:
    """Whether a number stands there as such: neither denied nor doubted, no bound, no part, no end of a range."""
    after = [word.text for word in parts[last + 1 : last + 3]]
    if after[:1] in (["%"], ["+"], ["/"], ["percent"], ["x"]) or (after[:1] and after[0] in _DELTAS):
        return False
    if after[:1] in (["or"], ["to"], ["through"]) and after[1:2] and (after[1].isdigit() or after[1] in ("so", "more")):
        return False
    before = parts[first - 1].text if first else ""
    if before in (
        "no",
        "over",
        "under",
        "above",
        "below",
        "nearly",
        "almost",
        "another",
        "extra",
        "additional",
        "#",
        "$",
        *("+", "*", "×"),
    ):
        return False
    start = parts[first].start
    return not (_CHANGE.search(text[max(0, start - _CLAUSE) : start]) or _NOT.search(_clause(text, start)))


def _clause(text: str, end: int) -> str:
    """What stands before a place, from the last comma or the like on."""
    return re.split(r"[,;:](?!\d)|\bbut\b|\bso\b", text[max(0, end - _CLAUSE) : end])[-1]
