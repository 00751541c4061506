"""What the tasks share: items of cfeval in the metadata of inspect's samples, and the check of a run's settings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.solver import TaskState

from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.records import StageResult, Status
from cfeval.datasets.sample import Sample as Item
from cfeval.edct.files import conversation_prompts
from cfeval.edct.records import Baseline
from cfeval.edct.stages.baselines import Prompts
from cfeval.inference.remote.images import data_url, of_data_url

SEED = 20250929
"""Of a study, where none is named: that of cfeval's own parameters."""
RECORDS = "cfeval"
"""Where the solver leaves the records of the steps, as JSON, for the scorer and for who scores a log again."""
REASONS = {Status.REFUSED: "refusal", Status.MODERATED: "refusal", Status.UNPARSABLE: "invalid_response_format"}
SHOWN = ("n", "n_scored")


def filed(items: Iterable[tuple[Item, Image]]) -> dict[str, Any]:
    """Items and their images as metadata of a sample."""
    of = list(items)
    return {
        "items": [item.model_dump(mode="json") for item, _ in of],
        "images": {item.image.sha256: data_url(image) for item, image in of},
    }


def items_in(metadata: Mapping[str, Any]) -> list[Item]:
    """The items of a sample."""
    return [Item.model_validate(item) for item in metadata["items"]]


def image_of(metadata: Mapping[str, Any]) -> Callable[[Item], Image]:
    """How to open the image of an item of a sample."""

    def opened(item: Item) -> Image:
        content = of_data_url(metadata["images"][item.image.sha256])
        if not isinstance(content, bytes):
            raise InputError(f"item '{item.id}': its image in the sample's metadata cannot be read")
        return Image(content)

    return opened


def prompts() -> Prompts:
    """The two turns that a target model is asked."""
    return Prompts(*conversation_prompts(""))


def shown(item: Item, metadata: Mapping[str, Any]) -> list[ChatMessage]:
    """An item as the input that inspect-ai shows."""
    image = ContentImage(image=metadata["images"][item.image.sha256])
    return [ChatMessageUser(content=[ContentText(text=item.question), image])]


def conversation(state: TaskState, said: Baseline) -> None:
    """Lay the first conversation down as the sample's messages; the others are among its events."""
    state.messages += [
        ChatMessageAssistant(content=said.answer),
        ChatMessageUser(content=prompts().explain),
        ChatMessageAssistant(content=said.explanation),
    ]
    state.output.completion = said.explanation


def refuse_epochs(state: TaskState) -> None:
    """InputError in a second epoch: what is asked again is no further item."""
    if state.epoch > 1:
        raise InputError("--epochs: only 1; cfeval's intervals take items once, ask more items instead")


def score_of(record: StageResult, value: Mapping[str, Any], answer: str, completion: str = "") -> Score:
    """A record as a score; what a failed one does not say is missing, and its status is the reason."""
    lost = record.status != Status.OK
    return Score(
        value={name: float("nan") if one is None else one for name, one in value.items()},
        answer=answer,
        explanation=completion or record.reason or None,
        reason=REASONS.get(record.status, str(record.status)) if lost else None,
        metadata={RECORDS: record.model_dump(mode="json")},
    )


def records_of(scores: Sequence[SampleScore], kind: type[Any]) -> list[Any]:
    """The records that scores were made of, of every sample that came to a score."""
    return [kind.model_validate((one.score.metadata or {})[RECORDS]) for one in scores]


def figures(row: Any, names: Sequence[str]) -> dict[str, float]:
    """The named columns of a table's row with their limits; what has no figure is left out."""
    wanted = [f"{name}{end}" for name in (*SHOWN, *names) for end in ("", "_lo", "_hi", "_min", "_max")]
    known = row.model_dump()
    return {name: float(known[name]) for name in wanted if known.get(name) is not None}
