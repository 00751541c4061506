"""The section `cvqa`: which questions are asked, who answers them, and which new questions are built."""

from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from cfeval.core.config import Name, Section, Spec, with_conditions
from cfeval.core.errors import nearest
from cfeval.core.registry import Used
from cfeval.cvqa.records import CvqaCondition
from cfeval.stats.intervals import Interval

# Which plugin family each section of the study's plugins draws on.
FAMILIES = {
    "sets": "question_sets",
    "solvers": "solvers",
    "reply_readers": "reply_readers",
    "sources": "datasets",
    "question_generators": "question_generators",
    "question_validators": "question_validators",
}


class Set(Spec):
    """A set of question pairs."""

    items: int | None = Field(None, ge=1, description="Pairs taken from it; empty: all.")
    fresh_of: str = Field(
        "", description="The set that it is a fresh draw of, as of published puzzles; table `contamination`."
    )
    part_of: str = Field(
        "", description="The set that it is a drawn part of; its figures stand in Table 5 and beside no whole set's."
    )


class Solver(Spec):
    """Someone who answers."""

    paper: str = Field("", description="The model of the paper whose figures stand beside (data/reference/cvqa.csv).")
    llm: str = Field("", description="What tables call the language model that writes programs; empty: its own name.")


class Build(Section):
    """A set that is built: originals, who rewrites them, who checks the result."""

    source: Name = Field(description="Where the originals come from: a name from `sources`.")
    items: int = Field(
        ge=1, description="Originals that are looked at; those whose answer is no number, yes or no, go."
    )
    question_generator: Name = Field(description="A name from `question_generators`.")
    question_validator: Name = Field(description="A name from `question_validators`.")
    decisions: str = Field("", description="CSV with people's decisions (`cfeval cvqa decisions`); empty: none.")
    people: bool = Field(False, description="Whether a person must have accepted a question before it enters the set.")


class CvqaBlock(Section):
    """Conditions: every combination of the names."""

    set: tuple[Name, ...] = Field(min_length=1, description="Names from `sets` or `builds`.")
    solver: tuple[Name, ...] = Field(min_length=1, description="Names from `solvers`.")
    orders: Literal[1, 2, 3, 4] = Field(
        1, description="In how many orders of its options a question is asked; 4: each value once at each letter."
    )

    def conditions(self) -> list[CvqaCondition]:
        """The conditions of this block, in the order of the lists."""
        return [CvqaCondition(set=set_, solver=by) for set_, by in product(self.set, self.solver)]


class Cvqa(Section):
    """The cvqa study."""

    seed: int = Field(20231110, ge=0, description="Seed of every draw of the study.")
    sets: dict[Name, Set] = Field(min_length=1, description="Pairs of questions.")
    solvers: dict[Name, Solver] = Field(min_length=1, description="Who answers them.")
    reply_readers: dict[Name, Spec] = Field(
        default_factory=dict,
        description="Language models that read what the rules leave unread, and judge open answers; tables "
        "`reply_readers` and `open_answers`, no score changes.",
    )
    reread: float = Field(
        0.1, ge=0, le=1, description="Share of the replies that the rules read which reply readers read too."
    )
    sources: dict[Name, Spec] = Field(default_factory=dict, description="Where originals of built questions come from.")
    question_generators: dict[Name, Spec] = Field(
        default_factory=dict, description="Question → counterfactual question."
    )
    question_validators: dict[Name, Spec] = Field(default_factory=dict, description="Who checks what was built.")
    builds: dict[Name, Build] = Field(
        default_factory=dict, description="Sets that are built, where a condition names them."
    )
    conditions: tuple[CvqaBlock, ...] = Field(
        (), min_length=1, description="Who answers which set; left out: every solver every set."
    )
    genders: str = Field(
        "", description="CSV with the perceived gender of people in COCO images; empty: none (Fig. 5)."
    )
    interval: Interval = Interval()

    @model_validator(mode="before")
    @classmethod
    def _all_combinations(cls, content: Any) -> Any:
        return with_conditions(content, {"set": "sets", "solver": "solvers"})

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Cvqa":
        for name in self.builds:
            if name in self.sets:
                raise ValueError(f"builds and sets both define '{name}'; give one of them another name")
        for condition in self.all_conditions():
            _find(condition.set, (*self.sets, *self.builds), "conditions", "sets or cvqa.builds")
            _find(condition.solver, self.solvers, "conditions", "solvers")
        for name, spec in self.sets.items():
            for field in ("fresh_of", "part_of"):
                if other := getattr(spec, field):
                    _find(other, self.sets, f"sets.{name}.{field}", "sets")
        for name, build in self.builds.items():
            for field in ("source", "question_generator", "question_validator"):
                _find(getattr(build, field), getattr(self, f"{field}s"), f"builds.{name}", f"{field}s")
            if build.people and not build.decisions:
                raise ValueError(f"builds.{name}: people are to decide; name the file of their `decisions`")
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if spec.repeat != 1:
                    raise ValueError(f"{section}.{name}: nothing is repeated here; take `repeat` out")
        return self

    def all_conditions(self) -> list[CvqaCondition]:
        """Every condition, each once, in the order of the blocks."""
        return list(dict.fromkeys(condition for block in self.conditions for condition in block.conditions()))

    def orders_of(self, condition: CvqaCondition) -> int:
        """In how many orders of the options a condition asks its questions."""
        return max(block.orders for block in self.conditions if condition in block.conditions())

    def sets_asked(self) -> list[str]:
        """Sets and builds that some condition asks; no other is made."""
        return list(dict.fromkeys(condition.set for condition in self.all_conditions()))

    def builds_asked(self) -> dict[str, Build]:
        """The builds among them."""
        return {name: self.builds[name] for name in self.sets_asked() if name in self.builds}


def _find(name: str, defined: Any, who: str, where: str) -> None:
    if name not in defined:
        raise ValueError(f"{who} name '{name}', which cvqa.{where} does not define; {nearest(name, defined)}")


def used_by_cvqa(study: Cvqa) -> list[Used]:
    """The plugins that cvqa uses, in the order of params.yaml."""
    wanted = {
        pair
        for condition in study.all_conditions()
        for pair in (("sets", condition.set), ("solvers", condition.solver))
    }
    wanted |= {("reply_readers", name) for name in study.reply_readers}
    for build in study.builds_asked().values():
        wanted |= {
            ("sources", build.source),
            ("question_generators", build.question_generator),
            ("question_validators", build.question_validator),
        }
    return [
        Used("cvqa", section, name, family, spec.plugin_options())
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]
