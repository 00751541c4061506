"""Reads the verdict of a judge's reply, and nothing that might not be its verdict.

A judge states its scores in the form that was asked for, or in one of the usual variants of it: JSON, lines, a table.
Where a reply leaves open what the judge means, no verdict is read, so that the judge is asked once more: thoughts that
do not end, verdicts that differ, a text after the last one. No list of words would tell a text that takes the verdict
back from one that does not, in any language, so every text but a farewell counts. What the judge only quotes is no
verdict: a quotation, a text between tags, or what a line such as `The explanation reads:` introduces. The time is
linear in the length of the text, whatever the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from pydantic import BaseModel

from cfeval.inference.parsing import json_objects, raw_objects
from cfeval.inference.thinking import answer_of

M = TypeVar("M", bound=BaseModel)
Scores = list[tuple[str, int]]
# ASCII: no other script's digits or letters that count as equal.
_FLAGS = re.ASCII | re.IGNORECASE
_MARKUP = re.compile(
    r"[*`]|__|</?(?:b|i|em|strong|code|br|p|verdict|scores?|results?|output|final|judge?ment) ?/?>", re.IGNORECASE
)
_FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*$")
_BULLET = r"(?:(?:[-+•]|[0-9]{1,2}[.)]|#{1,6}) ?)?"
_TAG = re.compile(r"<([a-z][a-z0-9_-]*)>", re.IGNORECASE)
_QUOTES = re.compile(r'["“”„«»「」]')
_INTRODUCES = re.compile(r"[:：,–—]$|^['‘‚]$")
_OWN = re.compile(
    r"\b(?:verdicts?|scores?|judg\w+|grad\w+|ratings?|results?|conclusion|output|final\w*)\b", re.IGNORECASE
)
_SPOKEN = (
    r"sa(?:id|ys?)|reads?|wr(?:ites?|ote|itten)|stat(?:es|ed)|quot\w+|claim\w*|tells?|told|asks?|asked|commands?"
    r"|orders?|demands?"
)
# Words of a line that introduces a verdict: the judge's own, and what somebody else says.
_OF_OTHERS = re.compile(
    rf"\b(?:{_SPOKEN}|cit(?:es|ed)|instruct\w*|inject\w*|ignore|pretend\w*|contain\w*|includ\w*|ends|text|explanation)\b",
    re.IGNORECASE,
)
# What makes a score one that would be given, and is not.
_SUPPOSED = re.compile(
    r"\b(?:would|had (?:it|he|she|they|i|the|this|that|there|its?)|were (?:it|he|she|they|i|the|this|that|there)"
    r"|if (?:it|he|she|they|i|the|this|that|there|only|one)|hypothe\w+|suppos\w+|assum\w+|imagin\w+|otherwise"
    r"|examples?|for instance|e\.g|pretend\w*)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    rf"{_SUPPOSED.pattern}|\b(?:{_SPOKEN}|if|where|when|whenever|unless|whether|might|could|may|means?|not|or|else|between)\b|n't\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?]) +")
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_FAREWELL = re.compile(
    r"[\W_]*(?:(?:thanks?(?: you)?|done|end of [a-z]+|(?:i )?hope (?:this|that|it) helps"
    r"|(?:please )?let me know if you [a-z ]{1,60})[\W_]*)*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Stated:
    """Scores that stand together, on the lines from `start` to `end`, in the order in which they are written."""

    start: int
    end: int
    scores: Scores

    def is_whole(self, fields: Sequence[str]) -> bool:
        """Whether every field has a score, one after the other."""
        names = [name for name, _ in self.scores]
        return any(names[n : n + len(fields)] == [*fields] for n in range(len(names)))


def clear_verdict(text: str, kind: type[M], digits: str) -> M | None:
    """The one verdict of a reply; None where there is none, or where it is open which one is meant.

    It is a JSON object, as the whole text, in a fence or in a paragraph; or lines `FIELD: DIGIT`, one for each field of
    `kind` in order, with nothing but blank lines between them; or a table with a row or a column a field. The same
    verdict may stand there several times.

    Args:
        text: a judge's reply.
        kind: a model whose fields are digits.
        digits: those that may stand in a line, such as "01".
    """
    answer = answer_of(text)
    verdict = None if answer is None else _in_form(answer, kind, digits)
    if answer is None or verdict is None or _contradicts(answer, verdict, digits):
        return None
    return verdict


def _in_form(text: str, kind: type[M], digits: str) -> M | None:
    verdicts = list(json_objects(text, kind))
    for start, end, verdict in verdicts:
        if (start, end) == (0, text.count("\n")):
            return verdict
    fields = list(kind.model_fields)
    lines = ["" if _FENCE.match(line) else _MARKUP.sub("", line).strip() for line in text.split("\n")]
    quoted = _quoted(lines)
    objects = [_Stated(start, end, list(verdict.model_dump().items())) for start, end, verdict in verdicts]
    stated = [
        group
        for group in [*objects, *_groups(lines, fields, digits)]
        if not quoted[group.start] and not _is_introduced(lines, group.start)
    ]
    ends = [group.end for group in stated if group.is_whole(fields)]
    scores = {pair for group in stated for pair in group.scores} | _remarks(lines, fields, digits)
    if not ends or len(scores) > len(fields) or not _FAREWELL.fullmatch("\n".join(_after(lines, stated, max(ends)))):
        return None
    return kind.model_validate(dict(scores))


def _quoted(lines: Sequence[str]) -> list[bool]:
    """Whether each line begins inside a quotation, or stands between tags."""
    inside, tag = [], ""
    marks = accumulate((len(_QUOTES.findall(line)) for line in lines), initial=0)
    for line, before in zip(lines, marks, strict=False):
        opened = _TAG.match(line)
        tag = tag or (opened[1] if opened else "")
        inside.append(bool(tag) or before % 2 == 1)
        tag = "" if tag and f"</{tag}>" in line else tag
    return inside


def _is_introduced(lines: Sequence[str], start: int) -> bool:
    """Whether the last line before `start` introduces something, and not the judge's own verdict."""
    before = (lines[number].strip("-=_ ") for number in range(start - 1, -1, -1))
    last = next(filter(None, before), "")[-300:]
    sentence = _SENTENCE.split(_IN_BRACKETS.sub("", last))[-1]
    if not sentence.endswith((".", "!", "?")) and _SUPPOSED.search(sentence):
        return True
    return bool(_INTRODUCES.search(last)) and (not _OWN.search(last) or bool(_OF_OTHERS.search(last)))


