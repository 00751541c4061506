"""Denoisers: diffusion models of the diffusers library, and the best linear one, without training.

`diffusers` takes a folder or hub name of a DDPM, DDIM, LDM or DiT pipeline, on pixels or latents. Its UNet or
transformer finds the noise; its scheduler's configuration says how much noise each step has and what is predicted; an
autoencoder, where it has one, makes images of latents. A latent model that wants a text, as Stable Diffusion does, gets
the name of the class in a prompt, through its own text encoder.

`spectral` is a Wiener filter for a power-law spectrum. Natural images have about 1/f² power (Field 1987, "Relations
between the statistics of natural images"), most of it in brightness. For Gaussian images of that spectrum the filter is
the exact E[x_0 | x_t]. It knows no objects: what a guided run adds comes from the classifier alone, which makes it the
null model among denoisers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import InputError, PluginError
from cfeval.core.registry import Diagnostic
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.devices import memory_errors, out_of_memory
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault, weights_size
from cfeval.inference.local.libraries import first_line, quiet
from cfeval.vce.interfaces import Denoiser, Prediction
from cfeval.vce.models.class_names import named
from cfeval.vce.models.unet_denoiser import (
    AUTOENCODERS,
    SMALLER,
    LatentDenoiser,
    PromptedDenoiser,
    UNetDenoiser,
    dtype_on,
    of_scheduler,
    placed,
)

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.vce.models.learned_tokens import LearnedTokens

INDEX = "model_index.json"
KINDS = ("UNet2DModel", "UNet2DConditionModel", "DiTTransformer2DModel", "Transformer2DModel")
"""Those of diffusers that find noise; the last is what older checkpoints call a DiTTransformer2DModel."""
PARTS = ("tokenizer", "text_encoder")
"""The folders of a checkpoint that turn a text into what the network looks at."""
_CONFIGS = {"scheduler": "scheduler_config.json", "tokenizer": "tokenizer_config.json"}
"""What says what a folder without weights holds."""


class DiffusersPlugin(pretrained.LocalPlugin):
    """Diffusion models of the diffusers library, on pixels or latents: a folder or hub name of a DDPM, DDIM, LDM or
    DiT pipeline.
    """

    dtype: devices.Dtype = "auto"
    """Number format; auto: float16 on a GPU, float32 on a processor."""
    classes: str = plugin.file("")
    """Of a model that wants a text: file with the names of the classes, as of the classifier `state_dict` and in the
    order of the classifier's; empty: ImageNet's."""
    prompt: str = Field("a photo of a {}", pattern=r"^[^{}]*\{\}[^{}]*$")
    """Of a model that wants a text: what it is told; the name of the class stands in place of {}."""

    tokens: str = plugin.file("")
    """Of a model that wants a text: file of tokens that it learned for the classes (`cfeval vce tokens`), in whose own
    prompt they stand in place of `prompt`; empty: the classes go by their names."""

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder, the names of the classes and what was learned for them."""
        return (*map(str, self._checkpoint().files()), *filter(None, [self.classes, self.tokens]))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device and checkpoint are there and fit; no weights are read."""

        def room() -> pretrained.Room:
            device = devices.chosen(self.device)
            return pretrained.Room(device, device, devices.memory(device), SMALLER)

        def size(folder: Path) -> int:
            network, _, *autoencoder = _parts(_index(folder))
            autoencoder += [part for part in _texts(_index(folder)) if part == "text_encoder"]
            held = weights_size(folder / network, dtype_on(devices.chosen(self.device), self.dtype))
            return held + sum(weights_size(folder / part, "float32") for part in autoencoder)

        yield from pretrained.findings(self._checkpoint(), (), room, size)

    def build(self) -> Denoiser:
        """The denoiser, its weights loaded.

        Raises:
            PluginError: checkpoint, device or memory do not suffice, or it wants a text and has no text encoder.
            InputError: the names of the classes cannot be read.
        """
        device = devices.chosen(self.device)
        checkpoint = self._checkpoint()
        folder = checkpoint.whole()
        model = checkpoint.name(folder)
        _check(folder, model)
        with memory_errors(f"loading model '{model}'", SMALLER):
            network, scheduler, *autoencoder = (_loaded(folder, part, model) for part in _parts(_index(folder)))
            network = placed(network, device, self.dtype)
            names = self._prompts(folder)
            if names:
                from cfeval.vce.models.prompted_unet import prompted

                kind, learned = _index(folder)["text_encoder"][1], self._learned(names)
                prompts = [learned.prompt(name) if learned else self.prompt.replace("{}", name) for name in names]
                network = prompted(network, folder, model, kind, [*prompts, ""], learned)
        config = network.config
        classes = len(names) or config.get("num_class_embeds") or config.get("num_embeds_ada_norm") or 0
        levels, target = of_scheduler(scheduler, model), scheduler.config.prediction_type
        if not autoencoder:
            return UNetDenoiser(network, levels, config.sample_size, classes, target)
        kind_of_latents = PromptedDenoiser if names else LatentDenoiser
        denoiser = kind_of_latents(network, autoencoder[0], levels, classes, target)
        if names:
            denoiser.no_class = len(names)  # the empty prompt, which stands after those of the classes
        return denoiser

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.model, self.revision, INDEX, _fault, _all_parts)

    def _learned(self, names: tuple[str, ...]) -> "LearnedTokens | None":
        """What the model learned for the classes, if it did; InputError where it is of other classes."""
        if not self.tokens:
            return None
        from cfeval.vce.models.learned_tokens import read_tokens

        learned = read_tokens(Path(self.tokens))
        if other := next((name for name in learned.classes if name not in names), ""):
            raise InputError(f"{self.tokens}: tokens for class '{other}', which `classes` does not have")
        return learned

    def _prompts(self, folder: Path) -> tuple[str, ...]:
        """The names of the classes that prompts are made of; none where the model wants no text."""
        if _wants_text(read_json(folder / _parts(_index(folder))[0] / "config.json")):
            return named(self.classes, None)
        for option in ("classes", "tokens"):
            if getattr(self, option):
                raise PluginError(f"model '{self._checkpoint().name(folder)}' wants no text; leave `{option}` out")
        return ()


def _index(folder: Path) -> dict[str, Any]:
    return read_json(folder / INDEX)


def _parts(index: dict[str, Any]) -> tuple[str, ...]:
    """The folders that are read: network, scheduler and, of latents, autoencoder."""
    network = "unet" if index.get("unet") or not index.get("transformer") else "transformer"
    return (network, "scheduler", *[name for name in ("vae", "vqvae") if index.get(name)][:1])


def _texts(index: dict[str, Any]) -> tuple[str, ...]:
    """The folders that turn a text into numbers, where a latent model has them."""
    return PARTS if all(any(index.get(part) or ()) for part in PARTS) and len(_parts(index)) > 2 else ()


def _all_parts(index: dict[str, Any]) -> tuple[str, ...]:
    return (*_parts(index), *_texts(index))


def _wants_text(config: dict[str, Any]) -> bool:
    """Whether blocks of a network look at a text."""
    blocks = (*config.get("down_block_types", ()), *config.get("up_block_types", ()), config.get("mid_block_type"))
    return config.get("_class_name") == "UNet2DConditionModel" and any("Cross" in str(block) for block in blocks)


def _fault(folder: Path) -> str:
    """What a folder lacks: one line, or empty."""
    parts = _all_parts(_index(folder))
    files = {part: _CONFIGS.get(part, "config.json") for part in parts}
    absent = [f"{part}/{name}" for part, name in files.items() if not (folder / part / name).is_file()]
    if absent:
        return f"{absent[0]} is missing"
    faults = ((part, weights_fault(folder / part)) for part in parts if part not in _CONFIGS)
    return next((f"{part}: {fault}" for part, fault in faults if fault), "")


def _check(folder: Path, model: str) -> None:
    """Check that a checkpoint finds noise in RGB images, or in latents of them, alone.

    Raises:
        PluginError: it does not.
    """
    network, _, *autoencoder = _parts(_index(folder))
    config = read_json(folder / network / "config.json")
    codec = read_json(folder / autoencoder[0] / "config.json") if autoencoder else {}
    scheduler = read_json(folder / "scheduler/scheduler_config.json")
    text = "" if _texts(_index(folder)) or not _wants_text(config) else "it wants a text, and has no text encoder"
    fault = text or _unfit(config, codec) or _untold(scheduler)
    if fault:
        raise PluginError(
            f"model '{model}' cannot serve as a denoiser: {fault}; "
            "give a checkpoint of DDPM, DDIM, LDM, DiT or Stable Diffusion"
        )


def _unfit(config: dict[str, Any], codec: dict[str, Any]) -> str:
    """What a network has that a denoiser of RGB images or latents has not: one phrase, or empty."""
    kind = str(config.get("_class_name"))
    if kind not in KINDS:
        return f"its network is a {kind}, not one of {', '.join(KINDS)}"
    if codec and (named := codec.get("_class_name")) not in AUTOENCODERS:
        return f"its autoencoder is a {named}, not one of {', '.join(AUTOENCODERS)}"
    if config.get("addition_embed_type"):
        return f"it wants more than a text ({config['addition_embed_type']})"
    wanted = int(codec.get("latent_channels", 4)) if codec else 3
    channels = config.get("in_channels", wanted), config.get("out_channels") or wanted
    if channels not in ((wanted, wanted), (wanted, 2 * wanted)):
        right = f"{wanted} and {wanted} (or {2 * wanted}, with the variance)"
        return f"it takes {channels[0]} channels and gives {channels[1]}, not {right}"
    if config.get("class_embed_type") is not None:
        return f"its classes are embedded as '{config['class_embed_type']}'"
    return "" if isinstance(config.get("sample_size"), int) else "it names no image size (sample_size)"


def _untold(config: dict[str, Any]) -> str:
    """What a scheduler says that is not understood: one phrase, or empty."""
    target = config.get("prediction_type", "epsilon")
    if target not in ("epsilon", "v_prediction", "sample"):
        return f"it predicts '{target}', not epsilon, v_prediction or sample"
    variance = config.get("variance_type", "fixed_small")
    return "its variance is learned outright (variance_type: learned)" if variance == "learned" else ""


def _loaded(folder: Path, part: str, model: str) -> Any:
    """One part of the checkpoint: network, scheduler or autoencoder."""
    import diffusers

    scheduler = part == "scheduler"
    told = read_json(folder / part / ("scheduler_config.json" if scheduler else "config.json"))
    kind = getattr(diffusers, told.get("_class_name", "DDPMScheduler"))
    how = {} if scheduler else {"use_safetensors": True}
    try:
        with quiet("diffusers"):
            return kind.from_pretrained(folder / part, local_files_only=True, **how)
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, model)
        raise PluginError(f"model '{model}' cannot be loaded ({reason}); copy or download it again") from error


_STEPS = 1000
_OPPONENT = ((1, 1, 1), (1, -1, 0), (1, 1, -2))
"""Brightness, red against green, yellow against blue."""
_SHARES = (0.9, 0.06, 0.04)
"""Of the variance in each of them, about that of photographs."""


class SpectralPlugin(plugin.Plugin):
    """The best linear denoiser of natural images, without training: a Wiener filter for a power-law spectrum."""

    image_size: int = Field(224, ge=8)
    """Height and width."""
    exponent: float = Field(2.0, gt=0, le=4)
    """Power falls with the frequency to this power."""
    deviation: float = Field(0.5, gt=0, le=1)
    """Standard deviation of a pixel, on images in [−1, 1]."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same images on every processor."""

    def build(self) -> Denoiser:
        """The denoiser."""
        return Spectral(self)


