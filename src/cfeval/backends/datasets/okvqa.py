"""OK-VQA: questions about COCO images that need outside knowledge (Marino et al. 2019, version 1.1; CC BY 4.0).

Files of its test split, which is drawn from COCO's val2014: OpenEnded_mscoco_val2014_questions.json and
mscoco_val2014_annotations.json.
"""

from collections.abc import Iterator

from cfeval.backends.datasets.base import Dataset
from cfeval.backends.registry import Finding
from cfeval.backends.vqa import Vqa, VqaOptions, examine_vqa, vqa_files


class Options(VqaOptions):
    """Where the released files are."""


def files(options: Options) -> tuple[str, ...]:
    """The JSON files and the list of ids."""
    return vqa_files(options)


def examine(options: Options) -> Iterator[Finding]:
    """Whether the images are there."""
    return examine_vqa(options)


def build(options: Options) -> Dataset:
    """The data set."""
    return Vqa(options, "okvqa")
