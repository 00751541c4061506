"""Tokens that a text-to-image model learns for what a classifier sees (TIME, Jeanneret et al. 2024, Section 3).

Textual inversion (Gal et al. 2023) in two phases: first tokens for all images, the context; then, after the context,
tokens for the images that the classifier puts into each class. All weights stay but the embeddings of the new tokens,
so that what sets two classes apart in the classifier's view is in them; of the classifier only outputs are needed.

A file of tokens is safetensors: `context` and one matrix (tokens, width) for each class, whose names and the text
between context and class stand in its metadata.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError, PluginError
from cfeval.core.files import write_bytes
from cfeval.core.sampling import derive_seed

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = "context"
# What an image is called in the first phase, drawn anew for each.
NOUNS = ("portrait", "depiction", "image", "photo", "photograph", "snapshot")


@dataclass(frozen=True)
class LearnedTokens:
    """Embeddings (tokens, width) of the context and of each class, and the text between them."""

    context: "Tensor"
    classes: "Mapping[str, Tensor]"
    joint: str = "with a"

    def embeddings(self) -> "dict[str, Tensor]":
        """The new tokens and their embeddings, (width,)."""
        named = [(CONTEXT, self.context), *((f"class-{n}", rows) for n, rows in enumerate(self.classes.values()))]
        return {token: row for name, rows in named for token, row in zip(_spelled(name, len(rows)), rows, strict=True)}

    def prompt(self, name: str) -> str:
        """The prompt of a class; one that no tokens were learned for goes by its name."""
        names = list(self.classes)
        text = " ".join(_spelled(f"class-{names.index(name)}", len(self.classes[name]))) if name in names else name
        return f"A {' '.join(_spelled(CONTEXT, len(self.context)))} photo {self.joint} {text}"


@dataclass(frozen=True)
class Training:
    """How tokens are learned; the defaults are those of TIME's code."""

    steps: int = 3000
    batch: int = 64
    rate: float = 1e-4
    decay: float = 1e-4
    seed: int = 0


def _spelled(name: str, count: int) -> list[str]:
    return [f"<{name}-{number}>" for number in range(1, count + 1)]


def write_tokens(path: Path, learned: LearnedTokens) -> None:
    """Write a file of learned tokens."""
    from safetensors.torch import save

    tensors = {CONTEXT: learned.context, **{f"class-{n}": rows for n, rows in enumerate(learned.classes.values())}}
    about = {"classes": json.dumps(list(learned.classes)), "joint": learned.joint}
    write_bytes(path, save({name: rows.contiguous() for name, rows in tensors.items()}, metadata=about))


def read_tokens(path: Path) -> LearnedTokens:
    """Read a file of learned tokens.

    Raises:
        InputError: it is none.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            names = json.loads(about["classes"])
            rows = {name: file.get_tensor(f"class-{number}") for number, name in enumerate(names)}
            return LearnedTokens(file.get_tensor(CONTEXT), rows, about["joint"])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{path}: not a file of learned tokens ({error}); `cfeval vce tokens` writes one") from None


def add_tokens(tokenizer: Any, encoder: Any, tokens: "Mapping[str, Tensor]") -> list[int]:
    """Give a tokenizer new tokens and its text encoder their embeddings; returns the tokens' numbers.

    Raises:
        PluginError: a token is there already, or the embeddings are of another width.
    """
    import torch

    width = encoder.get_input_embeddings().weight.shape[1]
    if wrong := next((len(row) for row in tokens.values() if len(row) != width), 0):
        raise PluginError(f"the tokens were learned for a text encoder of width {wrong}, and this one has {width}")
    if tokenizer.add_tokens(list(tokens)) != len(tokens):
        raise PluginError(f"the tokenizer knows a token of {', '.join(tokens)} already")
    encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    numbers = tokenizer.convert_tokens_to_ids(list(tokens))
    weight = encoder.get_input_embeddings().weight
    with torch.no_grad():
        weight[numbers] = torch.stack(list(tokens.values())).to(weight)
    return [int(number) for number in numbers]


def learn_tokens(
    denoiser: Any,
    images: Sequence["Tensor"],
    seen: Sequence[str],
    context: Sequence[str],
    count: int,
    joint: str = "with a",
    training: Training = Training(),
    progress: Callable[[str], None] | None = None,
) -> LearnedTokens:
    """Learn tokens for what a classifier sees in images.

    Args:
        denoiser: one of latents that is told a prompt (plugin diffusers), with its tokenizer and text encoder.
        images: (3, H, W) in [−1, 1], of the denoiser's size.
        seen: the class that the classifier puts each image into.
        context: words that the tokens of the context start from.
        count: how many tokens for each class; they start from the class's name.
        joint: text between the context and the tokens of a class.
        training: how.
        progress: called with the name of a phase before it.

    Raises:
        PluginError: the denoiser is told no prompt, or was trained to predict x_0.
    """
    tokenizer, encoder = _text_parts(denoiser)
    start = [_embedding(tokenizer, encoder, word) for word in context]
    tokens = _spelled(CONTEXT, len(context))
    numbers = add_tokens(tokenizer, encoder, dict(zip(tokens, start, strict=True)))
    place = " ".join(tokens)
    learned: dict[str, Tensor] = {}
    if progress:
        progress("the context")
    _train(denoiser, images, numbers, [f"A {place} {noun}" for noun in NOUNS], training, CONTEXT)
    for number, name in enumerate(sorted(set(seen))):
        if progress:
            progress(f"'{name}'")
        own = [image for image, label in zip(images, seen, strict=True) if label == name]
        tokens = _spelled(f"class-{number}", count)
        ids = add_tokens(tokenizer, encoder, dict.fromkeys(tokens, _embedding(tokenizer, encoder, name)))
        _train(denoiser, own, ids, [f"A {place} photo {joint} {' '.join(tokens)}"], training, name)
        learned[name] = _rows(encoder, ids)
    return LearnedTokens(_rows(encoder, numbers), learned, joint)


def _text_parts(denoiser: Any) -> tuple[Any, Any]:
    from cfeval.vce.models.unet_denoiser import PromptedDenoiser

    if not isinstance(denoiser, PromptedDenoiser):
        raise PluginError("tokens are learned by a denoiser of latents that is told a prompt, such as Stable Diffusion")
    if denoiser.target == "sample":
        raise PluginError("tokens are learned by a denoiser that predicts noise or velocity, and this one predicts x_0")
    return denoiser.unet.tokenizer, denoiser.unet.encoder


def _embedding(tokenizer: Any, encoder: Any, word: str) -> "Tensor":
    """The mean embedding of a word's tokens, (width,)."""
    ids = tokenizer(word, add_special_tokens=False).input_ids
    if not ids:
        raise InputError(f"'{word}' is no word to this model's tokenizer; start from another")
    mean: Tensor = encoder.get_input_embeddings().weight[ids].detach().mean(0)
    return mean


