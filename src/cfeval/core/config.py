"""What the sections of every study share: names, plugins with their options, limits, calls."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A section that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spec(BaseModel):
    """A plugin's name and its options, which the plugin itself checks."""

    model_config = ConfigDict(frozen=True, extra="allow")

    plugin: Name = Field(description="Name of the plugin, as its package offers it.")
    repeat: int = Field(1, ge=1, description="Which of several repetitions it is; each draws its own randomness.")

    gpu_model: str = Field(
        "",
        pattern=r"^[A-Za-z0-9_.]*$",
        description="Which GPU its jobs ask a cluster for, where they need one; nothing that is made depends on it.",
    )

    def plugin_options(self) -> dict[str, Any]:
        """What the plugin is built from: its name and its options, without the keys that are the study's own."""
        return self.model_dump(exclude=set(type(self).model_fields) - {"plugin"})


def with_conditions(content: Any, sections: Mapping[str, str]) -> Any:
    """A study's section, with one block of `conditions` where it has none: all that it defines, combined.

    Args:
        content: the section, unchecked.
        sections: by the field of a condition, the section that defines its names.
    """
    if not isinstance(content, Mapping) or content.get("conditions") is not None:
        return content
    named = {field: content.get(section) for field, section in sections.items()}
    if not all(isinstance(names, Mapping) and names for names in named.values()):
        return content
    return {
        **content,
        "conditions": [{field: [str(name) for name in names] for field, names in named.items() if names}],
    }


class Limits(Section):
    """How much of a resource all jobs together may hold on this machine."""

    gpu: Annotated[int, Field(ge=0)] | Literal["all"] = Field(
        "all", description="GPUs; all: those that this machine shows."
    )
    api_slots: int = Field(4, ge=1, description="Jobs that call a provider at the same time.")


class Calls(Section):
    """How calls to models outside travel; nothing that is made depends on it."""

    cache: str = Field(".cfeval/calls.sqlite", min_length=1, description="File of the response cache.")
    offline: bool = Field(False, description="Answer from the cache alone; a call that it does not hold ends the run.")
    max_connections: int = Field(
        16, ge=1, le=512, description="Calls of a job at once, at most; slower when throttled."
    )
    max_retries: int = Field(5, ge=0, le=99, description="Attempts at one call after the first, at most.")
    timeout: float = Field(180, gt=0, description="Seconds for one attempt.")
    deadline: float = Field(900, gt=0, description="Seconds for one call, all attempts and waiting included.")
    grace: float = Field(
        30,
        ge=0,
        description="Seconds that calls in flight, which are paid for, have to end after Ctrl-C, SIGTERM or SIGHUP.",
    )
    batches: bool = Field(
        True, description="Models with `batch: true` are asked by batches; false: at once, at the full price."
    )
    max_calls: int | None = Field(None, ge=0, description="Calls that may be sent in the cache's life.")
    max_cost_usd: float | None = Field(None, ge=0, description="USD that may be spent in the cache's life.")
    prices: str = Field(
        "", description="Own price list (YAML), before the package's; empty: .cfeval/prices.yaml if it is there."
    )
