"""OK-VQA: questions about COCO images that need outside knowledge (Marino et al. 2019, version 1.1; CC BY 4.0).

Files of its test split, which is drawn from COCO's val2014: OpenEnded_mscoco_val2014_questions.json and
mscoco_val2014_annotations.json.
"""

from cfeval.datasets.vqa_format import VqaPlugin


class Plugin(VqaPlugin):
    """See `VqaPlugin`."""

    scorer = "okvqa"
