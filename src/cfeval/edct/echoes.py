"""Whether a writer's instruction only gives back what it was shown: the prompt's form or example, or one of the texts.

Two texts are nearly equal if, without letter case, punctuation and articles, their similarity is at least `SIMILAR`
(twice the matching part over both lengths, as difflib computes it). An edit differs from what it edits in a word or
two, so that an instruction which has a word of its own is no echo of answer, explanation or concept, however similar.
"""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

# The least similarity, in [0, 1], of texts that are nearly equal.
SIMILAR = 0.9
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_ARTICLES = {"a", "an", "the"}
_DENIES = {"no", "not", "never", "none", "without", "isn", "aren", "wasn", "doesn", "don"}
_SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_LABEL = re.compile(
    r"[\s>*_`#•-]*(concept|positive|negative|keep|change|how|constraints|implied|blank)(?: part)?[*_`]*\s*:(.+)", re.I
)
_LINE = re.compile(r"[\s>*_`#•-]*(?:[A-Z][a-z]+: )?(.+)")
_EXAMPLES = re.compile(r"#* *(?:examples?|the image shows|question:)\b", re.IGNORECASE)
# By characters up to here, by words beyond, and beyond the second by which words they are: difflib takes the square.
_LETTERS, _MOST = 400, 500
# Few words may be the same in a concept and in a text that names it.
_FEW = 8


class Parts(NamedTuple):
    """What a writer filled into one form: the concept, the parts that say what to do, and what must not remain."""

    concept: str
    steps: tuple[str, ...]
    negative: str


class _Prompt(NamedTuple):
    form: frozenset[tuple[str, ...]]
    lines: tuple[tuple[str, ...], ...]


def echo(parts: Parts, templates: Sequence[str], answer: str, explanation: str) -> str:
    """What an instruction gives back, in a few words; empty where it is one of its own.

    Args:
        templates: of the prompt and of the repair turn, as they are before they are filled.
    """
    prompt = _prompt(tuple(templates))
    every = [_tokens(text) for text in (parts.concept, *parts.steps, parts.negative)]
    concept, instruction = every[:2]
    if not all(every[1:]):
        return "holds no words"
    if any(_nearly_equal(tokens, line) for tokens in every if tokens for line in prompt.form):
        return "repeats a line of the form"
    if any(_nearly_equal(instruction, line) for line in prompt.lines):
        return "repeats the prompt or its example"
    explained = [_tokens(text) for text in (explanation, *_SENTENCE.split(explanation))]
    if _repeats(instruction, _tokens(answer)):
        return "repeats the answer"
    if any(_repeats(instruction, tokens) for tokens in explained):
        return "repeats the explanation"
    whole = [tokens for tokens in explained if len(tokens) >= _FEW]
    if any(_repeats(part, tokens) for part in (concept, every[-1]) for tokens in whole):
        return "repeats the explanation"
    # A chain may name the concept where it says what changes, and say how on the next line.
    return "repeats its own concept" if all(_repeats(part, concept) for part in every[1:3][: len(parts.steps)]) else ""


def repeats_answer(answer: str, explanation: str) -> bool:
    """Whether an explanation says no more than the answer, `because` and the like aside."""
    reasons = [word for word in _tokens(explanation) if word not in _EMPTY]
    answers = [word for word in _tokens(answer) if word not in _EMPTY] or list(_tokens(answer))
    return bool(answers) and (not reasons or _repeats(tuple(reasons), tuple(answers)))


_EMPTY = {"because", "since", "answer", "is", "it", "s", "this", "that", "my", "so", "explanation", "i", "said", "as"}


@cache
def _prompt(templates: tuple[str, ...]) -> _Prompt:
    """The form's own lines, and every line and sentence of the prompt; a line with a placeholder is none."""
    form, lines = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for template in templates:
        examples = False
        for line in template.split("\n"):
            examples = examples or bool(_EXAMPLES.match(line))
            labelled = _LABEL.match(line)
            if "{" in line:
                continue
            if labelled and not examples:
                form.add(_tokens(labelled[2]))
            pieces = [line, labelled[2] if labelled else "", *_SENTENCE.split(line)]
            pieces += [match[1] for piece in pieces if (match := _LINE.match(piece))]
            lines.update(tokens for tokens in map(_tokens, pieces) if len(tokens) > 2)
    return _Prompt(frozenset(form - {()}), tuple(sorted(lines)))


def _tokens(text: str) -> tuple[str, ...]:
    tokens = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return tuple(word for word in tokens if word not in _ARTICLES)


def _nearly_equal(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if first == second:
        return True
    texts: tuple[Sequence[str], Sequence[str]] = (" ".join(first), " ".join(second))
    if max(map(len, texts)) > _LETTERS:
        texts = (first, second)
    short, long = sorted(map(len, texts))
    if 2 * short < SIMILAR * (short + long):
        return False
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    return matcher.quick_ratio() >= SIMILAR and (long > _MOST or matcher.ratio() >= SIMILAR)


def _repeats(instruction: tuple[str, ...], source: tuple[str, ...]) -> bool:
    """Whether words are nearly equal to a source, and none of them is new or denies what it says."""
    if not source or not _nearly_equal(instruction, source) or (set(instruction) ^ set(source)) & _DENIES:
        return False
    new = set(instruction) - set(source)
    return not new or (len(source) <= _MOST and all(any(_same_word(word, other) for other in source) for word in new))


def _same_word(word: str, source: str) -> bool:
    """Whether two words are forms of one, or one a slip of the pen; digits must be equal."""
    alike = word[0] == source[0] and word.isalpha() and source.isalpha()
    return alike and SequenceMatcher(None, word, source).ratio() >= 0.8
