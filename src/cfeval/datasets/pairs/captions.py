"""How two captions of a pair differ, and the question that is asked where a set has captions alone."""

import difflib
import re

from cfeval.datasets.pair import levelled

_JOINING = frozenset(
    re.findall(
        r"\w+",
        "a above across after against along among an and are around as at be been before behind below beneath beside "
        "besides between beyond by can climbs did does down during eats faces flies for from had has have he her his "
        "holds in inside into is it its jumps leans lies looks near next not of off on onto or out outside over plays "
        "reaches rests rides runs seen sits stands that the their there they this through to toward towards under up "
        "walks was wears were when where which while who will with within without",
    )
)
"""Words behind which a new part of a sentence begins: what stands before them has its noun."""
_THINGS_IN_ING = frozenset(
    re.findall(
        r"\w+",
        "awning building ceiling clothing drawing earring evening icing king lettering morning painting parking "
        "pudding ring railing spring string swing thing wing wedding",
    )
)


def differ(before: str, after: str) -> bool:
    """Whether two texts differ in more than letter case, blanks and outer marks, and so say what was changed."""
    return levelled(before) != levelled(after)


def changed_words(first: str, second: str) -> tuple[str, str]:
    """The words in which two captions differ: `Two men` and `Three men`, `cat` and `dog`.

    The word behind them goes with them where it may be the noun of a number or an adjective: where it names something,
    and does not end in -ing as what a thing does. Where one caption has no words of its own there, the word behind or
    before tells where. Where nothing differs but letter case and marks the captions are returned whole.
    """
    one, other = first.split(), second.split()
    plain = [[word.strip(".,;:!?").lower() for word in words] for words in (one, other)]
    blocks = difflib.SequenceMatcher(None, plain[0], plain[1], autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    if not changed:
        return first, second
    start, end = changed[0][1], changed[-1][2]
    begin, stop = changed[0][3], changed[-1][4]
    lacking = start == end or begin == stop
    if end < len(one) and _is_thing(plain[0][end]):
        end, stop = end + 1, stop + 1
    elif lacking and start:
        start, begin = start - 1, begin - 1
    elif lacking and end < len(one):
        end, stop = end + 1, stop + 1
    return tuple(" ".join(words).strip(" .,;:") for words in (one[start:end], other[begin:stop]))  # type: ignore[return-value]


def _is_thing(word: str) -> bool:
    """Whether a word may be the noun of what stands before it."""
    return word not in _JOINING and not (word.endswith("ing") and word not in _THINGS_IN_ING)


def described(caption: str) -> str:
    """The question whether a caption describes an image: right answers are yes and no."""
    return f'Does this sentence describe the image: "{caption.strip()}" Answer yes or no, and nothing else.'
