"""A way of making counterfactuals: a named preset of the sampler's parts, and what differs from it."""

from typing import Literal

from pydantic import Field

from cfeval.params.sections import Section

Preset = Literal["unguided", "classifier-guidance", "dvce", "dbvce", "dime", "fastdime", "maskdime"]


class Method(Section):
    """A preset, and the parts in which it is to differ."""

    preset: Preset = Field(description="Named composition of the parts (docs/vce.md).")
