"""The built-in target for easy-VQA images: the small vision-language model, trained on easy-VQA's train split.

A test world, like `world`.
"""

from pydantic import Field

from cfeval.core.registry import Demand
from cfeval.inference.chat import ChatModel
from cfeval_testbed import demands
from cfeval_testbed.plugins.chat_world import SmallChat
from cfeval_testbed.weights import WorldPlugin, models_dir


class Plugin(WorldPlugin):
    """How it speaks."""

    temperature: float = Field(0.5, ge=0, le=2)
    """Of sampling; 0 is greedy."""

    def dependencies(self) -> tuple[str, ...]:
        """The weights."""
        return (str(models_dir() / "easy-vqa.safetensors"),)

    def demand(self) -> Demand:
        """Images of the size that the network was trained on."""
        return demands.SMALL

    def build(self) -> ChatModel:
        """The target."""
        from cfeval_testbed.agents.small_vlm import SmallTalker

        talker = SmallTalker("easy-vqa", "grounded")
        return SmallChat("cfeval-easy-vqa", lambda _: talker, self.temperature)
