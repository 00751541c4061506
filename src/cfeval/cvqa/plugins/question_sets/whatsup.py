"""What'sUp: photographs of two objects that differ in their place alone, and four captions of which one is right.

- Data: controlled_images_dataset.json (412 photographs, 103 pairs of objects) and controlled_clevr_dataset.json (408,
  102 pairs); the parts of COCO and GQA need images of their own, and their files have other fields.
- Paper: Kamath, Hessel and Chang, What's "up" with vision-language models? Investigating their struggle with spatial
  reasoning (EMNLP 2023, arXiv:2310.19785).
- License: MIT (the repository's file LICENSE).
- Where: github.com/amitakamath/whatsup_vlms names the downloads; unpack the images beside the table.
- Fields: `image_path` (`data/controlled_images/…`, the layout of that repository) and `caption_options`, of which the
  first is always right.
- SHA-256 of the tables, as a reader of the set has recorded them: see `KNOWN`. `cfeval doctor` compares.
- Published (the abstract): BLIP, fine-tuned on VQAv2, 56 % over the paper's three sets, people 99 %; these are mean
  accuracies of matching, not of asked questions.

By rule: the captions are the options, in an order drawn by a hash of the image's path, since an order in which the
first is right would reward whoever says A. There is no original question; the type is the relation of the caption.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from cfeval.core.registry import Diagnostic
from cfeval.cvqa.question_tables import Item, QuestionTablePlugin, UnusableError, question_of
from cfeval.datasets.pairs.rows import Place, Row, text

KNOWN = {
    "77ee94ae35552ed643ecd47f700daa178e10051458baae99d5c4c5d5922590d3": "controlled_images_dataset.json",
    "2c0df1ab59d13d71442752b4b3c7353114d712a785b0850ec22e11c2b0c474c9": "controlled_clevr_dataset.json",
}
RELATIONS = ("left of", "right of", "in front of", "behind", "under", "on")
QUESTION = "Which of these sentences describes the image?"


class Plugin(QuestionTablePlugin):
    """Where controlled_images_dataset.json or controlled_clevr_dataset.json is, and the unpacked images."""

    columns: ClassVar = frozenset({"image_path", "caption_options"})

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the table is a published one, then what every table says."""
        if Path(self.path).is_file():
            name = KNOWN.get(hashlib.sha256(Path(self.path).read_bytes()).hexdigest())
            what = f"the published {name}" if name else "its SHA-256 is that of no published table"
            yield Diagnostic(True, f"{self.path}: {what}", warns=not name)
        yield from super().diagnose()

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The question about an image."""
        path, captions = text(place, row, "image_path"), row.get("caption_options")
        if not isinstance(captions, list) or not captions:
            raise UnusableError("caption_options must be a list of captions")
        order = sorted(captions, key=lambda one: hashlib.sha256(f"{path}\x1f{one}".encode()).digest())
        relation = next((name for name in RELATIONS if f" {name} " in f" {captions[0].lower()} "), "other")
        asked = question_of(QUESTION, [captions[0]], order)
        yield Item(Path(path).stem, (path.removeprefix("data/"),), asked, type=relation)
