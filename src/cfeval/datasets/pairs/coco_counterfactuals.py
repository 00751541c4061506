"""COCO-Counterfactuals: generated images of two captions that differ in one noun.

- Data: some 17,000 pairs, made by a diffusion model with cross-attention control, filtered by CLIP.
- Paper: Le, Lal and Howard, COCO-Counterfactuals: Automatically Constructed Counterfactual Examples for Image-Text
  Pairs (NeurIPS 2023 Datasets and Benchmarks, arXiv:2309.14356).
- License: CC BY 4.0.
- Where: data set Intel/COCO-Counterfactuals at Hugging Face: `data/examples.jsonl`, and `data/images.zip` to be
  unpacked (option `images`).
- Fields: `id`, `image_0`, `image_1` (names of images), `caption_0`, `caption_1`.
- Known faults: both images are generated, no photograph is among them; people checked a sample, not every pair, so some
  images do not show what their caption says.

By rule: the question is whether the first caption describes the image; what was changed are the words that differ.
"""

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, changed_words, described, image, simple, text

ENDINGS = ("", ".jpg", ".png")
"""Of image names, which the table may leave out."""


class Plugin(TablePlugin):
    """Where examples.jsonl is, and the unpacked images."""

    def build(self) -> PairSet:
        """The set."""
        return simple(self, _pair, lambda row: str(row.get("id")))


def _pair(place: Place, row: Row, item: str) -> RawPair:
    first, second = text(place, row, "caption_0"), text(place, row, "caption_1")
    before, after = changed_words(first, second)
    named = {column: _with_ending(place, text(place, row, column)) for column in ("image_0", "image_1")}
    return RawPair(
        id=item,
        pictures=(image(place, named, "image_0"), image(place, named, "image_1")),
        question=described(first),
        before=before,
        after=after,
        references=("yes", "no"),
        kind="object",
        verified="CLIP (COCO-Counterfactuals)",
    )


def _with_ending(place: Place, name: str) -> str:
    """The name with the ending under which a file is there; as it is where none is."""
    folders = place.folders
    return next((name + end for end in ENDINGS if any((one / (name + end)).is_file() for one in folders)), name)
