"""Options in the text of a question: `… Select the correct answer:A:16  B:17  C:12  D:13`, as C-VQA-Synthetic has them.

No space stands after `answer:`, two stand between options (measured on all 6,000 published questions). There may be
any number of options from 2 to 26, and each may have several words.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

# The letters of the published questions, which have four options.
LETTERS = "ABCD"
ALPHABET = string.ascii_uppercase
_SELECT = "Select the correct answer:"
MARK = f" {_SELECT}"
_LISTED = re.compile(r"(?:(?<=\s)|(?<=[;,:?.])|^)(?:\(([A-Z])\)|([A-Z])[).:](?!\w*[.:]\w))\s*")


@dataclass(frozen=True)
class Choices:
    """A question without its options, and the values of A, B, …"""

    stem: str
    values: tuple[str, ...]

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return ALPHABET[: len(self.values)]

    def text(self) -> str:
        """The question with its options, byte for byte as the published CSV writes it."""
        options = "  ".join(f"{letter}:{value}" for letter, value in zip(self.letters, self.values, strict=True))
        return f"{self.stem}{MARK}{options}"

    def reordered(self, order: str) -> "Choices":
        """The options in another order: `BCDA` puts first what was B.

        Raises:
            ValueError: `order` is no permutation of the letters.
        """
        if sorted(order) != list(self.letters):
            raise ValueError(f"`order` must be a permutation of {self.letters}, but got {order!r}")
        return Choices(self.stem, tuple(self.values[self.letters.index(letter)] for letter in order))


def read_choices(question: str) -> Choices | None:
    """The options in a question; None where there are none in this format."""
    stem, mark, tail = question.rpartition(_SELECT)
    if not mark or not stem.strip():
        return None
    # Where `A:`, `B:` … begin and end, each the first behind the one before.
    starts: list[tuple[int, int]] = []
    for letter in ALPHABET:
        match = re.compile(rf"(?:(?<=\s)|^){letter}:\s*").search(tail, starts[-1][1] if starts else 0)
        if match is None:
            break
        starts.append(match.span())
    values = tuple(
        tail[end:after].strip() for (_, end), (after, _) in zip(starts, [*starts[1:], (len(tail), 0)], strict=True)
    )
    if len(values) < 2 or tail[: starts[0][0]].strip() or not all(values):
        return None
    return Choices(stem.rstrip(), values)


def with_options(stem: str, values: Sequence[str]) -> str:
    """A question with options, from which `read_choices` reads the same ones.

    Raises:
        ValueError: there are fewer than 2 or more than 26, one is empty or stands twice, or they cannot be told apart.
    """
    cleaned = tuple(" ".join(value.split()) for value in values)
    if not 2 <= len(cleaned) <= len(ALPHABET):
        raise ValueError(f"a question needs 2 to {len(ALPHABET)} options, but got {len(cleaned)}")
    if "" in cleaned or len({value.casefold() for value in cleaned}) < len(cleaned):
        raise ValueError("an option is empty or stands there twice")
    choices = Choices(stem.strip(), cleaned)
    if read_choices(choices.text()) != choices:
        raise ValueError("an option looks like the letter of the next one")
    return choices.text()


def listed_options(question: str) -> Choices | None:
    """Options that stand in a question in a common form, `(A) red (B) blue` or `A. red; B. blue`; None: none do."""
    if choices := read_choices(question):
        return choices
    marks = list(_LISTED.finditer(question))
    for first, mark in enumerate(marks):
        run = marks[first:]
        letters = "".join(match[1] or match[2] for match in run)
        if mark.start() and len(run) > 1 and letters == ALPHABET[: len(run)]:
            ends = [match.start() for match in run[1:]] + [len(question)]
            values = tuple(question[match.end() : end].strip(" \t\n;,") for match, end in zip(run, ends, strict=True))
            stem = re.sub(
                r"\s*\b(?:options?|choices?)\s*:?\s*$", "", question[: mark.start()].strip(), flags=re.IGNORECASE
            )
            return Choices(stem, values) if all(values) and stem else None
    return None
