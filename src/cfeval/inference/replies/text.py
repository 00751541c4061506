"""How a free reply is taken apart: what it finally states, what it only supposes, whether it declines; its numbers.

Numbers stand in digits or in words; what is no plain whole number is told apart from what is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": "-", "\u00a0": " "})
_MARKUP = re.compile(r"\\(?:text|mathrm|mathbf)?|\$+(?=[\d\\])|(?<=\d)\$+|[*_`~]{1,3}|^\s*#+\s+", re.MULTILINE)
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}|^\s*####\s*(.*)$", re.MULTILINE)
_STEP = re.compile(r"\b(?:step|part)\s*\d+\s*[:.)-]?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_ANSWER = re.compile(
    r"(?<!\bto )\banswer\b(?P<between>[^.?!;\n]{0,40}?)(?P<verb>\bis\b|\bare\b|\bbe\b|\bremains\b|\bbecomes\b"
    r"|\bequals\b|:|=)"
    r"(?:\s*:)?",
    re.IGNORECASE,
)
_DASHED = re.compile(r"^(\W*(?:(?:final|correct|short|my) )?answer) +- +(?=\S)", re.IGNORECASE | re.MULTILINE)
_REASON = re.compile(r"\W*\b(?:because|since|as|while|whereas|given)\b", re.IGNORECASE)
_DOUBTED = re.compile(
    r"\b(?:not|never|cannot|whether|if|unless|could|might|may|maybe|perhaps|possibly|either|wrong|incorrect|what"
    r"|which)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_DECLINED = re.compile(
    r"\b(?:cannot|can ?not|can't|could not|couldn't|unable|not able|impossible|hard|difficult|not possible)\b"
    r"(?:\W+\w+){0,4}?\W+(?:tell|telling|say|see|determine|know|answer|count|view|provide|identify|assist|help|access"
    r"|process|determined|known|seen|counted|answered|told|said|comment|discern|judge|make|give|confirm|decide)\b"
    r"|\bas an? (?:ai|assistant|language|large)\b"
    r"|\b(?:do|does|did)(?: not|n't) (?:know|have|contain|show|provide|specify)"
    r"|\bnot (?:sure|certain|specified|provided|given|mentioned|known|applicable|relevant)\b"
    r"|\bno (?:idea|clue|information|answer|image|picture|photo|telling|way (?:to|of)|context"
    r"|data|evidence|indication)\b"
    r"|\b(?:unclear|unknown|unsure|uncertain|undetermined|indeterminate|undefined|ambiguous|insufficient|inconclusive"
    r"|unanswerable|depends|sorry|apologi[sz]e|error|failed|exception|n/a|refuse|decline|guess)\b"
    r"|\bmore (?:information|context|details?)\b",
    re.IGNORECASE,
)
_UNSEEN = re.compile(r"\bnot (?:visible|clear|shown|enough)\b", re.IGNORECASE)
# After such an opening, `not visible` and the like explain an answer; elsewhere they stand for one.
_ANSWERED = re.compile(r"\W*(?:yes|no)\s*[,.;:!-]", re.IGNORECASE)
# After such an opening what others cannot see is a reason: `no, the dog could not see it`.
_OF_OTHERS = re.compile(
    r"\b(?!it|i|we|there)(?:he|she|they|(?:the|a|an|his|her|their) \w+(?: \w+)?)(?: still| then)?"
    r" (?:cannot|can't|can not|could not|couldn't|(?:would|will) not be able|wouldn't be able"
    r"|(?:is|are|was|were|be|being)? ?(?:un|not )able)"
    r"(?: \w+){1,4}$|\bnot (?:visible|clear|shown|enough)$",
    re.IGNORECASE,
)
_ANEW = re.compile(r"[.!?;\n]|\b(?:but|however)\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:even )?(?:if|when|after|once|because|since|given that|assuming|suppose|supposing|unless|whether|without"
    r"|except|were(?= \w+ (?:more|fewer|additional|extra|other|of)\b)"
    r"|with(?= \w+ (?:more|fewer|additional|extra)\b))\b.*?"
    r"(?:,(?!\d)|:(?!\d)|\bthen\b|(?=\b(?:there|it|they|we|you|he|she|this|that|i|the \w+(?: \w+)?)"
    r"(?: would| will|'d|'ll| could| should)\b)|$)",
    re.IGNORECASE | re.DOTALL,
)
_OPENING = re.compile(
    r"^\W*(?:with|by|adding|removing|taking|starting|from|subtracting|doubling|out of|of|in (?:this|that|such))\b"
    r".*?,(?!\d)",
    re.IGNORECASE,
)
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {word: number for number, word in enumerate(_UNITS)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_TOO_MUCH = 10**15
# Words that are numbers or parts of them.
WORDS = frozenset({*SMALL, *_LARGE})
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[a-z]+(?:'[a-z]+)?|[^\s\w]|\w+")
_WHOLE = re.compile(r"(\d+|\d{1,3}(?:,\d{3})+)(?:\.0+)?")
_POINTS_OF_THOUSANDS = re.compile(r"\d{1,3}(?:\.000)+")
_SIGNS = ("-", "−", "–", "—")


@dataclass(frozen=True)
class Stated:
    """What a reply comes down to.

    `final` is what follows its last `the answer is`, None where it says nothing of the kind; `text` the whole of it.
    """

    text: str
    final: str | None


def stated(reply: str) -> Stated | None:
    """Take a reply apart; None where it declines to answer and gives no answer afterwards."""
    text = _plain(reply)
    declined = [*_DECLINED.finditer(text), *_UNSEEN.finditer(text)]
    if _ANSWERED.match(text):
        declined = [
            match for match in declined if not _OF_OTHERS.search(text[max(0, match.start() - 80) : match.end()])
        ]
    if not declined:
        return Stated(text, _final(text))
    anew = _ANEW.search(text, max(match.end() for match in declined))
    after = _final(text[anew.end() :]) if anew else None
    return None if after is None else Stated(after, after)


def sentences(text: str) -> list[str]:
    """The sentences of a text but for questions."""
    return [part for part in _SENTENCE.split(text) if part.strip() and not part.rstrip(" \"')").endswith("?")]


def asserted(sentence: str) -> str:
    """A sentence without what it only supposes or gives as a reason: `if 2 came, there would be 5` → the latter."""
    return _OPENING.sub(" ", _SUPPOSED.sub(" ", sentence))


def without_reason(final: str) -> str:
    """A final answer up to its reason: `C, because A and B are too many` is C."""
    return _REASON.split(final, maxsplit=1)[0]


def _plain(reply: str) -> str:
    text = reply.translate(_TYPOGRAPHY)
    text = _BOXED.sub(lambda match: f"\nanswer: {match.group(1) or match.group(2)}.\n", text)
    text = re.sub(r":[ \t]*\n+", ": ", _STEP.sub(" ", _MARKUP.sub("", text))).strip()
    return _DASHED.sub(r"\1: ", text)


def _final(text: str) -> str | None:
    """What follows the last `answer is`, or `answer:`, up to the end of the sentence; one in doubt ends up as ``."""
    final = None
    for sentence in sentences(text):
        for match in _ANSWER.finditer(sentence):
            doubted = _DOUBTED.search(asserted(sentence[: match.start()]) + match.group())
            tail = sentence[match.end() :].strip()
            final = "?" if doubted or re.match(r"(?:not|n't|neither)\b", tail, re.IGNORECASE) else tail
    return final or None


@dataclass(frozen=True)
class Token:
    """A word, number or mark of a lower-case text, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Number:
    """A number that a text names: tokens `first` to `last`. `value` is None where it is no plain whole number."""

    first: int
    last: int
    value: int | None


