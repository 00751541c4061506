"""Ask a target model every question and, in the same conversation, the reason for its answer."""

from cfeval.cli.common import (
    Out,
    PromptFolder,
    SamplesFile,
    Seed,
    VlmSpec,
    build,
    conversation_prompts,
    originals,
    samples_by_id,
)
from cfeval.io.progress import track
from cfeval.io.records import write_jsonl
from cfeval.studies.edct.baseline import baseline


def run(samples: SamplesFile, vlm: VlmSpec, seed: Seed, out: Out, prompts: PromptFolder = "") -> None:
    """Ask a target model every question and, in the same conversation, the reason for its answer."""
    asked = samples_by_id(samples).values()
    model = build("chat", vlm, "--vlm")
    said = baseline(asked, originals(samples), model, conversation_prompts(prompts), seed)
    write_jsonl(out, track(said, len(asked), "baseline"))
