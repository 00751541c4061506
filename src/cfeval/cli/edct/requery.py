"""Ask the target model the same question and its reason again, about every counterfactual."""

from cfeval.cli.common import (
    CounterfactualsFile,
    Offline,
    Out,
    PromptFolder,
    SamplesFile,
    Seed,
    VlmSpec,
    build,
    conversation_prompts,
    edited,
    heed,
    samples_by_id,
    sound,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.edct import Counterfactual
from cfeval.studies.edct.conversation import Prompts
from cfeval.studies.edct.requery import requery


def run(
    samples: SamplesFile,
    counterfactuals: CounterfactualsFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    offline: Offline = False,
) -> None:
    """Ask the target model the same question and its reason again, about every counterfactual."""
    heed(offline)
    total, made = sound(counterfactuals, Counterfactual), read_jsonl(counterfactuals, Counterfactual)
    model = build("chat", vlm, "--vlm")
    templates = Prompts(*conversation_prompts(prompts))
    said = requery(made, samples_by_id(samples), edited(counterfactuals), model, templates, seed)
    write_jsonl(out, track(said, total, "requery"))
