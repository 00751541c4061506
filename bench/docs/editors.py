"""The reference page of the editors that run on one's own GPU."""

from cfeval.edct.plugins.diffusers_pipelines import MODELS, table


def page() -> str:
    """Checkpoints, what each needs, and how to choose."""
    heading, *rows = table()
    lines = [heading, tuple("---" for _ in heading), *rows]
    return f"""# Editors on one's own GPU

What the plugin `diffusers` can use; `cfeval doctor` names those that fit the GPU that is there. Begin with
`{MODELS[0].name}`: four steps, and a free licence.

{chr(10).join("| " + " | ".join(cells) + " |" for cells in lines)}

Weights are in bfloat16, from the numbers of parameters that their authors publish. *GPU* adds a fifth and four GiB for
what an edit computes; no GPU was at hand to confirm it, nor any time of an edit. `float8: true` halves the painting
network's share, `offload: model` keeps what is not at work in main memory. A pipeline beside a checkpoint's own is
named in `pipeline`, such as `Flux2KleinInpaintPipeline` for edits inside a mask.

Images of one size can be painted together (`batch`), where the column says so. An image depends on `batch` and its
request, never on its company. Another `batch` rounds differently, on a processor in float32 by at most two of 256
levels, on a GPU by more; so choose it once for a study.

Few-step adapters (`lora`, with `steps` and the `scheduler` settings of their card), `quantization`, `float8`,
`step_cache` (Qwen-Image-Edit), `attention` and `torch_compile` save time or memory and change images. `speed: fast`
sets those that pipeline and device bear; no GPU was at hand to time it. Put it behind plugin `gated`. Give each
variant a name under `edct.editors`: `cfeval edct edit-cost` compares what passes the gate, and at what cost.

The other licences limit commercial use; read them before you rely on one.
"""
