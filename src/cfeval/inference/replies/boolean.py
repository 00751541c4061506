"""Yes and no in free replies; for cvqa see `cfeval.cvqa.extraction.robust`."""

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from cfeval.inference.replies import polar_phrases as phrases
from cfeval.inference.replies.polar_phrases import NO, YES
from cfeval.inference.replies.text import Stated, asserted, sentences

_OTHER = {"yes": "no", "no": "yes"}
_FIRST_WORD = re.compile(rf"\W*(?:{phrases.LEAD}\W+)*(\w+)", re.IGNORECASE)
_COMMA = re.compile(r"[,:;-]\s+")
# A reply may be of any length.
_MOST_STARTS, _LONGEST_SENTENCE = 8, 2000
_AUXILIARY = re.compile(rf"\b({phrases.VERB})(?:n't)?\b")
_SHORT_FORM = re.compile(r"\b(\w+)'(d|ll|re)\b|\b(it|he|she|that|there|this)'(s)\b", re.IGNORECASE)
_SHORT_NOT = re.compile(r"\b(wo|ca)n't\b", re.IGNORECASE)
_LONG = {"d": "would", "ll": "will", "re": "are", "s": "is", "wo": "will", "ca": "can"}
_SHORT_VERB = re.compile(rf"'(?:d|s|re|ll)\b|\b{phrases.VERB}(?:n't)?\b", re.IGNORECASE)
# Words of a question that a sentence must repeat too: `the cat is black` does not say that it is black and white.
_WHOLE_ONLY = frozenset(
    {
        *("and", "or", "only", "all", "both", "all_of", "each", "same", "more", "most", "less", "fewer", "than"),
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    }
)
_LACKING = re.compile(r"\bwithout (?:(?:a|an|the|any|his|her|its|their|that|this) )?\w+", re.IGNORECASE)
_PRONOUN = re.compile(rf"\W*(?:{phrases.LEAD}\W+)*(?:it|they|he|she|there|this|that|these|those)\b", re.IGNORECASE)
_PRO_FORM = re.compile(r"\b(?:it|one|them|any|so)(?=\W*$)")
_ARTICLES = frozenset(["a", "an", "the", "his", "her", "its", "their", "any", "some"])
# Words that tell nothing of what a sentence is about.
_EMPTY = frozenset(
    {
        *("a", "an", "the", "it", "they", "he", "she", "there", "this", "that", "these", "those", "his", "her"),
        *("its", "their", "would", "will", "could", "should", "is", "are", "was", "were", "be", "been", "being"),
        *("do", "does", "did", "have", "has", "had", "if", "in", "on", "of", "to", "at", "still", "any", "then"),
        *(
            "certainly",
            "definitely",
            "indeed",
            "sure",
            "surely",
            "absolutely",
            "probably",
            "likely",
            "clearly",
            "obviously",
        ),
        *("actually", "undoubtedly", "naturally", "also", "not", "n't", "anymore", "longer", "wouldn't", "isn't"),
        *("aren't", "won't", "doesn't", "wasn't", "weren't", "couldn't", "shouldn't", "don't", "didn't", "hasn't"),
        *("haven't", "hadn't", "image", "picture", "photo", "photograph", "scene"),
        *("get", "gets", "getting", "become", "becomes"),
    }
)


def boolean(reply: Stated, question: str = "") -> str | None:
    """The `yes` or `no` that a reply comes down to; None where it says neither clearly.

    Args:
        reply: taken apart.
        question: what was asked; a whole sentence answers where it repeats its words or leaves them out.
    """
    if reply.final is not None:
        final = _written_out(phrases.STRONG.sub("", reply.final, count=1))
        return _opening(final) or _statement(final, question)
    parts = sentences(_written_out(reply.text))
    if not parts:
        return None
    parts[0] = parts[0] if not (strong := phrases.STRONG.match(parts[0])) else parts[0][strong.end() :]
    text = " ".join(parts)
    if opening := _opened(parts, text):
        opened, rest = opening
        goes_on = sentences(rest)
        contradicted = _echo(goes_on[0], question) == _OTHER[opened] if goes_on else False
        return None if contradicted or phrases.TURN.search(text) else opened
    if phrases.TURN.search(text):
        return None
    for start in _starts(parts[0]):
        if any(fixed.match(text[start:]) for fixed in (phrases.FIXED_NO, phrases.FIXED_YES, phrases.AGREED)):
            return _fixed(text[start:], question)
    if _hedged(text, question):
        return None
    return _concluded(parts, text, question) if _polarities(text) else _from_sentences(parts, question)


