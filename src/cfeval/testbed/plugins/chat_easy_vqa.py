"""The built-in target for easy-VQA pictures: the small vision-language model, trained on easy-VQA's train split.

A test world, like `world`.
"""

from collections.abc import Iterator

from pydantic import Field

from cfeval.core.registry import Diagnostic, PluginOptions
from cfeval.inference.chat import ChatModel
from cfeval.testbed.plugins.chat_world import SmallChat
from cfeval.testbed.weights import examine_weights, models_dir


class Options(PluginOptions):
    """How it speaks."""

    temperature: float = Field(0.5, ge=0, le=2)
    """Of sampling; 0 is greedy."""


def files(options: Options) -> tuple[str, ...]:
    """The weights."""
    del options
    return (str(models_dir() / "easy-vqa.safetensors"),)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Weights that are not there."""
    yield from examine_weights(files(options))


def build(options: Options) -> ChatModel:
    """The target."""
    from cfeval.testbed.agents.small_vlm import SmallTalker

    talker = SmallTalker("easy-vqa", "grounded")
    return SmallChat("cfeval-easy-vqa", lambda _: talker, options.temperature)
