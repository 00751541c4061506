"""The section `cvqa`: which questions are asked, who answers them, and which new questions are built."""

from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from cfeval.core.config import Name, Section, Spec
from cfeval.core.errors import nearest
from cfeval.core.registry import Used
from cfeval.cvqa.records import CvqaArm
from cfeval.stats.intervals import Interval

FAMILIES = {
    "sets": "question_sets",
    "answerers": "answerers",
    "sources": "datasets",
    "builders": "builders",
    "checkers": "checkers",
}
"""Which plug-in family each section of the study's backends draws on."""


class Set(Spec):
    """A set of question pairs."""

    items: int | None = Field(None, ge=1, description="Pairs taken from it; empty: all.")


class Answerer(Spec):
    """Someone who answers."""

    paper: str = Field("", description="The model of the paper whose figures stand beside (data/reference/cvqa.csv).")
    llm: str = Field("", description="What tables call the language model that writes programs; empty: its own name.")


class Build(Section):
    """A set that is built: originals, who rewrites them, who checks the result."""

    source: Name = Field(description="Where the originals come from: a name from `sources`.")
    items: int = Field(
        ge=1, description="Originals that are looked at; those whose answer is no number, yes or no, go."
    )
    builder: Name = Field(description="A name from `builders`.")
    checker: Name = Field(description="A name from `checkers`.")
    decisions: str = Field("", description="CSV with people's decisions (`cfeval cvqa decisions`); empty: none.")
    people: bool = Field(False, description="Whether a person must have accepted a question before it enters the set.")


class CvqaBlock(Section):
    """Arms: every combination of the names."""

    set: tuple[Name, ...] = Field(min_length=1, description="Names from `sets` or `builds`.")
    answerer: tuple[Name, ...] = Field(min_length=1, description="Names from `answerers`.")
    orders: Literal[1, 2, 3, 4] = Field(
        1, description="In how many orders of its options a question is asked; 4: each value once at each letter."
    )

    def arms(self) -> list[CvqaArm]:
        """The arms of this block, in the order of the lists."""
        return [CvqaArm(set=of, answerer=by) for of, by in product(self.set, self.answerer)]


class Cvqa(Section):
    """The cvqa study."""

    seed: int = Field(ge=0, description="Seed of every draw of the study.")
    sets: dict[Name, Set] = Field(min_length=1, description="Pairs of questions.")
    answerers: dict[Name, Answerer] = Field(min_length=1, description="Who answers them.")
    sources: dict[Name, Spec] = Field(default_factory=dict, description="Where originals of built questions come from.")
    builders: dict[Name, Spec] = Field(default_factory=dict, description="Question → counterfactual question.")
    checkers: dict[Name, Spec] = Field(default_factory=dict, description="Who checks what was built.")
    builds: dict[Name, Build] = Field(default_factory=dict, description="Sets that are built, where an arm names them.")
    arms: tuple[CvqaBlock, ...] = Field(min_length=1, description="Who answers which set.")
    genders: str = Field(
        "", description="CSV with the perceived gender of people in COCO images; empty: none (Fig. 5)."
    )
    interval: Interval = Interval()

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Cvqa":
        for name in self.builds:
            if name in self.sets:
                raise ValueError(f"builds and sets both define '{name}'; give one of them another name")
        for arm in self.all_arms():
            _find(arm.set, (*self.sets, *self.builds), "arms", "sets or cvqa.builds")
            _find(arm.answerer, self.answerers, "arms", "answerers")
        for name, build in self.builds.items():
            for field in ("source", "builder", "checker"):
                _find(getattr(build, field), getattr(self, f"{field}s"), f"builds.{name}", f"{field}s")
            if build.people and not build.decisions:
                raise ValueError(f"builds.{name}: people are to decide; name the file of their `decisions`")
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if spec.repeat != 1:
                    raise ValueError(f"{section}.{name}: nothing is repeated here; take `repeat` out")
        return self

    def all_arms(self) -> list[CvqaArm]:
        """Every arm, each once, in the order of the blocks."""
        return list(dict.fromkeys(arm for block in self.arms for arm in block.arms()))

    def orders_of(self, arm: CvqaArm) -> int:
        """In how many orders of the options an arm asks its questions."""
        return max(block.orders for block in self.arms if arm in block.arms())

    def sets_asked(self) -> list[str]:
        """Sets and builds that some arm asks; no other is made."""
        return list(dict.fromkeys(arm.set for arm in self.all_arms()))

    def builds_asked(self) -> dict[str, Build]:
        """The builds among them."""
        return {name: self.builds[name] for name in self.sets_asked() if name in self.builds}


def _find(name: str, defined: Any, who: str, where: str) -> None:
    if name not in defined:
        raise ValueError(f"{who} name '{name}', which cvqa.{where} does not define; {nearest(name, defined)}")


def used_by_cvqa(study: Cvqa) -> list[Used]:
    """The backends that cvqa uses, in the order of params.yaml."""
    wanted = {pair for arm in study.all_arms() for pair in (("sets", arm.set), ("answerers", arm.answerer))}
    for build in study.builds_asked().values():
        wanted |= {("sources", build.source), ("builders", build.builder), ("checkers", build.checker)}
    return [
        Used("cvqa", section, name, family, spec.plugin())
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]
