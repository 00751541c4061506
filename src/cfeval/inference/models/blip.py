"""A local model of the BLIP family: one question about one image, without a template of conversations.

BLIP-2 and InstructBLIP (Table 7 of C-VQA, ViperGPT's `simple_query`) and BLIP-VQA (VisProg's `VQA`) load from a folder
or from the Hugging Face hub by their classes in `transformers`. What is asked is put as it stands: `family: blip` of
the solver `chat` words it as the models were trained on. Replies are searched by beams and nothing is drawn.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.chat import ChatModel
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault, weights_size
from cfeval.inference.local.libraries import LocalOptions

# By `model_type` of a checkpoint: the class of transformers that loads it.
KINDS = {
    "blip": "BlipForQuestionAnswering",
    "blip-2": "Blip2ForConditionalGeneration",
    "instructblip": "InstructBlipForConditionalGeneration",
}
_SMALLER = "set dtype: float16, or take a smaller model"


class Plugin(pretrained.LocalPlugin, LocalOptions):
    """Which model, and how its reply is searched; C-VQA runs LAVIS's models with the defaults."""

    samples: ClassVar[bool] = False
    """It replies alike to every seed."""

    dtype: devices.Dtype = "auto"
    """Type of the weights and of the arithmetic; auto is the type in which they are stored."""
    batch: int = Field(8, ge=1, le=1024)
    """Questions answered at once."""
    beams: int = Field(5, ge=1, le=64)
    """Replies that are followed at a time; 1 takes the likeliest token."""
    max_tokens: int = Field(250, ge=1)
    """Longest reply, in tokens (ViperGPT: 10); a longer one is cut and has the status `truncated`."""
    length_penalty: float = Field(1.0, ge=-5, le=5)
    """Over 0 favours long replies, under 0 short ones (ViperGPT: -1)."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether packages, device, checkpoint and memory will do; loads no weights."""

        def room() -> pretrained.Room:
            device = devices.chosen(self.device)
            return pretrained.Room(device, device, devices.memory(device), _SMALLER)

        def size(folder: Path) -> int:
            return weights_size(folder, self.dtype)

        yield from pretrained.findings(checkpoint_of(self), (), room, size)

    def build(self) -> ChatModel:
        """Load the model."""
        from cfeval.inference.local.blip_model import load

        return load(self, checkpoint_of(self), KINDS)


def checkpoint_of(options: LocalOptions) -> Checkpoint:
    """The checkpoint that options name."""
    return Checkpoint(options.model, options.revision, "config.json", _fault)


def _fault(folder: Path) -> str:
    """What a folder lacks of a whole checkpoint of this family: one line, or empty."""
    if fault := weights_fault(folder):
        return fault
    kind = read_json(folder / "config.json").get("model_type", "")
    if kind not in KINDS:
        return f"model_type {kind!r} is none of {', '.join(KINDS)}; the plugin 'transformers' loads chat models"
    if not any((folder / name).is_file() for name in ("processor_config.json", "preprocessor_config.json")):
        return "the image processor is missing (preprocessor_config.json)"
    return ""
