"""The architecture of guided-diffusion's UNets, written as a diffusers UNet2DModel (Dhariwal & Nichol 2021, Section 3).

UNet2DModel says all of it in its configuration but two things, which `network` sets on the modules after it is made: a
number of attention heads that is the same at every width (it only knows a width that is the same for all heads), and a
timestep embedding that is wider than the first level (the model of 512 × 512 begins at half its width).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = 32
"""Of every normalisation; so all widths are multiples of it."""


@dataclass(frozen=True)
class Architecture:
    """A UNet of guided-diffusion, by its own flags.

    `channel_mult` is the width of every level in `num_channels`. `attention` are the heights of the feature maps
    that attend. With `num_head_channels` every head has that width; else there are `num_heads` of them everywhere.
    `classes` is how many labels it is conditional on, 0 for none.
    """

    image_size: int
    num_channels: int
    num_res_blocks: int
    channel_mult: tuple[float, ...]
    attention: tuple[int, ...]
    num_heads: int
    num_head_channels: int | None
    use_scale_shift_norm: bool
    resblock_updown: bool
    use_new_attention_order: bool
    learn_sigma: bool
    classes: int

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of every level."""
        return tuple(int(self.num_channels * factor) for factor in self.channel_mult)

    @property
    def attends(self) -> tuple[bool, ...]:
        """Whether a level attends."""
        return tuple(self.image_size / 2**level in self.attention for level in range(len(self.channel_mult)))

    def heads(self, width: int) -> int:
        """Attention heads at a width."""
        return width // self.num_head_channels if self.num_head_channels else self.num_heads

    def fault(self) -> str:
        """What keeps it from being built: one phrase, or empty."""
        if any(width % GROUPS for width in (self.num_channels, *self.widths)):
            return f"channels {self.widths} must be multiples of {GROUPS}"
        if self.image_size % 2 ** (len(self.channel_mult) - 1):
            return f"image_size {self.image_size} cannot be halved {len(self.channel_mult) - 1} times"
        attending = {w for w, attends in zip(self.widths, self.attends, strict=True) if attends} | {self.widths[-1]}
        uneven = [
            w
            for w in sorted(attending)
            if not self.heads(w) or w % self.heads(w) or bool(self.num_head_channels and w % self.num_head_channels)
        ]
        return f"attention heads do not divide {uneven[0]} channels" if uneven else ""


def configuration(model: Architecture) -> dict[str, Any]:
    """The arguments of UNet2DModel for an architecture."""
    kind = "resnet" if model.resblock_updown else "conv"
    plain = (
        ("ResnetDownsampleBlock2D", "ResnetUpsampleBlock2D") if model.resblock_updown else ("DownBlock2D", "UpBlock2D")
    )
    return {
        "sample_size": model.image_size,
        "in_channels": 3,
        "out_channels": 6 if model.learn_sigma else 3,
        "time_embedding_dim": 4 * model.num_channels,
        "flip_sin_to_cos": True,  # cosines come first
        "freq_shift": 0,
        "block_out_channels": model.widths,
        "layers_per_block": model.num_res_blocks,
        "down_block_types": tuple("AttnDownBlock2D" if attends else plain[0] for attends in model.attends),
        "up_block_types": tuple("AttnUpBlock2D" if attends else plain[1] for attends in reversed(model.attends)),
        "downsample_type": kind,
        "upsample_type": kind,
        "attention_head_dim": model.num_head_channels or GROUPS,
        "norm_num_groups": GROUPS,
        "attn_norm_num_groups": GROUPS,
        "norm_eps": 1e-5,
        "resnet_time_scale_shift": "scale_shift" if model.use_scale_shift_norm else "default",
        "num_class_embeds": model.classes or None,
    }