def _after(lines: Sequence[str], stated: Sequence[_Stated], end: int) -> list[str]:
    """The lines after a verdict; scores that are stated once more do no harm."""
    again = {number for group in stated for number in range(group.start, group.end + 1)}
    return [line for number, line in enumerate(lines) if number > end and number not in again]


def _groups(lines: Sequence[str], labels: Sequence[str], digits: str) -> Iterator[_Stated]:
    """The scores of lines and tables, grouped where nothing but blank lines stands between them."""
    pattern, columns = _pattern(labels, digits), list[str]()
    group, start, end = Scores(), 0, 0
    for number, line in enumerate(lines):
        bare = " ".join(line.split())
        cells = [cell.strip() for cell in bare.strip("|").split("|")] if "|" in bare else []
        scores = _of_row(cells, columns, labels, digits) if columns and cells else _of_line(bare, cells, pattern)
        if bare and group and not scores:
            yield _Stated(start, end, group)
            group = []
        if scores:
            start, end = (start if group else number), number
            group += scores
        heads = [cell.lower().replace(" ", "_") for cell in cells]
        columns = heads if set(labels) <= set(heads) else columns if cells else []
    if group:
        yield _Stated(start, end, group)


def _pattern(labels: Sequence[str], digits: str, ending: str = "_?[.,;]?") -> re.Pattern[str]:
    """`LABEL: DIGIT` with what judges write around it; `0/1` names both values and is none."""
    label = "|".join(label.replace("_", "[_ ]") for label in labels)
    named = rf'(?:({label})|"({label})"|[a-z][a-z -]{{0,59}}\(({label})\))(?: (?:score|verdict|value))?'
    value = rf"([{digits}])(?:(?<!0) ?/ ?{digits[-1]})?"
    values = "|".join((value, rf"\[{value}\]", rf"\({value}\)", rf'"{value}"'))
    sign = r"_? ?(?:\([^()]{0,80}\) ?)?(?:[:=：→]|->|is ) ?"
    return re.compile(rf"{_BULLET}_?(?:final )?{named}{sign}(?:{values}){ending}", _FLAGS)