def _rows(encoder: Any, numbers: list[int]) -> "Tensor":
    rows: Tensor = encoder.get_input_embeddings().weight[numbers].detach().float().cpu().clone()
    return rows


def _train(
    denoiser: Any,
    images: Sequence["Tensor"],
    numbers: list[int],
    texts: Sequence[str],
    training: Training,
    phase: str,
) -> None:
    """Move the embeddings of some tokens towards what the images have in common.

    Each step is one of AdamW on the sum of squared errors of a batch, over its size; the decay goes into the gradient,
    as in TIME's code. Images go through the networks one by one.
    """
    import torch

    encoder = denoiser.unet.encoder
    weight = encoder.get_input_embeddings().weight
    weight.requires_grad_(True)
    kept = torch.zeros_like(weight)
    kept[numbers] = 1
    optimizer = torch.optim.AdamW([weight], lr=training.rate, betas=(0.9, 0.999), eps=1e-9, weight_decay=0)
    order = random.Random(derive_seed(training.seed, "tokens", phase))
    waiting: list[int] = []
    for step in range(training.steps):
        if len(waiting) < training.batch:
            waiting += order.sample(range(len(images)), len(images))
        chosen, waiting = waiting[: training.batch], waiting[training.batch :]
        generator = torch.Generator().manual_seed(derive_seed(training.seed, "tokens", phase, step))
        for number in chosen:
            loss = squared_error(denoiser, images[number], order.choice(texts), generator) / len(chosen)
            weight.grad = (weight.grad if weight.grad is not None else 0) + torch.autograd.grad(loss, weight)[0]
        with torch.no_grad():
            weight.grad = (weight.grad + training.decay * weight) * kept
        optimizer.step()
        optimizer.zero_grad()
    weight.requires_grad_(False)


def squared_error(denoiser: Any, image: "Tensor", text: str, generator: Any) -> "Tensor":
    """The sum of squared errors of what the network predicts of a noised image under a text.

    A latent, its noise and its timestep are drawn from the generator, in this order.
    """
    import torch

    unet, levels = denoiser.unet.unet, denoiser.alphas_cumprod
    with torch.no_grad():
        latent = denoiser.encode_drawn(image.unsqueeze(0).to(denoiser.device), generator)
    noise = torch.randn(latent.shape, generator=generator).to(latent)
    timestep = int(torch.randint(len(levels), (1,), generator=generator))
    share = levels[timestep]
    signal, spread = float(share.sqrt()), float((1 - share).sqrt())
    noisy = (signal * latent + spread * noise).to(unet.dtype)
    states = denoiser.unet.read(text).to(unet.dtype)
    (predicted,) = unet(noisy, timestep, encoder_hidden_states=states, return_dict=False)
    wanted = noise if denoiser.target == "epsilon" else signal * noise - spread * latent
    error: Tensor = (predicted.float() - wanted).square().sum()
    return error
