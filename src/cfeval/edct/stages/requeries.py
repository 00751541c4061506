"""Stage 4a, re-query: the same two turns on the edited image, in a fresh conversation (EDCT 2025, Section 3)."""

from collections.abc import Callable, Iterable, Iterator

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample, SamplesFile, samples_by_id
from cfeval.edct.files import CounterfactualsFile, Protocol, VlmSpec, WordingOption, conversation_prompts, edited
from cfeval.edct.records import Counterfactual, Requery
from cfeval.edct.stages.baselines import Asked, Prompts, converse
from cfeval.inference.chat import ChatModel
from cfeval.inference.remote.settings import Offline, use_offline_cache


def requeries(
    counterfactuals: Iterable[Counterfactual],
    samples: ByKey[str, Sample],
    edited_of: Callable[[Counterfactual], Image],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
) -> Iterator[Requery]:
    """Ask the original question and its reason about every counterfactual, in order."""

    def asked(record: Counterfactual) -> Asked:
        own = derive_seed(seed, record.id, record.edit, "requery")
        return Asked(record.id, edited_of(record), samples[record.id].question, own)

    for record, said in map_ok(counterfactuals, lambda sound: converse(model, sound, asked, prompts, "requeries")):
        yield Requery(id=record.id, edit=record.edit, **(said or propagated(record)))


def run(
    samples: SamplesFile,
    counterfactuals: CounterfactualsFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",  # noqa: ARG001 (of the counterfactuals; the same is asked under every one)
    prompts: PromptFolder = "",
    wording: WordingOption = "a",
    offline: Offline = False,
) -> None:
    """Ask the target model the same question and its reason again, about every counterfactual."""
    use_offline_cache(offline)
    total, made = count_valid_records(counterfactuals, Counterfactual), read_jsonl(counterfactuals, Counterfactual)
    model = build("chat", vlm, "--vlm")
    templates = Prompts(*conversation_prompts(prompts, wording))
    said = requeries(made, samples_by_id(samples), edited(counterfactuals), model, templates, seed)
    write_jsonl(out, track(said, total, "requeries"))