def _of_line(bare: str, cells: Sequence[str], pattern: re.Pattern[str]) -> Scores:
    """The scores of a line that holds nothing else, or of a table's row with a label, a digit and perhaps a reason."""
    digits = [cell for cell in cells[1:] if cell.isdecimal()]
    row = [pattern.fullmatch(f"{cells[0]}: {cells[1]}")] if digits and digits == cells[1:2] else []
    if not any(row):
        row = [pattern.fullmatch(piece.strip()) for piece in re.split("[|;,]", bare.strip("|,; ."))]
    return [_score(match) for match in row if match] if all(row) and not _SUPPOSED.search(bare) else []


def _score(match: re.Match[str]) -> tuple[str, int]:
    label, digit = (group for group in match.groups() if group)
    return label.lower().replace(" ", "_"), int(digit)


def _of_row(cells: Sequence[str], columns: Sequence[str], labels: Sequence[str], digits: str) -> Scores:
    """The scores of a row below a table's head that names every label."""
    named: Mapping[str, str] = dict(zip(columns, cells, strict=False))
    values = [named.get(label, "") for label in labels]
    whole = all(len(value) == 1 and value in digits for value in values)
    return [(label, int(value)) for label, value in zip(labels, values, strict=True)] if whole else []


def _contradicts(text: str, verdict: BaseModel, digits: str) -> bool:
    """Whether a reply states another verdict in its prose or inside its JSON."""
    scores = {name: int(digit) for name, digit in verdict.model_dump().items()}
    texts, nested = [text], list[Mapping[str, Any]]()
    for *_, content in raw_objects(text):
        inner = list(_values(content))
        texts += [value for value in inner if isinstance(value, str)]
        nested += [value for value in inner if isinstance(value, dict) and set(scores) <= set(value)]
    labels = "|".join(name.replace("_", "[_ ]") for name in scores)
    stated = re.compile(
        rf"\b({labels})(?: (?:score|verdict|value))? ?(?:[:=：→]|->|is|equals|should be|must be|of|to)"
        rf" ?([{digits}])\b(?![./][0-9])",
        _FLAGS,
    )
    in_prose: dict[str, set[int]] = {}
    for number, part in enumerate(texts):
        for label, digit in _in_prose(part, stated, whole_lines=number > 0):
            in_prose.setdefault(label.lower().replace(" ", "_"), set()).add(int(digit))
    others = (value for inner in nested for value in ({name: inner[name] for name in scores},))
    return any(scores[name] not in stated_digits for name, stated_digits in in_prose.items()) or any(
        other != scores for other in others
    )


def _values(content: Any) -> Iterator[Any]:
    waiting = [content]
    while waiting:
        value = waiting.pop()
        yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _in_prose(text: str, stated: re.Pattern[str], whole_lines: bool) -> Iterator[tuple[str, str]]:
    """Labels and digits that sentences state as such: neither supposed nor quoted, nor what somebody else says."""
    for line in text.split("\n"):
        bare = " ".join(_MARKUP.sub("", line).split())
        if bare.startswith((">", "|", "{", '"')) or (not whole_lines and stated.fullmatch(bare.strip("-+•. "))):
            continue
        for sentence in _SENTENCE.split(bare):
            if not (_UNSURE.search(sentence) or _QUOTES.search(sentence)):
                yield from stated.findall(sentence)


def _remarks(lines: Sequence[str], labels: Sequence[str], digits: str) -> set[tuple[str, int]]:
    """The scores that begin a line and have a reason behind them: no verdict, but one must not contradict them."""
    pattern = _pattern(labels, digits, r",? (?:[-–—(]|because |since ).*")
    matches = (pattern.fullmatch(" ".join(line.split())) for line in lines)
    return {_score(match) for match in matches if match}
