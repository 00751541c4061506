"""The least time that an edit or a token can take on a GPU, from operations and bytes alone; nothing is measured.

Operations of a step are counted on torch's `meta` device, where a network has shapes and no numbers. An edit is taken
to be its steps, a token the reading of all weights once: what else there is only adds.
"""

from typing import Any

import torch

from bench import checkpoints, meter, sizes
from bench.meter import Peak
from bench.sizes import ChatSize, EditorSize
from bench.table import Table

GPUS = {
    "H200 SXM": Peak(989e12, 4.8e12),
    "H100 SXM": Peak(989e12, 3.35e12),
    "A100 80 GB SXM": Peak(312e12, 2.039e12),
    "L40S": Peak(362e12, 0.864e12),
    "RTX 4090": Peak(165e12, 1.008e12),
}
"""Dense products in bfloat16 per second and bytes of memory per second, as NVIDIA's data sheets of each product say;
sheets that quote sparse products are halved."""


def tables() -> list[Table]:
    """Floors of the editors and of the chat models, a column a GPU."""
    return [edits(sizes.EDITORS), tokens(sizes.CHATS)]


def edits(of: tuple[EditorSize, ...]) -> Table:
    """The floor of an edit in seconds."""
    rows = []
    for size in of:
        flops, moved = step(size)
        steps = size.steps * size.calls
        least = [f"{steps * peak.floor(flops, moved):.3g}" for peak in GPUS.values()]
        rows.append([size.name, str(size.steps), f"{steps * flops / 1e12:.4g}", f"{moved / 1e9:.3g}", *least])
    about = f"{of[0].pixels} × {of[0].pixels} pixels, bfloat16. Steps alone: no autoencoder, no reading of the text."
    return Table("Floor of an edit, seconds", ("editor", "steps", "TFLOP", "weights, GB", *GPUS), rows, [about])


def tokens(of: tuple[ChatSize, ...]) -> Table:
    """The floor of a token of one reply at a time, as tokens per second."""
    rows = []
    for size in of:
        with torch.device("meta"):
            network = checkpoints.chat_network(size)
        moved = 2 * sum(weight.numel() for part in _spoken(network) for weight in part.parameters())
        least = [f"{peak.bandwidth / moved:.4g}" for peak in GPUS.values()]
        rows.append([size.name, f"{moved / 1e9:.3g}", *least])
    about = "bfloat16, one conversation; a batch divides the reading of the weights among its conversations."
    return Table("Floor of a reply, tokens per second", ("model", "weights, GB", *GPUS), rows, [about])


def _spoken(network: Any) -> list[Any]:
    return [network.model.language_model.layers, network.lm_head]


def step(size: EditorSize, batch: int = 1) -> tuple[int, int]:
    """Operations of one call of the transformer for so many images, and bytes of its weights in bfloat16."""
    with torch.device("meta"):
        network = checkpoints.network(size, "transformer").eval()
        inputs = INPUTS[size.pipeline](network.config, size, batch)
        with torch.no_grad(), meter.counting() as counter:
            network(**inputs, return_dict=False)
    return counter.get_total_flops(), meter.weight_bytes(network) // 2


def _places(size: EditorSize) -> int:
    """Tokens of an image: 2 × 2 latents of 8 × 8 pixels each, but in the tests' tiny FLUX of 2 × 2."""
    return (size.pixels // (16 if size.parts else 4)) ** 2


def _flux(config: Any, size: EditorSize, batch: int) -> dict[str, Any]:
    """The noise and the image, side by side, and the text."""
    places = 2 * _places(size)
    return {
        "hidden_states": torch.empty(batch, places, config.in_channels),
        "encoder_hidden_states": torch.empty(batch, size.tokens, config.joint_attention_dim),
        "pooled_projections": torch.empty(batch, config.pooled_projection_dim),
        "timestep": torch.empty(batch),
        "guidance": torch.empty(batch),
        "img_ids": torch.empty(places, 3),
        "txt_ids": torch.empty(size.tokens, 3),
    }


def _flux2(config: Any, size: EditorSize, batch: int) -> dict[str, Any]:
    places = 2 * _places(size)
    return {
        "hidden_states": torch.empty(batch, places, config.in_channels),
        "encoder_hidden_states": torch.empty(batch, size.tokens, config.joint_attention_dim),
        "timestep": torch.empty(batch),
        "guidance": None,
        "img_ids": torch.empty(batch, places, 4),
        "txt_ids": torch.empty(batch, size.tokens, 4),
    }


def _qwen(config: Any, size: EditorSize, batch: int) -> dict[str, Any]:
    side = int(_places(size) ** 0.5)
    return {
        "hidden_states": torch.empty(batch, 2 * side**2, config.in_channels),
        "encoder_hidden_states": torch.empty(batch, size.tokens, config.joint_attention_dim),
        "timestep": torch.empty(batch),
        "img_shapes": [[(1, side, side), (1, side, side)]] * batch,
    }


INPUTS = {"FluxKontextPipeline": _flux, "Flux2KleinPipeline": _flux2, "QwenImageEditPipeline": _qwen}
"""What one call of a pipeline's transformer is given, by the pipeline's class."""
