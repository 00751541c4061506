"""The items of a study as a folder that others load: Hugging Face `datasets`, with a card, and Croissant.

OUT/README.md                    the card: licence, configurations and terms of the sources
OUT/croissant.json               the same for machines (MLCommons Croissant 1.0)
OUT/items-NAME/metadata.jsonl    a dataset, a line an item
OUT/pairs-NAME/metadata.jsonl    a set of given pairs, a line a pair
OUT/…/SHA.png                    their images, each once, named by their content
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cfeval.core.files import atomic_writer, write_bytes, write_text
from cfeval.core.images import folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets import croissant
from cfeval.datasets.pair import IMAGES, pair_of
from cfeval.datasets.sample import Sample
from cfeval_audit.bundle.contents import UNKNOWN
from cfeval_audit.interchange.study import Finished

SPLIT, ROWS = "test", "metadata.jsonl"
ITEM_FIELDS: Mapping[str, str] = {
    "file_name": "The image's file, next to this one",
    "id": "The item's id",
    "question": "The question about the image",
    "reference": "Its right answer; empty where it is not known",
    "kind": "The kind of question, where the dataset says it",
    "cluster": "Items about the same image share it; they are not independent",
}
# The fields of a row and what they mean.
PAIR_FIELDS: Mapping[str, str] = {
    "before_file_name": "The first image's file, next to this one",
    "after_file_name": "The second image's file",
    "id": "The pair's id",
    "question": "The question about both images",
    "reference_before": "The right answer about the first image; empty where it is not known",
    "reference_after": "The right answer about the second image",
    "changed_before": "What differs, as it is in the first image; empty where it is not there",
    "changed_after": "The same in the second image",
    "kind": "The kind of change: object, attribute, count, relation, background, other; empty where it is not known",
    "natural": "yes: two photographs, which differ in more than one thing",
    "cluster": "Pairs about the same first image share it; they are not independent",
}
_IMAGES = {"items": ("file_name",), "pairs": ("before_file_name", "after_file_name")}
_FIELDS = {"items": ITEM_FIELDS, "pairs": PAIR_FIELDS}
Row = dict[str, str]


class Written(NamedTuple):
    """A dataset that is written."""

    folder: str
    kind: str
    rows: int
    sha256: str
    terms: str


def write(study: Finished, out: Path, title: str, licence: str) -> list[Written]:
    """Write the items of a study and its given pairs; the card comes last, so that a folder that has one is whole.

    Args:
        study: the finished study.
        out: a new or empty folder.
        title: what the card calls the set.
        licence: its identifier, as spdx.org/licenses has it.

    Raises:
        InputError: a record file is missing, or an image is another than its record names.
    """
    written = []
    for kind, section, name, files in study.items():
        folder = _Folder(out, f"{kind}-{name}")
        count, sha256 = folder.write(folder.items(files) if kind == "items" else folder.pairs(files))
        written.append(Written(folder.name, kind, count, sha256, study.terms.get(f"edct.{section}.{name}", UNKNOWN)))
    described = [_described(dataset) for dataset in written]
    count = sum(dataset.rows for dataset in written)
    about = f"{title}: {count} questions about images, as cfeval asks them of vision-language models."
    file_nodes = [node for files, _ in described for node in files]
    write_text(
        out / croissant.NAME, croissant.description(title, about, licence, file_nodes, [r for _, r in described])
    )
    count = sum(dataset.rows for dataset in written)
    places = {dataset.folder: f"{dataset.folder}/**" for dataset in written}
    head = croissant.hub_card_head(title, licence, count, places, SPLIT)
    sets = "\n".join(f"| `{dataset.folder}` | {dataset.rows:,} | {dataset.terms} |" for dataset in written)
    fields = "\n\n".join(
        f"Fields of `{kind}-…`:\n\n| field | meaning |\n|---|---|\n"
        + "\n".join(f"| `{name}` | {meaning} |" for name, meaning in _FIELDS[kind].items())
        for kind in dict.fromkeys(dataset.kind for dataset in written)
    )
    write_text(
        out / "README.md",
        f"{head}\n# {title}\n\nQuestions about images, as cfeval asked them of vision-language models.\n\n"
        f"| configuration | rows | terms of the source |\n|---|---|---|\n{sets}\n\n{fields}\n",
    )
    return written


class _Folder:
    """The rows of one dataset, and the images that they name."""

    def __init__(self, out: Path, name: str) -> None:
        self.name = name
        self._place, self._there = out / name, set[str]()

    def items(self, files: Iterable[Path]) -> Iterator[Row]:
        """The rows of items."""
        for sample, folder in _samples(files):
            first = {"file_name": self._image(sample, folder), "id": sample.id, "question": sample.question}
            yield first | {"reference": sample.reference, "kind": sample.kind, "cluster": sample.image.sha256[:16]}

    def pairs(self, files: Iterable[Path]) -> Iterator[Row]:
        """The rows of pairs; an image once more, encoded again, is no part of the set."""
        begun: dict[str, dict[str, tuple[Sample, str]]] = {}
        for sample, folder in _samples(files):
            pair = pair_of(sample)
            if pair.side == "again":
                continue
            images = begun.setdefault(pair.pair, {})
            images[pair.side] = sample, self._image(sample, folder)
            if len(images) == len(IMAGES):
                whole = begun.pop(pair.pair)
                (before, image), (after, changed) = (whole[name] for name in IMAGES)
                yield {
                    "before_file_name": image,
                    "after_file_name": changed,
                    "id": pair.pair,
                    "question": before.question,
                    "reference_before": before.reference,
                    "reference_after": after.reference,
                    "changed_before": pair.before,
                    "changed_after": pair.after,
                    "kind": pair.kind,
                    "natural": "yes" if pair.natural else "no",
                    "cluster": before.image.sha256[:16],
                }

    def write(self, rows: Iterable[Row]) -> tuple[int, str]:
        """Write the rows; how many there are, and the hash of their file."""
        digest, count = hashlib.sha256(), 0
        with atomic_writer(self._place / ROWS) as add:
            for row in rows:
                line = json.dumps(row, ensure_ascii=False) + "\n"
                add(line)
                digest.update(line.encode())
                count += 1
        return count, digest.hexdigest()

    def _image(self, sample: Sample, folder: Path) -> str:
        name = f"{sample.image.sha256[:32]}.png"
        if name not in self._there:
            self._there.add(name)
            write_bytes(self._place / name, load(folder, sample.image).png)
        return name


def _samples(files: Iterable[Path]) -> Iterator[tuple[Sample, Path]]:
    for file in files:
        yield from ((sample, folder_of(file)) for sample in read_jsonl(file, Sample))


def _described(dataset: Written) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows, images = f"{dataset.folder}-rows", f"{dataset.folder}-images"
    files = [
        croissant.jsonl_file(rows, f"{dataset.folder}/{ROWS}", dataset.sha256),
        croissant.image_files(images, f"{dataset.folder}/*.png"),
    ]
    shown = dict.fromkeys(_IMAGES[dataset.kind], images)
    return files, croissant.record_set(dataset.folder, rows, _FIELDS[dataset.kind], shown)
