"""How a free reply is taken apart: what it finally states, what it only supposes, and whether it declines to answer."""

import re
from dataclasses import dataclass

_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": "-", "\u00a0": " "})
_MARKUP = re.compile(r"\\(?:text|mathrm|mathbf)?|\$+(?=[\d\\])|(?<=\d)\$+|[*_`~]{1,3}|^\s*#+\s+", re.MULTILINE)
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}|^\s*####\s*(.*)$", re.MULTILINE)
_STEP = re.compile(r"\b(?:step|part)\s*\d+\s*[:.)-]?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_ANSWER = re.compile(
    r"\banswer\b(?P<between>[^.?!;\n]{0,40}?)(?P<verb>\bis\b|\bare\b|\bbe\b|\bremains\b|\bbecomes\b|\bequals\b|:|=)"
    r"(?:\s*:)?",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:not|never|cannot|whether|if|unless|could|might|may|maybe|perhaps|possibly|either|wrong|incorrect|what|which)\b"
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
    r"|\bno (?:idea|clue|information|answer|image|picture|photo|telling|way|context|data|evidence|indication)\b"
    r"|\b(?:unclear|unknown|unsure|uncertain|undetermined|indeterminate|undefined|ambiguous|insufficient|inconclusive"
    r"|unanswerable|depends|sorry|apologi[sz]e|error|failed|exception|n/a|refuse|decline|guess)\b"
    r"|\bmore (?:information|context|details?)\b",
    re.IGNORECASE,
)
_UNSEEN = re.compile(r"\bnot (?:visible|clear|shown|enough)\b", re.IGNORECASE)
_ANSWERED = re.compile(r"\W*(?:yes|no)\s*[,.;:!-]", re.IGNORECASE)
"""After such an opening, `not visible` and the like explain an answer; elsewhere they stand for one."""
_ANEW = re.compile(r"[.!?;\n]|\b(?:but|however)\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:even )?(?:if|when|after|once|because|since|given that|assuming|suppose|supposing|unless|whether|without"
    r"|except)\b.*?"
    r"(?:,(?!\d)|:(?!\d)|\bthen\b|(?=\b(?:there|it|they|we|you|he|she|this|that|i|the \w+(?: \w+)?) "
    r"(?:would|will|'d|'ll|could|should)\b)|$)",
    re.IGNORECASE | re.DOTALL,
)
_OPENING = re.compile(
    r"^\W*(?:with|by|adding|removing|taking|starting|from|subtracting|doubling|out of|of)\b.*?,(?!\d)", re.IGNORECASE
)


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
    declined = [*_DECLINED.finditer(text), *(() if _ANSWERED.match(text) else _UNSEEN.finditer(text))]
    if not declined:
        return Stated(text, _final(text))
    anew = _ANEW.search(text, max(found.end() for found in declined))
    after = _final(text[anew.end() :]) if anew else None
    return None if after is None else Stated(after, after)


def sentences(text: str) -> list[str]:
    """The sentences of a text but for questions."""
    return [part for part in _SENTENCE.split(text) if part.strip() and not part.rstrip(" \"')").endswith("?")]


def asserted(sentence: str) -> str:
    """A sentence without what it only supposes or gives as a reason: `if 2 came, there would be 5` → the latter."""
    return _OPENING.sub(" ", _SUPPOSED.sub(" ", sentence))


def _plain(reply: str) -> str:
    """Without typography, markup and the labels of steps."""
    text = reply.translate(_TYPOGRAPHY)
    text = _BOXED.sub(lambda found: f"\nanswer: {found.group(1) or found.group(2)}.\n", text)
    return re.sub(r":[ \t]*\n+", ": ", _STEP.sub(" ", _MARKUP.sub("", text))).strip()


def _final(text: str) -> str | None:
    """What follows the last `answer is`, or `answer:`, up to the end of the sentence; one in doubt ends up as ``."""
    found = None
    for sentence in sentences(text):
        for match in _ANSWER.finditer(sentence):
            doubted = _DOUBTED.search(asserted(sentence[: match.start()]) + match.group())
            tail = sentence[match.end() :].strip()
            found = "?" if doubted or re.match(r"(?:not|n't|neither)\b", tail, re.IGNORECASE) else tail
    return found or None
