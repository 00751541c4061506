"""A better reader of free replies: what it cannot tell for sure is unread (None), never a guess.

What a reply sets apart as its answer counts first: between answer tags, in JSON or a call of a tool, in a box, on a
line of its own. Of prose it knows numbers over ten, thousands, decimals that are whole, `none` and `no cats`, sums,
sentences with an if-clause, reasoning that ends in an answer, letters and options by value; and the same in Chinese.
Refusals, ranges (`3 or 4`), bounds (`at least 3`), approximations by `or so`, contradictions, mere echoes and thoughts
that do not end are unread. It does not look at the right answer.

Replies in Chinese: `答案是B`, `不会`, `还剩三只`. What is not clear is unread, as in every other language.
"""

import re
from dataclasses import dataclass
from functools import cache

from cfeval.cvqa import open_answers
from cfeval.cvqa.extraction.set_apart import answers, lone_line, without_calls
from cfeval.cvqa.records import ALPHABET, LETTERS, Choices, Form
from cfeval.datasets.answer_scoring import level, one_line
from cfeval.inference.replies.boolean import boolean
from cfeval.inference.replies.text import WORDS, Stated, number, stated, without_reason
from cfeval.inference.thinking import without_thoughts

_END = r"(?=\s*(?:$|[.,:;!)\]\"'=]|-\s|\d|\b(?:because|since|as|is|would|with|which)\b))"


@dataclass(frozen=True)
class _Marks:
    """How the letters up to one of them stand in a reply."""

    opening: re.Pattern[str]
    as_option: tuple[re.Pattern[str], ...]
    """Where a letter stands for its option."""
    alone: re.Pattern[str]
    contrast: re.Pattern[str]
    """What an answer is set against: `B, not A`."""
    final: re.Pattern[str]


@cache
def _letter_marks(last: str) -> _Marks:
    small, large = f"[a-{last.lower()}]", f"[A-{last}]"
    alone = large.replace("A", "B") if last < "I" else rf"[B-HJ-{max(last, 'J')}]|I(?!')(?!\s+[a-z])"
    other = rf"(?:\(?(?:option |choice )?[\"']?{large}\b[\"')]*)"
    opening = re.compile(rf"^\W*({small})\s*(?:$|[).:,\]\"'=-]+(?=\s|\d|$)|\s(?=\d))", re.IGNORECASE)
    return _Marks(
        opening,
        (
            re.compile(rf"[(\[]\s*({small})\s*[)\]]", re.IGNORECASE),
            re.compile(
                r"\b(?:option|choice|letter|answer|pick|selection)(?:\s+(?:is|would be|will be|should be|must be))?"
                rf"\s*[:=]?\s*[\"'(\[]*({small})\b{_END}",
                re.IGNORECASE,
            ),
            re.compile(
                r"\b(?i:is|it's|be|choose|chose|pick|select|go with|going with|think|say|therefore|so|thus|hence)"
                rf"\s+[\"']*({large})\b{_END}"
            ),
            re.compile(rf"\b({large})\b(?= (?:is|would be|must be) (?:the )?(?:correct|right|answer|best))"),
            opening,
        ),
        re.compile(rf"\b(?:A(?!\w)(?!\s+[a-z])|{alone})\b(?!')"),
        re.compile(
            rf"(?<=[\w)\"'.*]),? (?:and |but )?(?:not|rather than|instead of|as opposed to) {other}"
            rf"(?:(?:,| or| nor| and)+ {other})*"
        ),
        re.compile(rf"\W*(?:option|choice|letter)?\W*({small})\b{_END}", re.IGNORECASE),
    )


_REJECTED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|wrong|incorrect|maybe|perhaps|possibly|either|or)\b|n't\b", re.IGNORECASE
)


# What may name an option by its letter or its place.
_NAMES_OPTION = re.compile(r"\b[A-Da-d]\b|\b(?:option|choice|first|second|third|fourth|last)s?\b", re.IGNORECASE)
_VALUE = rf"(?:\d[\d,]*|(?:{'|'.join(sorted(WORDS))})(?:[ -](?:{'|'.join(sorted(WORDS))}))*)"
# Lines that are nothing but an answer.
_BARE: dict[Form, re.Pattern[str]] = {
    "number": re.compile(rf"[^\w-]*{_VALUE}(?: [a-z]{{3,}}(?<!more)(?<!less)(?<!fewer)){{0,2}}[^\w?]*", re.IGNORECASE),
    "boolean": re.compile(r"\W*(?:yes|no)[^\w?]*", re.IGNORECASE),
    "choice": re.compile(rf"\W*(?:option )?(?:[A-D]\b(?:[):.,\s]+{_VALUE})?|{_VALUE})[^\w?]*", re.IGNORECASE),
}


