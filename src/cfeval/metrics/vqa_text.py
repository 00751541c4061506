"""How VQA's official evaluator levels answers before it compares them (Antol et al. 2015; evaluator of VQA v2).

The quirks of that evaluator are kept, since figures are only comparable with them:

- A punctuation mark vanishes everywhere if it once stands beside a space, or if the text has a comma between digits
  anywhere; otherwise it becomes a space. Both tests look at the text as it came.
- `:`, `'`, `$`, `%` and `&` are no punctuation.
- A period vanishes unless a digit follows it, whatever stands before: "3.5" and ".5" stay, "5." becomes "5". Of those
  periods only the first 32 vanish.
- `none` is 0, like `zero`; number words above ten stay words.
- Contractions are looked up in lower case, so that those of `I` never match; three targets are odd.
"""

import re

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
_MOST_PERIODS = 32
"""The evaluator hands re.UNICODE, which is 32, to `re.sub` where the greatest number of replacements stands."""
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"none": "0"} | {word: str(number) for number, word in enumerate(_COUNTED)}
_ARTICLES = {"a", "an", "the"}


def one_line(text: str) -> str:
    """The text without line breaks, tabs and space around it; all that is done where no levelling is due."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def level(text: str) -> str:
    """Punctuation, letter case, number words, articles and contractions levelled; the words joined by single spaces."""
    words = (_NUMBERS.get(word, word) for word in _without_punctuation(text).lower().split())
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def _without_punctuation(text: str) -> str:
    every = _COMMA_IN_NUMBER.search(text) is not None
    gone = {mark for mark in _PUNCTUATION if every or f"{mark} " in text or f" {mark}" in text}
    table = str.maketrans({mark: "" if mark in gone else " " for mark in _PUNCTUATION})
    return _PERIOD.sub("", text.translate(table), count=_MOST_PERIODS)


def _misspelled(words: str) -> dict[str, str]:
    """Each contraction by what is left of it where one apostrophe is forgotten, whichever."""
    return {
        word[:place] + word[place + 1 :]: word
        for word in words.split()
        for place, char in enumerate(word)
        if char == "'"
    }


CONTRACTIONS = {
    **_misspelled(
        "ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd how'll how's "
        "isn't it'd it'll ma'am mightn't might've mustn't must've needn't not've o'clock oughtn't shan't should've "
        "shouldn't somebody'll somebody's someone'd someone'll someone's something'd something'll that's there'd "
        "there're there's they'd they'll they're they've 'twas wasn't we've weren't what'll what're what's what've "
        "when's where'd where's where've who'd who'll who's who've why'll why're why's won't would've wouldn't y'all "
        "you'd you'll you're you've"
    ),
    **_misspelled(
        "couldn't've hadn't've he'd've it'd've mightn't've she'd've shouldn't've somebody'd've someone'd've "
        "something'd've there'd've they'd've we'd've who'd've wouldn't've y'all'll you'd've y'all'd've 'ow's'at"
    ),
    "somebody'd": "somebodyd",
}
"""What the evaluator writes for what: words without an apostrophe that they should have, and one the other way."""
