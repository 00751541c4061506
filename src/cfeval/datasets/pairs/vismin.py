"""VisMin: photographs of COCO and drawn scenes in which an object, attribute, number or place was changed.

- Data: the benchmark, 2,084 pairs checked by people: 579 objects, 294 attributes, 589 counts, 622 relations.
- Paper: Awal, Ahmadi, Zhang and Agrawal, VisMin: Visual Minimal-Change Understanding (NeurIPS 2024, arXiv:2407.16772).
- License: CC BY 4.0; images of COCO as COCO has them.
- Where: dataset mair-lab/vismin-bench at Hugging Face; the folder `data/test` (Arrow).
- Fields: `image_0`, `text_0`, `image_1`, `text_1` (captions), `id`, `category` (object, attribute, counting, relation),
  and `text_question_0`, `text_question_1`, `image_question_0`, `image_question_1`; an early file has no `category`.
- Known faults: a reader of the dataset reported mixed-up images and captions (its discussion 1); images of counts and
  relations are wholly generated. The questions are matching tasks, and are not used.

By rule: the question is whether the first caption describes the image, so that right answers are yes and no; what was
changed are the words in which the captions differ. A row whose captions are equal is left out.
"""

from cfeval.datasets.pair import ChangeKind, PairSet, RawPair
from cfeval.datasets.pairs.captions import changed_words, described
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, image, simple, text

KINDS: dict[str, ChangeKind] = {
    "object": "object",
    "attribute": "attribute",
    "counting": "count",
    "count": "count",
    "relation": "relation",
    "spatial": "relation",
}
"""By the beginning of a category's name."""


class Plugin(TablePlugin):
    """Where the Arrow files are."""

    def build(self) -> PairSet:
        """The set."""
        return simple(self, _pair, lambda row: str(row.get("id")), ("text_0", "text_1"))


def _pair(place: Place, row: Row, item: str) -> RawPair:
    first, second = text(place, row, "text_0"), text(place, row, "text_1")
    before, after = changed_words(first, second)
    category = str(row.get("category") or "").lower()
    return RawPair(
        id=item,
        images=(image(place, row, "image_0"), image(place, row, "image_1")),
        question=described(first),
        before=before,
        after=after,
        references=("yes", "no"),
        kind=next((kind for name, kind in KINDS.items() if category.startswith(name)), ""),
        verified="people (VisMin)",
    )
