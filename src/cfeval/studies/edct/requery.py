"""Stage 4a, re-query: the same two turns on the edited image, in a fresh conversation (EDCT 2025, Section 3)."""

from collections.abc import Callable, Iterable, Iterator

from cfeval.backends.chat.base import ChatModel
from cfeval.io.pictures import Picture
from cfeval.records.edct import Counterfactual, Requery, Sample
from cfeval.records.outcomes import carried, work_through
from cfeval.seeds import derive
from cfeval.streams import ByKey
from cfeval.studies.edct.conversation import Asked, Prompts, converse


def requery(
    counterfactuals: Iterable[Counterfactual],
    samples: ByKey[str, Sample],
    edited_of: Callable[[Counterfactual], Picture],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
) -> Iterator[Requery]:
    """Ask the original question and its reason about every counterfactual, in order."""

    def asked(record: Counterfactual) -> Asked:
        own = derive(seed, record.id, record.edit, "requery")
        return Asked(record.id, edited_of(record), samples[record.id].question, own)

    for record, said in work_through(counterfactuals, lambda sound: converse(model, sound, asked, prompts, "requery")):
        yield Requery(id=record.id, edit=record.edit, **(said or carried(record)))