def read(reply: str, form: Form, choices: Choices | None = None, question: str = "") -> str | None:
    """What a reply says: digits, `yes`, `no`, or a letter as shown; None where it does not say it clearly.

    Args:
        choices: the options as they were shown, where the form is `choice`.
        question: what was asked; whole sentences are only taken for yes or no where they repeat its words.
    """
    text = without_thoughts(reply)
    if text is None:
        return None
    apart = answers(text)
    if apart:
        readings = {_read_text(part, form, choices, question, final=True) for part in apart}
        return readings.pop() if len(readings) == 1 else None
    return _read_text(without_calls(text), form, choices, question)


def outside(reply: str, choices: Choices) -> str | None:
    """The number that a reply clearly gives though no option has it; None where it names an option or no number.

    Args:
        reply: one that names no option for sure.
        choices: the options as they were shown.
    """
    if _NAMES_OPTION.search(reply):
        return None
    value = read(reply, "number")
    return None if value in choices.values else value


def _read_text(text: str, form: Form, choices: Choices | None, question: str, final: bool = False) -> str | None:
    """A text that holds nothing but an answer where it is `final`, and otherwise a reply."""
    # `Not visible` may be an option, and no refusal.
    if choices and (whole := _whole_value(text, choices, _letter_marks(choices.letters[-1]))):
        return whole
    if HAN.search(text):
        return read_chinese(text, form, choices)
    statement = stated(text)
    if statement is None:
        return None
    if not final and statement.final is None:
        line = lone_line(statement.text, _BARE[form]) if form in _BARE else None
        if line is not None:
            statement, final = Stated(line, None), True
    if final:
        return _read_stated(
            Stated(statement.text, statement.final or statement.text), form, choices, question
        ) or _read_stated(statement, form, choices, question, final)
    return _read_stated(statement, form, choices, question)


def _read_stated(
    statement: Stated, form: Form, choices: Choices | None, question: str, final: bool = False
) -> str | None:
    if form == "text":
        return open_answers.read_words(statement, final)
    if form == "number":
        return number(statement)
    return boolean(statement, question) if form == "boolean" else choice(statement, choices)


def choice(statement: Stated, choices: Choices | None) -> str | None:
    """The letter, as shown, that a reply comes down to."""
    marks = _letter_marks(max(LETTERS[-1], choices.letters[-1]) if choices else LETTERS[-1])
    text = marks.contrast.sub("", statement.text if statement.final is None else without_reason(statement.final))
    if choices and (whole := _whole_value(text, choices, marks)):
        return whole
    marked = {letter.upper() for mark in marks.as_option for letter in mark.findall(text)}
    if statement.final is not None and (bare := marks.final.match(text)):
        marked.add(bare.group(1).upper())
    loose = set(marks.alone.findall(text))
    if len(marked | loose) > 1 or _REJECTED.search(text):
        return None
    by_value = _by_value(text, choices, marks)
    if not marked:
        return by_value if by_value and loose <= {by_value} else None
    [letter] = marked
    return letter if by_value in (None, letter) else None


def _by_value(text: str, choices: Choices | None, marks: _Marks) -> str | None:
    """The letter of the only option with the value that a text comes down to, however the value is written."""
    if choices is None:
        return None
    without = marks.opening.sub(" ", text)
    if without.strip() in choices.values:
        value: str | None = without.strip()
    elif all(value.isdigit() for value in choices.values):
        value = number(Stated(without, None))
    else:
        return _named_value(without, choices)
    named = [letter for letter, option in zip(choices.letters, choices.values, strict=True) if option == value]
    return named[0] if len(named) == 1 else None


def _whole_value(text: str, choices: Choices, marks: _Marks) -> str | None:
    """The letter of the option in words that a text is, with the letter before it or without."""
    given = marks.opening.match(text)
    plain = _levelled(marks.opening.sub(" ", text))
    for letter, value in zip(choices.letters, choices.values, strict=True):
        if plain and not value.isdigit() and plain == _levelled(value):
            return letter if given is None or given[1].upper() == letter else None
    return None


def _named_value(text: str, choices: Choices) -> str | None:
    """The letter of the only option in words that a text names; one within a longer named one does not count."""
    rest, named = f" {_levelled(text)} ", []
    for value in sorted(map(_levelled, choices.values), key=len, reverse=True):
        if value and f" {value} " in rest:
            rest = rest.replace(f" {value} ", " | ")
            named.append(value)
    letters = [
        letter for letter, value in zip(choices.letters, choices.values, strict=True) if _levelled(value) in named
    ]
    return letters[0] if len(letters) == 1 else None


def _levelled(text: str) -> str:
    return level(one_line(text)).replace(".", " ").strip()