def network(model: Architecture) -> Any:
    """A UNet2DModel of this architecture, its weights not set yet (on no device: `load_state_dict(assign=True)`)."""
    import diffusers
    import torch
    from diffusers.models.attention_processor import Attention
    from diffusers.models.embeddings import TimestepEmbedding, Timesteps

    make: Any = diffusers.UNet2DModel  # which its library has not typed
    with torch.device("meta"):
        unet = make(**configuration(model))
        if model.widths[0] != model.num_channels:
            unet.time_proj = Timesteps(model.num_channels, flip_sin_to_cos=True, downscale_freq_shift=0)
            unet.time_embedding = TimestepEmbedding(model.num_channels, 4 * model.num_channels)
    for module in unet.modules():
        if isinstance(module, Attention):
            module.heads = model.heads(module.query_dim)
            module.scale = (module.query_dim // module.heads) ** -0.5
    return unet


def convert(weights: "dict[str, Tensor]", model: Architecture) -> "dict[str, Tensor]":
    """The weights of a guided-diffusion checkpoint under the names of UNet2DModel.

    Raises:
        KeyError: a weight that the architecture has is not there.
    """
    converted: dict[str, Tensor] = {}
    for source, target in places(model):
        if source.endswith(".qkv"):
            for kind in ("weight", "bias"):
                parts = _split(weights[f"{source}.{kind}"], model)
                converted |= {f"{target}.to_{name}.{kind}": part for name, part in zip("qkv", parts, strict=True)}
            continue
        for kind in ("weight",) if source == "label_emb" else ("weight", "bias"):
            tensor = weights[f"{source}.{kind}"]
            converted[f"{target}.{kind}"] = tensor.squeeze(-1) if source.endswith(".proj_out") else tensor
    return converted


def _split(qkv: "Tensor", model: Architecture) -> "tuple[Tensor, ...]":
    """Queries, keys and values of a joint projection (3C, C, 1) or its bias (3C,).

    The older order goes by heads, and each head has its queries, keys and values side by side; the newer one has all
    queries first. diffusers wants the newer.
    """
    rows = qkv.squeeze(-1) if qkv.ndim == 3 else qkv
    width = len(rows) // 3
    heads = model.heads(width)
    if not model.use_new_attention_order:
        by_head = rows.reshape(heads, 3, width // heads, *rows.shape[1:])
        rows = by_head.transpose(0, 1).reshape(rows.shape)
    return tuple(part.contiguous() for part in rows.chunk(3))


_RESNET = {
    "in_layers.0": "norm1",
    "in_layers.2": "conv1",
    "emb_layers.1": "time_emb_proj",
    "out_layers.0": "norm2",
    "out_layers.3": "conv2",
}
_ATTENTION = {"norm": "group_norm", "qkv": "", "proj_out": "to_out.0"}
Places = list[tuple[str, str]]


def places(model: Architecture) -> Places:
    """Every layer of the network: its name in guided-diffusion, and its name in diffusers.

    A joint projection goes by the name of the attention block that its three parts are in.
    """
    named = [
        ("time_embed.0", "time_embedding.linear_1"),
        ("time_embed.2", "time_embedding.linear_2"),
        ("input_blocks.0.0", "conv_in"),
        ("out.0", "conv_norm_out"),
        ("out.2", "conv_out"),
    ]
    if model.classes:
        named.append(("label_emb", "class_embedding"))
    middle = _resnet("middle_block.0", "mid_block.resnets.0") + _attention("middle_block.1", "mid_block.attentions.0")
    return named + _down(model) + middle + _resnet("middle_block.2", "mid_block.resnets.1") + _up(model)


def _down(model: Architecture) -> Places:
    named: Places = []
    number, before = 1, model.widths[0]
    for level, (width, attends) in enumerate(zip(model.widths, model.attends, strict=True)):
        block = f"down_blocks.{level}"
        for layer in range(model.num_res_blocks):
            named += _resnet(f"input_blocks.{number}.0", f"{block}.resnets.{layer}", shortcut=before != width)
            named += _attention(f"input_blocks.{number}.1", f"{block}.attentions.{layer}") if attends else []
            number, before = number + 1, width
        if level < len(model.widths) - 1:
            named += _sampler(model, f"input_blocks.{number}.0", f"{block}.downsamplers.0", "op")
            number += 1
    return named


def _up(model: Architecture) -> Places:
    named: Places = []
    number = 0
    for level, attends in enumerate(reversed(model.attends)):
        block = f"up_blocks.{level}"
        for layer in range(model.num_res_blocks + 1):
            named += _resnet(f"output_blocks.{number}.0", f"{block}.resnets.{layer}", shortcut=True)
            named += _attention(f"output_blocks.{number}.1", f"{block}.attentions.{layer}") if attends else []
            number += 1
        if level < len(model.widths) - 1:
            named += _sampler(model, f"output_blocks.{number - 1}.{1 + attends}", f"{block}.upsamplers.0", "conv")
    return named


def _resnet(source: str, target: str, shortcut: bool = False) -> Places:
    named = [(f"{source}.{old}", f"{target}.{new}") for old, new in _RESNET.items()]
    return [*named, (f"{source}.skip_connection", f"{target}.conv_shortcut")] if shortcut else named


def _attention(source: str, target: str) -> Places:
    return [(f"{source}.{old}", f"{target}.{new}".removesuffix(".")) for old, new in _ATTENTION.items()]


def _sampler(model: Architecture, source: str, target: str, conv: str) -> Places:
    return _resnet(source, target) if model.resblock_updown else [(f"{source}.{conv}", f"{target}.conv")]


def shapes(model: Architecture, unet: Any) -> "dict[str, Tensor]":
    """The weights of guided-diffusion's own network of an architecture: their shapes, without content."""
    import torch

    there = unet.state_dict()
    wanted = {}
    for source, target in places(model):
        for kind in ("weight",) if source == "label_emb" else ("weight", "bias"):
            if source.endswith(".qkv"):
                part = there[f"{target}.to_q.{kind}"]
                shape = (3 * len(part), *part.shape[1:])
            else:
                shape = there[f"{target}.{kind}"].shape
            flat = kind == "weight" and source.rpartition(".")[2] in ("qkv", "proj_out")
            wanted[f"{source}.{kind}"] = torch.empty(*shape, *((1,) if flat else ()), device="meta")
    return wanted