def tokens(text: str) -> list[Token]:
    """Words, numbers and marks of a lower-case text."""
    return [Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)]


def numbers(parts: list[Token]) -> Iterator[Number]:
    """The numbers in a text, from left to right, signs included (`-3`, `minus three`)."""
    place = 0
    while place < len(parts):
        named = _digits(parts, place) or _spelled(parts, place)
        if named:
            yield _signed(parts, named)
        place = named.last + 1 if named else place + 1


def _digits(parts: list[Token], place: int) -> Number | None:
    text = parts[place].text
    if not (text[0].isascii() and text[0].isdigit()):
        return None
    whole = None if _POINTS_OF_THOUSANDS.fullmatch(text) else _WHOLE.fullmatch(text)
    glued = place + 1 < len(parts) and parts[place + 1].start == parts[place].end and parts[place + 1].text[0].isalnum()
    short = whole is not None and len(whole.group(1)) <= 18 and not glued
    value = int(whole.group(1).replace(",", "")) if whole and short else None
    return Number(place, place, value)


def _spelled(parts: list[Token], place: int) -> Number | None:
    """The longest run of number words from here on: `one hundred and twenty-one`; `a dozen`."""
    value, part, last, least = 0, 0, -1, 10**9
    at = place + 1 if parts[place].text == "a" else place
    if at > place and not (at < len(parts) and parts[at].text in _LARGE):
        return None
    while at < len(parts) and part < _TOO_MUCH:
        word = parts[at].text
        if word in SMALL and SMALL[word] < least:
            part, least = part + SMALL[word], 10 if SMALL[word] >= 20 else 0
        elif word in _LARGE:
            part, least = max(part, 1) * _LARGE[word], 100
            value, part = (value + part, 0) if word != "hundred" else (value, part)
        elif not (word in ("-", "and") and last == at - 1 and _goes_on(parts, at, least)):
            break
        last = at if word in WORDS else last
        at += 1
    return None if last < 0 else Number(place, last, value + part if value + part < _TOO_MUCH else None)


def _goes_on(parts: list[Token], at: int, least: int) -> bool:
    """Whether `-` or `and` here joins two parts of one number: `twenty-one`, `hundred and one`."""
    following = parts[at + 1].text if at + 1 < len(parts) else ""
    wanted = 100 if parts[at].text == "and" else 10
    return following in SMALL and SMALL[following] < least and least == wanted


def _signed(parts: list[Token], number: Number) -> Number:
    """With what stands before it: a sign makes it negative, unless it joins two numbers."""
    before = parts[number.first - 1] if number.first else None
    if before is None or number.value is None:
        return number
    close = before.end == parts[number.first].start
    if before.text in ("minus", "negative") or (before.text in _SIGNS and close):
        earlier = parts[number.first - 2] if number.first > 1 else None
        joined = earlier is not None and (earlier.text[0].isalnum() if before.text == "minus" else False)
        joined = joined or (before.text in _SIGNS and earlier is not None and earlier.end == before.start)
        return Number(number.first - 1, number.last, None if joined else -number.value)
    return number


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
