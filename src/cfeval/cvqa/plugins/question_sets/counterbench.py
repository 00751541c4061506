"""CounterBench: drawn scenes of which one property is changed, and one question about both.

- Data: counterbench_metadata.json, 550 pairs: spatial, causal, compositional, counting, occlusion.
- Paper: CounterBench: A Controllable Counterfactual Testbed Reveals Systematic Reasoning Failures in Vision-Language
  Models (openreview.net/forum?id=U9LQ19atDB). Not the benchmark of texts of the same name (arXiv:2502.11008).
- License, SHA-256, where: not found; the record of the step keeps the hash of the file that you name.
- Fields: `original_image`, `intervened_image` (files in a folder `images`), `question`, `answer_original`,
  `answer_intervened`, `should_change`, `category`, `subcategory`, `intervention`.
- Published (the abstract): accuracy on single images 85 to 91 % for four models; their Counterfactual Consistency Score
  80 to 90 %, of Qwen2.5-VL-72B 89.5 %.

Their Counterfactual Consistency Score counts a pair as good where the answer changes if and only if it should. It is
another thing than the CCS of edct, which asks about explanations, and than accuracy here. The tables have accuracy on
the original and on the changed image.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from cfeval.cvqa.question_tables import Item, QuestionTablePlugin, question_of
from cfeval.datasets.pairs.rows import Place, Row, text


class Plugin(QuestionTablePlugin):
    """Where counterbench_metadata.json is, and the folder of images."""

    columns: ClassVar = frozenset({"original_image", "intervened_image", "question"})

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The question about both images."""
        names = [text(place, row, column) for column in ("original_image", "intervened_image")]
        files = [next((f"images/{n}" for f in place.folders if (f / "images" / n).is_file()), n) for n in names]
        asked = text(place, row, "question")
        answers = [text(place, row, column) for column in ("answer_original", "answer_intervened")]
        first, then = (question_of(asked, [answer]) for answer in answers)
        name = f"{PurePosixPath(names[0]).stem}-{PurePosixPath(names[1]).stem}"
        yield Item(name, (files[0],), then, first, text(place, row, "category"), files[1])
