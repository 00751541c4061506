"""Yes and no in free replies; for cvqa see `cfeval.cvqa.extraction.robust`."""

import re
from itertools import pairwise

from cfeval.inference.replies.text import Stated, asserted, sentences

_YES = frozenset(["yes", "yeah", "yep", "yup", "true", "correct", "affirmative"])
_NO = frozenset(["no", "nope", "nah", "false", "negative"])
_OTHER = {"yes": "no", "no": "yes"}
_AFTER_NO = frozenset(
    {
        *("it", "they", "he", "she", "there", "this", "that", "these", "those", "the", "i", "we", "you", "if"),
        *("because", "since", "not", "as", "his", "her", "its", "their", "a", "an", "otherwise", "when", "and"),
        *("but", "or"),
    }
)
"""Words before which `no` is an answer and not the `no` of `no cats`."""
_SURE = r"(?:definitely|certainly|absolutely|probably|most likely|most probably|of course|surely)"
_CASE = r"in (?:that|this|such a)(?: hypothetical)? (?:case|scenario|situation)"
_ASSUMED = r"under (?:that|this|these|such) (?:assumption|condition|circumstance)s?"
_LEAD = (
    rf"(?:{_SURE}|so|then|therefore|thus|hence|well|i (?:think|believe|would say)|i'd say"
    rf"|it is a|it's a|it is|it's|{_CASE}|{_ASSUMED})"
)
_SURE_NOT = re.compile(rf"\W*{_SURE} not\b", re.IGNORECASE)
_SUPPOSES = re.compile(
    r"\W*(?:so |then )?(?:even )?(?:if|when|after|once|with|without|in th(?:is|at))\b", re.IGNORECASE
)
_NOT_AT_ALL = re.compile(
    r"\W*(?:not at all|no way|by no means|not any ?more|not any longer|not in th(?:at|is) case|absolutely not)\W*", re.I
)
_AGREED = re.compile(
    r"\W*(?:definitely|certainly|absolutely|of course|surely|indeed|sure(?: thing)?|exactly|correct|right"
    r"|that(?:'s| is) (?:correct|right|true))(?:[,.!;:-]+\s*|\s+)(?=(?:it|they|he|she|there|this|that|the|we|you|i)\b)",
    re.IGNORECASE,
)
"""What opens a reply that goes on with a whole sentence: `certainly, he would`."""
_SURE_YES = re.compile(r"\W*(?:definitely|certainly|absolutely|of course|surely|indeed)\W*", re.IGNORECASE)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|may|could|either|neither|not (?:necessarily|yes|no|true))\b", re.I
)
_SUBJECT = r"(?:(?:it|they|he|she|there|this|that|these|those|we|you|i)|the \w+(?: \w+)?)"
_VERB = r"(?:would|will|is|are|was|were|does|do|did|can|has|have|should)"
_ADVERB = r"(?: (?:still|certainly|definitely|indeed|surely|absolutely|probably))?"
_ELLIPTIC = re.compile(
    rf"\W*(?:indeed,? )?{_SUBJECT}{_ADVERB}(?:'d|'s|'re|'ll| {_VERB})?{_ADVERB}(?P<no> not|n't)?(?: be| have| do)?"
    r"(?: so| anymore| any more| any longer)?\W*",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(rf"\b({_VERB})(?:n't)?\b")
_SHORT_VERB = re.compile(rf"'(?:d|s|re|ll)\b|\b{_VERB}(?:n't)?\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|without)\b|n't\b", re.IGNORECASE)
_TURN = re.compile(r"[.!?;\n]\s*(?:however|but|that said|on the other hand|still)\b", re.IGNORECASE)
"""A sentence that may take an opening `yes` back."""
_WHOLE_ONLY = frozenset(
    {
        *("and", "or", "only", "all", "both", "all_of", "each", "same", "more", "most", "less", "fewer", "than"),
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    }
)
"""Words of a question that a sentence must repeat too: `the cat is black` does not say that it is black and white."""
_PRONOUN = re.compile(rf"\W*(?:{_LEAD}\W+)*(?:it|they|he|she|there|this|that|these|those)\b", re.IGNORECASE)
_ONE = re.compile(r"\b(?:it|one|them|any|so)(?=\W*$)")
_ARTICLES = frozenset(["a", "an", "the", "his", "her", "its", "their", "any", "some"])
_EMPTY = frozenset(
    {
        *("a", "an", "the", "it", "they", "he", "she", "there", "this", "that", "these", "those", "his", "her"),
        *("its", "their", "would", "will", "could", "should", "is", "are", "was", "were", "be", "been"),
        *("being", "do", "does", "did", "have", "has", "had", "if", "in", "on", "of", "to", "at", "still"),
        *(
            "certainly",
            "definitely",
            "indeed",
            "surely",
            "absolutely",
            "probably",
            "also",
            "then",
            "not",
            "n't",
            "anymore",
            "longer",
            "wouldn't",
            "isn't",
            "aren't",
            "won't",
            "doesn't",
        ),
        *("wasn't", "weren't", "image", "picture", "photo"),
    }
)
"""Words that tell nothing of what a sentence is about."""


def boolean(said: Stated, question: str = "") -> str | None:
    """The `yes` or `no` that a reply comes down to."""
    if said.final is not None:
        return _opening(said.final)
    told = sentences(said.text)
    text = " ".join(told)
    opened = _opening(text) or (_opening(asserted(text)) if told and _SUPPOSES.match(told[0]) else None)
    if opened:
        if _TURN.search(text):
            return None
        goes_on = sentences(re.sub(r"^\W*\w+\W*", "", text))
        denied = {_OTHER[opened]} & {_echo(sentence, question) for sentence in goes_on[:1]}
        return None if denied else opened
    if _NOT_AT_ALL.fullmatch(text):
        return "no"
    if _HEDGED.search(text):
        return None
    return _told(told, text, question)


def _told(told: list[str], text: str, question: str) -> str | None:
    """What sentences say that neither open with yes or no nor hedge: the first or the last of them answers."""
    agreed = _AGREED.match(text)
    rest = sentences(text[agreed.end() :]) if agreed else told
    if _polarities(" ".join(rest)) or _TURN.search(text) or not rest:
        return None
    if len(rest) == 1 or agreed:
        return _whole(rest[0]) or _whole(asserted(rest[0])) or _echo(rest[0], question)
    found = [_echo(sentence, question) for sentence in rest]
    said = set(found) - {None}
    return said.pop() if len(said) == 1 and (found[0] or found[-1]) else None


def _opening(text: str) -> str | None:
    """The yes or no that a text opens with, unless it says the other one too."""
    lower = text.lower()
    if _HEDGED.match(lower.strip()):
        return None
    if _SURE_NOT.match(lower):
        return "no" if "yes" not in _polarities(lower) else None
    first = re.match(rf"\W*(?:{_LEAD}\W+)*(\w+)", lower)
    told = _polarities(lower)
    if first is None or first.group(1) not in _YES | _NO or len(told) != 1:
        return None
    return told.pop()


def _polarities(text: str) -> set[str]:
    """`yes`, `no` or both, as far as a text says them as answers."""
    found, words = set(), re.findall(r"\w+(?:'\w+)?|[^\w\s]", text.lower())
    for word, following in pairwise([*words, "."]):
        if word in _YES:
            found.add("yes")
        if word in _NO and (not following[0].isalnum() or following in _AFTER_NO | _YES | _NO):
            found.add("no")
    return found


def _whole(sentence: str) -> str | None:
    """A sentence that is an answer as a whole: `it would not`, `definitely`."""
    if _SURE_YES.fullmatch(sentence):
        return "yes"
    if _SURE_NOT.fullmatch(sentence.rstrip(" .!")):
        return "no"
    found = _ELLIPTIC.fullmatch(sentence)
    if found is None or not _SHORT_VERB.search(sentence):
        return None
    return "no" if found.group("no") else "yes"


def _echo(sentence: str, question: str) -> str | None:
    """A sentence that repeats the whole question as a statement, or denies it; None where it says less or else."""
    claim = _ONE.sub("", asserted(sentence).lower().replace("no longer", "not"))
    asked = asserted(question)
    words, wanted = _content(claim), _content(asked)
    verbs, verbs_asked = (set(_AUXILIARY.findall(text.lower())) for text in (claim, question))
    if not words or not verbs or not verbs <= verbs_asked or _DENIED.search(question) or not words <= wanted:
        return None
    unsaid = wanted - words
    if unsaid & _WHOLE_ONLY or not unsaid <= _understood(claim, asserted(sentence), asked, words):
        return None
    denied = re.findall(r"\bnot\b|n't\b", claim)
    if len(_DENIED.findall(claim)) != len(denied) or len(denied) > 1:
        return None
    return "no" if denied else "yes"


def _understood(claim: str, sentence: str, asked: str, words: set[str]) -> set[str]:
    """Words of a question that pronouns stand for: its subject behind `he`, its last noun behind `it` or `one`."""
    found: set[str] = set()
    tokens = re.findall(r"\w+(?:'\w+)?", asked.lower())
    if _PRONOUN.match(claim):
        for token in tokens[1:6]:
            if token in ("be", "been", "still", "have", "not") or token in words:
                break
            found.add(token)
    if _ONE.search(sentence.lower()):
        articles = [place for place, token in enumerate(tokens) if token in _ARTICLES]
        found |= set(tokens[articles[-1] :]) if articles else set()
    return found


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+(?:'\w+)?", text.lower())) - _EMPTY
