"""Replies in Chinese: `答案是B`, `不会`, `还剩三只`. What is not clear is unread, as in every other language."""

import re

from cfeval.cvqa.choices import ALPHABET, Choices
from cfeval.cvqa.records import Form

HAN = re.compile(r"[\u4e00-\u9fff]")
_WIDE = str.maketrans("，：；！？（）０１２３４５６７８９ＡＢＣＤ", ",:;!?()0123456789ABCD")
_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_NUMBER = re.compile(r"\d+|[零〇一二两三四五六七八九十百千]+")
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


def read(reply: str, form: Form, choices: Choices | None = None) -> str | None:
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
        return _boolean(text if final is None else final)
    if form == "number":
        return _number(text if final is None else final)
    return _choice(text if final is None else final, choices)


def _boolean(text: str) -> str | None:
    """The yes or no that a reply opens with."""
    opening = _SUBJECT.sub("", _SUPPOSED.sub("", text).strip(" ,:")).strip()
    if _NO.match(opening):
        return "no"
    return "yes" if _YES.match(opening) else None


def _number(text: str) -> str | None:
    """The only number that is neither supposed nor of what is there now; of several the one of the conclusion."""
    without = _SUPPOSED.sub(" ", text)
    for part in (_PRESENT.sub(" ", without), without):
        marks = list(_RESULT.finditer(part))
        for told in (part[marks[-1].end() :] if marks else part, part):
            found = {value for run in _NUMBER.findall(told) if (value := _value(run)) is not None}
            if len(found) == 1 and not _NOT_ANY.search(told):
                return str(found.pop())
            if found:
                break
        if not found and _NOT_ANY.search(part):
            return "0"
    return None


def _value(run: str) -> int | None:
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


def _choice(text: str, choices: Choices | None) -> str | None:
    """The only letter, or the option with the only value."""
    letters = set(_LETTER.findall(text))
    if letters:
        return letters.pop() if len(letters) == 1 and "不" not in text else None
    value = _number(text)
    named = [letter for letter, one in zip(ALPHABET, choices.values if choices else (), strict=False) if one == value]
    return named[0] if len(named) == 1 else None