HAN = re.compile(r"[\u4e00-\u9fff]")
_WIDE = str.maketrans("，：；！？（）０１２３４５６７８９ＡＢＣＤ", ",:;!?()0123456789ABCD")
_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_NUMERAL = re.compile(r"\d+|[零〇一二两三四五六七八九十百千]+")
_DOUBT = re.compile(
    r"无法|不能确定|不确定|不知道|不清楚|看不清|难以|抱歉|可能|也许|或许|大概|大约|左右|至少|最多|或者?|几[只个]|一些|许多|很多"
    r"|取决于|是否|不明|信息不足|\d\s*[-–~到至]\s*\d"
)
_FINAL = re.compile(
    r"答案(?:应该|应当|就|会|选)?\s*(?:是|为|选|:)\s*:?|(?:应该|应|我)?选择?(?:项|答案)?\s*:?(?=\s*\(?[A-D])"
)
_SUPPOSED = re.compile(r"(?:如果|假如|假设|若|要是)[^,。;]{0,200}?(?:,|的话,?|(?=就会|就|那么|将))")
_PRESENT = re.compile(r"(?:图(?:片|像|中)*[里中]|原本|原来|原先|现在|目前)[^,。;]{0,200}[,。;]")
_RESULT = re.compile(r"剩下?|剩余|还有|将有|会有|就有|就会有|变成|变为|一共有?|总共有?|共有|等于|得到|=")
_NOT_ANY = re.compile(r"没有|都没有|没了|一[只个]也没|不会有|零[只个]")
_YES = re.compile(r"(?:是的?|会的?|对的?|能|可以|有的?|没错|正确|肯定会?|当然会?|仍然会|还会|依然会)(?=$|[,。!;\s])")
_NO = re.compile(
    r"(?:不是|不会|不能|不可以|不对|不再|不|否|没有|并不会?|当然不会?|肯定不会?|错误)(?:的|了|再)?(?=$|[,。!;\s])"
)
_SUBJECT = re.compile(r"^(?:他们?|她们?|它们?|那么|所以|因此|那就?)\s*,?")
_LETTER = re.compile(r"(?<![A-Za-z])[A-D](?![A-Za-z])")


def read_chinese(reply: str, form: Form, choices: Choices | None = None) -> str | None:
    """What a reply in Chinese says; None where it does not say it clearly.

    Args:
        choices: the options as they were shown, where the form is `choice`.
    """
    text = re.sub(r"[*`_]+", "", reply.translate(_WIDE)).strip()
    if not text or form == "text" or _DOUBT.search(text) or text.endswith("?"):
        return None
    finals = list(_FINAL.finditer(text))
    final = text[finals[-1].end() :].strip() if finals else None
    if form == "boolean":
        return _chinese_boolean(text if final is None else final)
    if form == "number":
        return _chinese_number(text if final is None else final)
    return _chinese_choice(text if final is None else final, choices)


def _chinese_boolean(text: str) -> str | None:
    """The yes or no that a reply opens with."""
    opening = _SUBJECT.sub("", _SUPPOSED.sub("", text).strip(" ,:")).strip()
    if _NO.match(opening):
        return "no"
    return "yes" if _YES.match(opening) else None


def _chinese_number(text: str) -> str | None:
    """The only number that is neither supposed nor of what is there now; of several the one of the conclusion."""
    without = _SUPPOSED.sub(" ", text)
    for part in (_PRESENT.sub(" ", without), without):
        marks = list(_RESULT.finditer(part))
        for clause in (part[marks[-1].end() :] if marks else part, part):
            values = {value for run in _NUMERAL.findall(clause) if (value := _numeral(run)) is not None}
            if len(values) == 1 and not _NOT_ANY.search(clause):
                return str(values.pop())
            if values:
                break
        if not values and _NOT_ANY.search(part):
            return "0"
    return None


def _numeral(run: str) -> int | None:
    """A numeral up to 9,999: `十二` is 12, `两百零三` 203; None for what is no numeral."""
    if run.isdigit():
        return int(run) if len(run) <= 18 else None
    total, digit = 0, None
    for sign in run:
        if sign in _SCALES:
            total, digit = total + (1 if digit is None else digit) * _SCALES[sign], None
        elif digit:
            return None  # two digits side by side: a year, a code
        else:
            digit = _DIGITS[sign]
    return total + (digit or 0)


def _chinese_choice(text: str, choices: Choices | None) -> str | None:
    """The only letter, or the option with the only value."""
    letters = set(_LETTER.findall(text))
    if letters:
        return letters.pop() if len(letters) == 1 and "不" not in text else None
    value = _chinese_number(text)
    named = [
        letter for letter, option in zip(ALPHABET, choices.values if choices else (), strict=False) if option == value
    ]
    return named[0] if len(named) == 1 else None