def _opened(parts: list[str], text: str) -> tuple[str, str] | None:
    """The yes or no that a reply opens with, once what only leads to it is left out; and what follows."""
    openings = [text[start:] for start in _starts(parts[0])]
    if phrases.INTRODUCED.match(parts[0]):
        openings.append(asserted(text))
    for opening in openings:
        if answer := _opening(opening):
            word = phrases.SURE_NOT.match(opening) or _FIRST_WORD.match(opening)
            return answer, opening[word.end() if word else 0 :].lstrip(" ,.;:!-\"'")
    return None


def _starts(sentence: str) -> Iterator[int]:
    """Where what a sentence says may begin: at once, or behind `well`, `considering the scene` or the like."""
    yield 0
    if len(sentence) > _LONGEST_SENTENCE:
        return
    if opener := phrases.STARTER.match(sentence):
        yield opener.end()
    if not phrases.INTRODUCED.match(sentence):
        return
    for comma in islice(_COMMA.finditer(sentence), _MOST_STARTS):
        if _polarities(sentence[: comma.start()]):
            return
        yield comma.end()
        if opener := phrases.STARTER.match(sentence[comma.end() :]):
            yield comma.end() + opener.end()


def _concluded(parts: list[str], text: str, question: str) -> str | None:
    """The one polarity of a text that ends in it (`…, so no`), or says it in so many words (`… I would say no`)."""
    polarities, last = _polarities(text), parts[-1]
    if len(polarities) != 1:
        return None
    if judged := next(filter(None, (_judged(last[start:], question) for start in _starts(last))), None):
        return judged
    [answer] = polarities
    ends = [0, *(comma.end() for comma in _COMMA.finditer(last))][-2:]
    concludes = any(_opening(last[end:]) == answer for end in ends) or _is_said(text)
    others = {_statement(sentence, question) for sentence in (parts[0], last)}
    return answer if concludes and _OTHER[answer] not in others else None


def _judged(sentence: str, question: str) -> str | None:
    """What `the claim that … is false` says, or `that statement is true`."""
    judged = phrases.JUDGED.match(sentence)
    if judged is None:
        return None
    claim = _echo(judged.group("clause"), question) if judged.group("clause") else "yes"
    return _OTHER[claim] if claim and judged.group("no") else claim


def _is_said(text: str) -> bool:
    """Whether someone says yes or no in a clause that denies nothing."""
    saying = phrases.SAYS.search(text)
    if saying is None:
        return False
    clause = re.split(r"[,.;:!?-]|\bso\b", text[max(0, saying.start() - 200) : saying.start()])[-1]
    return not phrases.DENIED.search(clause)


def _from_sentences(parts: list[str], question: str) -> str | None:
    """What sentences say that hold no yes or no: the first or the last of them answers."""
    if len(parts) == 1:
        return _statement(parts[0], question)
    answers = [_statement(sentence, question, among_others=True) for sentence in parts]
    distinct = set(answers) - {None}
    return distinct.pop() if len(distinct) == 1 and (answers[0] or answers[-1]) else None


