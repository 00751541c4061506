"""Stage 1, baseline acquisition: the model's answer and explanation for the original image (EDCT 2025, Section 3)."""

from collections.abc import Callable, Iterable, Iterator

from cfeval.backends.chat.base import ChatModel
from cfeval.io.pictures import Picture
from cfeval.records.edct import Baseline, Sample
from cfeval.seeds import derive
from cfeval.studies.edct.conversation import Asked, Prompts, converse


def baseline(
    samples: Iterable[Sample],
    picture_of: Callable[[Sample], Picture],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
) -> Iterator[Baseline]:
    """Ask every question and its reason, in order."""

    def asked(sample: Sample) -> Asked:
        return Asked(sample.id, picture_of(sample), sample.question, derive(seed, sample.id, "baseline"))

    for sample, said in converse(model, samples, asked, prompts, "baseline"):
        yield Baseline(id=sample.id, question=sample.question, **said)
