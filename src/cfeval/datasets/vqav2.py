"""VQA v2: questions about COCO images, ten answers each (Goyal et al. 2017; annotations CC BY 4.0).

Files of its validation split: v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json; of its
test splits only questions are public. Other releases in the same layout can be read as well.
"""

from cfeval.datasets.vqa_format import VqaPlugin


class Plugin(VqaPlugin):
    """See `VqaPlugin`."""

    scorer = "vqa"
