"""COCO-Counterfactuals: generated images of two captions that differ in one noun.

- Data: some 17,000 pairs, made by a diffusion model with cross-attention control, filtered by CLIP.
- Paper: Le, Lal and Howard, COCO-Counterfactuals: Automatically Constructed Counterfactual Examples for Image-Text
  Pairs (NeurIPS 2023 Datasets and Benchmarks, arXiv:2309.14356).
- License: CC BY 4.0.
- Where: dataset Intel/COCO-Counterfactuals at Hugging Face: `data/examples.jsonl`, and `data/images.zip`, which
  unpacks to a folder `images` (beside the table, or in the folder that the option `images` names, or that folder).
- Fields: `id`, `image_0`, `image_1` (names of images without `.jpg`), `caption_0`, `caption_1`.
- Known faults: both images are generated, no photograph is among them; people checked a sample, not every pair, so some
  images do not show what their caption says.

By rule: the question is whether the first caption describes the image; what was changed are the words that differ. A
row whose captions are equal is left out.
"""

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.captions import changed_words, described
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, image, simple, text

PLACES = ("images/{name}.jpg", "{name}.jpg", "images/{name}", "{name}")
"""Where an image lies below a folder, by the name that the table gives it."""


class Plugin(TablePlugin):
    """Where examples.jsonl is, and the unpacked images."""

    def build(self) -> PairSet:
        """The set."""
        return simple(self, _pair, lambda row: str(row.get("id")), ("caption_0", "caption_1"))


def _pair(place: Place, row: Row, item: str) -> RawPair:
    first, second = text(place, row, "caption_0"), text(place, row, "caption_1")
    before, after = changed_words(first, second)
    named = {column: _file(place, text(place, row, column)) for column in ("image_0", "image_1")}
    return RawPair(
        id=item,
        images=(image(place, named, "image_0"), image(place, named, "image_1")),
        question=described(first),
        before=before,
        after=after,
        references=("yes", "no"),
        kind="object",
        verified="CLIP (COCO-Counterfactuals)",
    )


def _file(place: Place, name: str) -> str:
    """The path under which an image is there; the name where none is."""
    paths = [path.replace("{name}", name) for path in PLACES]
    return next((path for path in paths if any((one / path).is_file() for one in place.folders)), name)