class Spectral:
    """Weights each frequency by how much of it is signal, √ᾱ S / (ᾱ S + 1 − ᾱ), with S the power of clean images."""

    def __init__(self, options: SpectralPlugin) -> None:
        import torch

        betas = torch.linspace(1e-4, 0.02, _STEPS, dtype=torch.float64)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)
        self.image_size, self.classes = options.image_size, 0
        self.device, self.dtype = torch.device("cpu"), getattr(torch, options.dtype)
        axes = torch.tensor(_OPPONENT, dtype=self.dtype)
        self._axes = axes / axes.norm(dim=1, keepdim=True)
        self._power = self._spectrum(options).to(self.dtype)

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """ε from x̂_0 = E[x_0 | x_t]; the variance is not learned."""
        import torch

        assert labels is None, "it is conditional on no class"
        kept = self.alphas_cumprod[timesteps].to(self.dtype)[:, None, None, None]
        gain = kept.sqrt() * self._power / (kept * self._power + 1 - kept)
        waves = torch.fft.fft2(torch.einsum("ij,njhw->nihw", self._axes, noisy), norm="ortho")
        clean = torch.einsum("ij,nihw->njhw", self._axes, torch.fft.ifft2(waves * gain, norm="ortho").real)
        return Prediction((noisy - kept.sqrt() * clean) / (1 - kept).sqrt())

    def _spectrum(self, options: SpectralPlugin) -> "Tensor":
        """S by opponent color and frequency, (3, H, W); its mean is the variance of a pixel."""
        import torch

        size = options.image_size
        cycles = torch.fft.fftfreq(size, dtype=torch.float64)
        frequency = (cycles[:, None] ** 2 + cycles[None, :] ** 2).sqrt().clamp(min=1 / size)
        power = frequency**-options.exponent
        shares = 3 * torch.tensor(_SHARES, dtype=torch.float64)[:, None, None]
        spectrum: Tensor = shares * power / power.mean() * options.deviation**2
        return spectrum
