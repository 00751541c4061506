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
    sound,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.edct import Sample
from cfeval.studies.edct.baseline import baseline
from cfeval.studies.edct.conversation import Prompts


def run(
    samples: SamplesFile, vlm: VlmSpec, seed: Seed, out: Out, prompts: PromptFolder = "", offline: Offline = False
) -> None:
    """Ask a target model every question and, in the same conversation, the reason for its answer."""
    heed(offline)
    total = sound(samples, Sample)
    model = build("chat", vlm, "--vlm")
    said = baseline(
        read_jsonl(samples, Sample), originals(samples), model, Prompts(*conversation_prompts(prompts)), seed
    )
    write_jsonl(out, track(said, total, "baseline"))
