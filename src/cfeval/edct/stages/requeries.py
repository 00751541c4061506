"""Stage 4a, re-query: the same two turns on the edited image, in a fresh conversation (EDCT 2025, Section 3).

A target that samples its replies may be asked again, by another seed: where it gave no answer, so that a refusal by
chance is not taken for one by rule; and where its answer changed although nothing cited was edited, since a change that
does not come again is noise. Of a target that says the same whatever the seed, such as one at temperature 0, nothing is
learned so.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records, existing
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample, SamplesFile, samples_by_id
from cfeval.edct.answers import declines, moved_by_text
from cfeval.edct.files import (
    CounterfactualsFile,
    Protocol,
    VlmSpec,
    WordingOption,
    baselines_by_id,
    conversation_prompts,
    edited,
)
from cfeval.edct.protocols.rules import EDCT_2025, REPEATABLE, RULES
from cfeval.edct.records import Baseline, Conversation, Counterfactual, Requery
from cfeval.edct.stages.baselines import Fields, Prompts, Question, converse
from cfeval.inference.chat import ChatModel
from cfeval.inference.remote.settings import Offline, use_offline_cache


def requeries(
    counterfactuals: Iterable[Counterfactual],
    samples: ByKey[str, Sample],
    edited_of: Callable[[Counterfactual], Image],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
    baselines: ByKey[str, Baseline] | None = None,
    protocol: str = EDCT_2025,
) -> Iterator[Requery]:
    """Ask the original question and its reason about every counterfactual, in order.

    Args:
        baselines: what the target said of the originals, by id, where it is asked again; None: it never is.
    """

    def question_of(record: Counterfactual) -> Question:
        own = derive_seed(seed, record.id, record.edit, "requery")
        return Question(record.id, edited_of(record), samples[record.id].question, own)

    def declined(record: Counterfactual, fields: Fields) -> bool:
        return baselines is not None and declines(fields["status"], fields["answer"], baselines[record.id].answer)

    def once_more(record: Counterfactual, fields: Fields) -> bool:
        if baselines is None or declined(record, fields):
            return baselines is not None
        repeatable = RULES[protocol].edits in REPEATABLE and fields["status"] == Status.OK
        return repeatable and moved_by_text(baselines[record.id].answer, fields["answer"]) != 0

    def held(sound: Iterator[Counterfactual]) -> Iterator[tuple[Counterfactual, Fields]]:
        return converse(model, sound, question_of, prompts, "requeries", once_more)

    for record, fields in map_ok(counterfactuals, held):
        second = fields.pop("second", None) if fields else None
        more: Fields = {}
        if fields and second and declined(record, fields):
            fields, more = second, {"first": Conversation(id=record.id, **fields)}
        elif second:
            more = {"again": Conversation(id=record.id, **second)}
        yield Requery(id=record.id, edit=record.edit, **(fields or propagated(record)), **more)


def run(
    samples: SamplesFile,
    counterfactuals: CounterfactualsFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    prompts: PromptFolder = "",
    wording: WordingOption = "a",
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baselines",
            callback=lambda path: path and existing(path),
            help="Baseline conversations (JSONL): ask once more, by another seed, where the target gives no answer, or "
            "one that has changed although nothing cited was edited.",
        ),
    ] = None,
    offline: Offline = False,
) -> None:
    """Ask the target model the same question and its reason again, about every counterfactual."""
    use_offline_cache(offline)
    total, made = count_valid_records(counterfactuals, Counterfactual), read_jsonl(counterfactuals, Counterfactual)
    model = build("chat", vlm, "--vlm")
    templates = Prompts(*conversation_prompts(prompts, wording))
    before = baselines_by_id(baseline) if baseline else None
    records = requeries(made, samples_by_id(samples), edited(counterfactuals), model, templates, seed, before, protocol)
    write_jsonl(out, track(records, total, "requeries"))
