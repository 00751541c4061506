"""VQA v2: questions about COCO images, ten answers each (Goyal et al. 2017; annotations CC BY 4.0).

Files of its validation split: v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json; of its
test splits only questions are public. Other releases in the same layout can be read as well.
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
    return Vqa(options, "vqa")
