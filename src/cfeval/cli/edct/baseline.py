"""Ask a target model every question and, in the same conversation, the reason for its answer."""

from cfeval.cli.common import (
    Offline,
    Out,
    PromptFolder,
    SamplesFile,
    Seed,
    VlmSpec,
    build,
    conversation_prompts,
    heed,
    originals,
    samples_by_id,
)
from cfeval.io.progress import track
from cfeval.io.records import write_jsonl
from cfeval.studies.edct.baseline import baseline
from cfeval.studies.edct.conversation import Prompts


def run(
    samples: SamplesFile, vlm: VlmSpec, seed: Seed, out: Out, prompts: PromptFolder = "", offline: Offline = False
) -> None:
    """Ask a target model every question and, in the same conversation, the reason for its answer."""
    heed(offline)
    asked = samples_by_id(samples).values()
    model = build("chat", vlm, "--vlm")
    said = baseline(asked, originals(samples), model, Prompts(*conversation_prompts(prompts)), seed)
    write_jsonl(out, track(said, len(asked), "baseline"))