def _fixed(text: str, question: str) -> str | None:
    """What a reply says that opens with `certainly not`, `of course` or the like."""
    if denial := phrases.FIXED_NO.match(text):
        rest = sentences(text[denial.end() :].lstrip(" ,.;:!-"))
        more = " ".join(rest)
        contradicted = "yes" in _polarities(more) or "yes" in {_echo(sentence, question) for sentence in rest[:1]}
        return None if contradicted or _hedged(more, question) else "no"
    agreed = phrases.AGREED.match(text) or phrases.FIXED_YES.match(text)
    assert agreed is not None, "it opens with one of them"
    rest = sentences(text[agreed.end() :].lstrip(" ,.;:!-"))
    if not rest:
        return "yes"
    if _polarities(" ".join(rest)) == {"yes"} or phrases.GIVES_REASON.match(rest[0]):
        return "yes"
    if _hedged(" ".join(rest), question) or "no" in _polarities(" ".join(rest)):
        return None
    answer = _statement(rest[0], question)
    # `Without the umbrella` names the case, and denies nothing.
    denied = phrases.DENIED.search(_LACKING.sub("", rest[0]))
    if answer is not None or denied or phrases.ABOUT_ELSE.search(rest[0]):
        return answer
    if _opposed(rest[0], question):
        return None
    verbs = _verbs(rest[0])
    goes_on = bool(verbs) and verbs <= _verbs(question)
    return "yes" if goes_on or (phrases.DECISIVE.match(text) and len(sentences(text)) > 1) else None


def _opposed(sentence: str, question: str) -> bool:
    """Whether a sentence has the opposite of a word of the question: `dry` for `wet`, `darker` for `brighter`."""
    stated_words, question_words = (
        {re.sub(r"(?<=\w{3})e?(?:r|st)$", "", word) for word in re.findall(r"[a-z]+", text.lower())} | _content(text)
        for text in (sentence, question)
    )
    return any(
        (first in stated_words and second in question_words) or (second in stated_words and first in question_words)
        for first, second in phrases.OPPOSITES
    )


def _statement(sentence: str, question: str, among_others: bool = False) -> str | None:
    """What a sentence without yes or no says of the question.

    Args:
        among_others: whether it is one of several, so that `it is` may be about something else.
    """
    for clause in _clauses(phrases.TRAILING.sub("", sentence)):
        answer = _judged(clause, question)
        answer = answer or _whole(clause, question if among_others else "") or _framed(clause, question)
        answer = answer or _whole(asserted(clause), question if among_others else "") or _echo(clause, question)
        short = phrases.REASON.split(clause, maxsplit=1)[0]
        if answer is None and short != clause:
            answer = _whole(short, question if among_others else "") or _echo(short, question)
        if answer:
            return answer
    return None


def _clauses(sentence: str) -> Iterator[str]:
    """What of a sentence may answer: the whole, what follows words that only lead to it, what it concludes with."""
    for start in _starts(sentence):
        yield sentence[start:]
    concluding = list(islice(phrases.CONCLUDING.finditer(sentence), _MOST_STARTS))
    if concluding:
        yield sentence[concluding[-1].end() :]


def _framed(sentence: str, question: str) -> str | None:
    """What the clause says after `I think`, and its opposite after `I doubt`."""
    denied = phrases.DENIED_CLAUSE.match(sentence)
    frame = denied or phrases.CLAUSE.match(sentence)
    if frame is None:
        return None
    clause = sentence[frame.end() :]
    if phrases.CLAUSE_SO.match(clause):
        return "no" if denied else "yes"
    short = phrases.REASON.split(clause, maxsplit=1)[0]
    answer = _whole(short) or _whole(asserted(short)) or _echo(short, question)
    return _OTHER[answer] if denied and answer else answer


def _opening(text: str) -> str | None:
    """The yes or no that a text opens with, unless it says the other one too."""
    lower = text.lower()
    if phrases.HEDGED.match(lower.strip()):
        return None
    if phrases.SURE_NOT.match(lower):
        return "no" if "yes" not in _polarities(lower) else None
    first = _FIRST_WORD.match(lower)
    polarities = _polarities(lower)
    if first is None or first.group(1) not in YES | NO or len(polarities) != 1:
        return None
    return polarities.pop()


