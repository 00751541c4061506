"""Stage 1, baseline acquisition: the model's answer and explanation for the original image (EDCT 2025, Section 3)."""

from collections.abc import Callable, Iterable, Iterator

from cfeval.backends.chat.base import ChatModel
from cfeval.io.pictures import Picture
from cfeval.records.edct import Baseline, Sample
from cfeval.seeds import derive
from cfeval.streams import batched
from cfeval.studies.edct.conversation import Asked, Prompts, converse

BATCH = 256


def baseline(
    samples: Iterable[Sample],
    picture_of: Callable[[Sample], Picture],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
) -> Iterator[Baseline]:
    """Ask every question and its reason, in order."""
    for batch in batched(samples, BATCH):
        asked = [Asked(s.id, picture_of(s), s.question, derive(seed, s.id, "baseline")) for s in batch]
        for sample, said in zip(batch, converse(model, asked, prompts, "baseline"), strict=True):
            yield Baseline(id=sample.id, question=sample.question, **said)
