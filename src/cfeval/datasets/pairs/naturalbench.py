"""NaturalBench: two photographs and a question that has different right answers about them. For consistency only.

- Data: 1,900 rows of two images and two questions: 3,800 pairs.
- Paper: Li, Lin et al., NaturalBench: Evaluating Vision-Language Models on Natural Adversarial Samples (NeurIPS 2024,
  arXiv:2410.14669).
- License: Apache 2.0; photographs of Flickr30K and DOCCI under their own terms.
- Where: dataset BaiqiL/NaturalBench at Hugging Face: `data/train-*.parquet`.
- Fields: `Index`, `Image_0`, `Image_1`, `Question_0`, `Image_0_Question_0`, `Image_1_Question_0`, `Question_1`,
  `Image_0_Question_1`, `Image_1_Question_1`, `Question_Type` (yes_no or multiple_choice), `Source`.
- Known faults: the photographs differ in everything, so that nothing follows about what moved an answer; the table then
  tells of answers alone. An early version of the file calls one column `Question Type`.
"""

from collections.abc import Iterator
from functools import partial

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, text

ENDINGS = {
    "yes_no": "Answer yes or no, and nothing else.",
    "multiple_choice": "Answer with the letter of the right option, and nothing else.",
}
"""What is put behind a question, by its type."""


class Plugin(TablePlugin):
    """Where the Parquet files are."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _openers)


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    found: dict[str, Opener | None] = {}
    for place, row in rows:
        for number in (0, 1):
            item = f"{text(place, row, 'Index')}-q{number}"
            add(found, place, item, partial(_pair, place, row, number=number))
    return found


def _pair(place: Place, row: Row, item: str, number: int) -> RawPair:
    ending = ENDINGS[text(place, row, "Question_Type" if "Question_Type" in row else "Question Type", tuple(ENDINGS))]
    answers = [text(place, row, f"Image_{side}_Question_{number}").lower() for side in (0, 1)]
    return RawPair(
        id=item,
        images=(image(place, row, "Image_0"), image(place, row, "Image_1")),
        question=f"{text(place, row, f'Question_{number}')} {ending}",
        before="the first photograph",
        after="the second photograph",
        references=(answers[0], answers[1]),
        natural=True,
        verified="people (NaturalBench)",
    )
