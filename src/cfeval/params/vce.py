"""The section `vce`: whose counterfactuals are made, how, of which images, and what is measured of them."""

from itertools import product
from typing import Any

from pydantic import Field, model_validator

from cfeval.errors import nearest
from cfeval.params.sections import Name, Section, Spec
from cfeval.params.vce_figures import check_figures
from cfeval.params.vce_method import Compute, Method
from cfeval.params.vce_roles import Roles
from cfeval.records.vce import ClassName, Group, Pair, VceArm

FAMILIES = {
    "image_sets": "image_sets",
    "denoisers": "denoisers",
    "classifiers": "classifiers",
    "perceptual": "perceptual",
    "features": "features",
    "embeddings": "features",
}
"""Which plug-in family each section of the study's backends draws on."""


class Targets(Section):
    """A source class with its targets."""

    source: ClassName = Field(description="Class of the original images.")
    ideal: ClassName = Field(description="The target that suits it.")
    others: tuple[ClassName, ...] = Field((), description="Further targets (Table 6).")

    def groups(self) -> list[Group]:
        """The ideal group, then the others."""
        other = [Group(source=self.source, target=target, pair="other") for target in self.others]
        return [Group(source=self.source, target=self.ideal, pair="ideal"), *other]

    @model_validator(mode="after")
    def _targets_differ(self) -> "Targets":
        targets = (self.ideal, *self.others)
        if self.source in targets:
            raise ValueError(f"'{self.source}' is its own target; name another class")
        if len(set(targets)) < len(targets):
            raise ValueError(f"a target of '{self.source}' is named twice; take one out")
        return self


class VceBlock(Section):
    """Arms: every combination of the names."""

    image_set: tuple[Name, ...] = Field(min_length=1, description="Names from `image_sets`.")
    denoiser: tuple[Name, ...] = Field(min_length=1, description="Names from `denoisers`.")
    classifier: tuple[Name, ...] = Field(min_length=1, description="Names from `classifiers`.")
    method: tuple[Name, ...] = Field(min_length=1, description="Names from `methods`.")
    pairs: tuple[Pair, ...] = Field(("ideal",), min_length=1, description="Which pairs of source and target.")
    repeats: int = Field(1, ge=1, description="Counterfactuals of each image and target, with noise of their own.")

    def arms(self) -> list[VceArm]:
        """The arms of this block, in the order of the lists."""
        lists = (self.image_set, self.denoiser, self.classifier, self.method)
        return [VceArm(**dict(zip(VceArm.model_fields, names, strict=True))) for names in product(*lists)]


class Vce(Section):
    """The vce study."""

    images: int = Field(ge=1, description="Images of each source class.")
    size: int = Field(ge=8, description="Height and width of the images, pixels; what the denoiser was trained at.")
    seed: int = Field(ge=0, description="Seed of every draw of the study.")
    same_noise: bool = Field(True, description="Whether the images of every group are given the same noise.")
    compute: Compute = Compute()
    image_sets: dict[Name, Spec] = Field(min_length=1, description="Labelled images.")
    denoisers: dict[Name, Spec] = Field(min_length=1, description="Diffusion models.")
    classifiers: dict[Name, Spec] = Field(min_length=1, description="Classifiers to be explained.")
    robust: Name | None = Field(None, description="The classifier whose gradients the cone projects.")
    oracles: tuple[Name, ...] = Field((), description="Classifiers that are asked about every counterfactual.")
    methods: dict[Name, Method] = Field(min_length=1, description="Ways of making counterfactuals.")
    groups: tuple[Targets, ...] = Field(min_length=1, description="Source classes and their targets.")
    perceptual: dict[Name, Spec] = Field(default_factory=dict, description="Perceptual distances.")
    dime_perceptual: Name | None = Field(None, description="The distance of DiME's perceptual term.")
    features: dict[Name, Spec] = Field(default_factory=dict, description="Features of the Fréchet distances.")
    target_images: int = Field(
        0, ge=0, description="Images of each target class that Fréchet distances are also measured to; 0: none."
    )
    embeddings: dict[Name, Spec] = Field(default_factory=dict, description="Features whose similarity is measured.")
    cout_steps: int = Field(50, ge=0, description="Steps of COUT from image to counterfactual; 0 leaves it out.")
    arms: tuple[VceBlock, ...] = Field(min_length=1, description="Which combinations are run.")
    roles: Roles = Roles()

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Vce":
        for arm in self.all_arms():
            method = self.methods.get(arm.method)
            if method and method.projection == "cone" and not self.robust:
                raise ValueError(
                    f"the method '{arm.method}' projects onto a cone; set vce.robust to the name of "
                    "a robust classifier, or give the method `projection: none`"
                )
            if method and method.perceptual_weight and not self.dime_perceptual:
                raise ValueError(
                    f"the method '{arm.method}' has a perceptual term; name its distance in `dime_perceptual`, "
                    "or set perceptual_weight: 0"
                )
            for field in VceArm.model_fields:
                self._find(f"{field}s", getattr(arm, field), "arms name")
        for name in (*self.oracles, *([self.robust] if self.robust else [])):
            self._find("classifiers", name, "oracles and robust name")
        if self.dime_perceptual:
            self._find("perceptual", self.dime_perceptual, "dime_perceptual names")
        check_figures(*({name: spec.plugin() for name, spec in named.items()} for named in self._figures()))
        self._check_roles()
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if spec.repeat != 1:
                    raise ValueError(f"{section}.{name}: nothing is repeated here; take `repeat` out, set arms.repeats")
        sources = [one.source for one in self.groups]
        for source in sources:
            if sources.count(source) > 1:
                raise ValueError(f"groups name the source '{source}' twice; join the two")
        return self

    def _figures(self) -> tuple[dict[str, Spec], ...]:
        return self.perceptual, self.features, self.embeddings

    def _check_roles(self) -> None:
        roles = self.roles
        for method in filter(None, (roles.base, roles.no_cone, roles.no_x0, roles.neither, roles.unguided)):
            self._find("methods", method, "roles name the method")
        for name in (*roles.robust, *roles.noise_trained, *roles.random, *roles.not_oracles, *roles.paper):
            self._find("classifiers", name, "roles name the classifier")

    def _find(self, section: str, name: str, who: str) -> None:
        defined = getattr(self, section)
        if name not in defined:
            raise ValueError(f"{who} '{name}', which vce.{section} does not define; {nearest(name, defined)}")

    def oracles_of(self, arm: VceArm) -> dict[str, dict[str, Any]]:
        """The oracles that an arm's counterfactuals are shown to: all but the explained classifier itself."""
        return {name: self.classifiers[name].plugin() for name in self.oracles if name != arm.classifier}

    def all_arms(self) -> list[VceArm]:
        """Every arm, each once, in the order of the blocks."""
        return list(dict.fromkeys(arm for block in self.arms for arm in block.arms()))

    def groups_of(self, arm: VceArm) -> list[Group]:
        """The groups that an arm's blocks ask for."""
        pairs = {pair for block in self.arms if arm in block.arms() for pair in block.pairs}
        return [group for one in self.groups for group in one.groups() if group.pair in pairs]

    def repeats_of(self, arm: VceArm) -> int:
        """How many counterfactuals an arm makes of each image and target."""
        return max(block.repeats for block in self.arms if arm in block.arms())