def _polarities(text: str) -> set[str]:
    """`yes`, `no` or both, as far as a text says them as answers."""
    polarities, tokens = set(), re.findall(r"\w+(?:'\w+)?|[^\w\s]", text.lower())
    for word, following in pairwise([*tokens, "."]):
        if word in phrases.ONLY_AT_END and following[0].isalnum():
            continue
        if word in YES:
            polarities.add("yes")
        if word in NO and (not following[0].isalnum() or following in phrases.AFTER_NO | YES | NO):
            polarities.add("no")
    return polarities


def _whole(sentence: str, question: str = "") -> str | None:
    """A sentence that is an answer as a whole: `it would not`, `definitely`.

    Args:
        question: where it is given, the sentence must have its verb.
    """
    if phrases.NONE_THERE.fullmatch(sentence):
        return "no"
    elliptic = phrases.ELLIPTIC.fullmatch(sentence)
    if elliptic is None or not _SHORT_VERB.search(sentence):
        return None
    if question and not _verbs(sentence) <= _verbs(question):
        return None
    return "no" if elliptic.group("no") else "yes"


def _verbs(text: str) -> set[str]:
    return set(_AUXILIARY.findall(text.lower()))


def _written_out(text: str) -> str:
    """A text with `he'd` as `he would`, and `won't` as `will not`."""

    def long(short: re.Match[str]) -> str:
        return f"{short.group(1) or short.group(3)} {_LONG[(short.group(2) or short.group(4)).lower()]}"

    return _SHORT_FORM.sub(long, _SHORT_NOT.sub(lambda short: f"{_LONG[short.group(1).lower()]} not", text))


def _hedged(text: str, question: str) -> bool:
    """Whether a text says neither for sure; `he could` is an answer where that was asked."""
    if re.search(r"\bcould\b", asserted(question), re.IGNORECASE):
        text = re.sub(r"\bcould\b", "can", text, flags=re.IGNORECASE)
    return phrases.HEDGED.search(text) is not None


def _echo(sentence: str, question: str) -> str | None:
    """A sentence that repeats the whole question as a statement, or denies it; None where it says less or else."""
    claim = _claimed(sentence)
    asserted_question = asserted(question)
    claimed, wanted = _content(claim), _content(asserted_question)
    verbs, verbs_asked = _verbs(claim), _verbs(question)
    if not claimed or not verbs or not verbs <= verbs_asked or phrases.DENIED.search(question) or not claimed <= wanted:
        return None
    unsaid = wanted - claimed
    if unsaid & _WHOLE_ONLY or not unsaid <= _understood(claim, asserted(sentence), asserted_question, claimed):
        return None
    denied = re.findall(r"\bnot\b|n't\b", claim)
    if len(phrases.DENIED.findall(claim)) != len(denied) or len(denied) > 1:
        return None
    return "no" if denied else "yes"


def _claimed(sentence: str) -> str:
    """What a sentence asserts, its denial as `not`."""
    claim = phrases.FILLERS.sub(" ", asserted(phrases.CASE.sub(" ", sentence))).lower()
    claim = re.sub(r"\bhardly\b|\bscarcely\b", "not", claim)
    claim = claim.replace("no longer", "not").replace("most likely", "likely")
    claim = re.sub(r"\bnever\b|(?<=\bthere would be )no(?= )|(?<=\bthere is )no(?= )|^\W*no(?= \w)", "not", claim)
    return _PRO_FORM.sub("", claim)


def _understood(claim: str, sentence: str, question: str, claimed: set[str]) -> set[str]:
    """Words of a question that pronouns stand for: its subject behind `he`, its last noun behind `it` or `one`."""
    understood: set[str] = set()
    tokens = re.findall(r"\w+(?:'\w+)?", question.lower())
    if _PRONOUN.match(claim):
        for token in tokens[1:6]:
            if token in ("be", "been", "still", "have", "not") or token in claimed:
                break
            understood.add(token)
    if _PRO_FORM.search(sentence.lower()):
        articles = [place for place, token in enumerate(tokens) if token in _ARTICLES]
        understood |= set(tokens[articles[-1] :]) if articles else set()
    return understood


def _content(text: str) -> set[str]:
    return set(re.findall(r"\w+(?:'\w+)?", text.lower())) - _EMPTY
