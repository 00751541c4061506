"""Curation: a model decides about every candidate whether its question suits the study (EDCT 2025, Section 4)."""

from collections.abc import Iterable, Iterator

from cfeval.backends.asking import AskingOptions, Form, Heard, ask, question
from cfeval.backends.chat.base import ChatModel, Dialogue, hold
from cfeval.backends.serving import served
from cfeval.protocols.curation import FILTER_SCHEMA, NAME, Judged, read_decision
from cfeval.records.curation import Decision
from cfeval.records.edct import Sample
from cfeval.records.outcomes import ended
from cfeval.seeds import derive

BATCH = 256
FORM = Form(NAME, "filter", ("question",), FILTER_SCHEMA, read_decision)


def decisions(samples: Iterable[Sample], model: ChatModel, prompts: str, seed: int) -> Iterator[Decision]:
    """Decide about every candidate, in order; where the model fails, the candidate is undecided and says why.

    `prompts` is a folder of the user's own templates; empty: the package's.
    """
    asked = question(AskingOptions(model={}, prompts=prompts), FORM)

    def dialogue(sample: Sample) -> Dialogue[Heard[Judged]]:
        return ask(asked, sample.id, {"question": sample.question}, derive(seed, sample.id, "filter"))

    def decide(dialogues: list[Dialogue[Heard[Judged]]]) -> list[Heard[Judged]]:
        return hold(model, dialogues)

    for sample, heard in served(model, samples, dialogue, decide, BATCH):
        yield _decision(sample, heard)


def _decision(sample: Sample, heard: Heard[Judged]) -> Decision:
    said = {"id": sample.id, "question": sample.question, "raw": heard.raw, "calls": heard.calls}
    if heard.value is None:
        return Decision(**said, **ended(heard.status, "filter", heard.reason))
    return Decision(**said, keep=heard.value.keep, why=" ".join(heard.value.reason.split()))
