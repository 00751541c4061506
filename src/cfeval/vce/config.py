"""The section `vce`: whose counterfactuals are made, how, of which images, what is measured, what stands for what."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Literal

from pydantic import Field, model_validator

from cfeval.core.config import Name, Section, Share, Spec, with_conditions
from cfeval.core.errors import nearest
from cfeval.core.registry import Used
from cfeval.vce.method import Compute, Method
from cfeval.vce.records import ClassName, Group, Pair, VceCondition

FAMILIES = {
    "image_sets": "image_sets",
    "denoisers": "denoisers",
    "classifiers": "classifiers",
    "perceptual_metrics": "perceptual_metrics",
    "feature_extractors": "feature_extractors",
    "embeddings": "feature_extractors",
    "attribute_classifiers": "attribute_classifiers",
    "concept_editors": "concept_editors",
}
"""Which plugin family each section of the study's plugins draws on."""
_MEASURES = ("perceptual_metrics", "feature_extractors", "attribute_classifiers")
Specs = Mapping[str, Mapping[str, Any]]
"""Plugins by the names of their figures: each its `plugin` and options."""
KEPT = {"lpips": "lpips", "fid": "inception", "sfid": "inception", "s3": "simsiam", "fs": "vggface2"}
"""The first word of a name, and the only plugin whose figures may bear it."""
TAKEN = frozenset(
    (
        *(
            "ta",
            "oa",
            "fr",
            "misread",
            "cv",
            "os",
            "ota",
            "p_target",
            "p_source",
            "mean",
            "majority",
            "cout",
            "diversity",
        ),
        *("d1", "d1_5", "d2", "d1_batch", "d1_5_batch", "d2_batch"),
    )
)
"""Names that other figures have."""
BEGUN = frozenset(("fva", "mnac", "cd"))
"""First words of such names."""
PaperName = Literal["Madry", "AlexNet", "UnetE", "ConvNeXt", "SwinTFL", "SIMCLR", "RandomNet"]
"""The classifiers of DBVCE, Table 1."""


class Tests(Section):
    """How the hypotheses are tested (`vce_hypotheses`)."""

    level: float = Field(0.95, gt=0, lt=1, description="Nominal coverage; 1 − level is what p-values are held against.")
    resamples: int = Field(2000, ge=100, description="Bootstrap resamples.")
    seed: int = Field(0, ge=0, description="Seed of the resampling.")
    majority: Share = Field(0.5, description="A method does something if it does it in more than this share of images.")
    margin: Share = Field(0.05, description="A change of a share that is smaller than this is none worth mentioning.")


class Roles(Section):
    """Which method and classifier stands for what (DBVCE, Sections 4 and 5)."""

    base: Name | None = Field(None, description="The method of Tables 2 and 3: cone projection and x0-prediction.")
    no_cone: Name | None = Field(None, description="The method of Table 4: the base without cone projection.")
    no_x0: Name | None = Field(None, description="The method of Table 5: the base without x0-prediction.")
    neither: Name | None = Field(None, description="The base without either of them.")
    unguided: Name | None = Field(None, description="Noising and denoising alone, without a classifier.")
    null_edits: Name | None = Field(None, description="The concept editor that changes nothing.")
    robust: tuple[Name, ...] = Field((), description="Classifiers trained to be robust; one of them gives the cone.")
    noise_trained: tuple[Name, ...] = Field((), description="Classifiers trained on noisy images, beside robust ones.")
    random: tuple[Name, ...] = Field((), description="Classifiers that were never trained.")
    flawed: tuple[Name, ...] = Field((), description="Classifiers with a known defect; they are no oracles.")
    defects: dict[Name, str] = Field(
        default_factory=dict,
        description="The defect of each flawed classifier in a few words, for the figure.",
    )
    not_oracles: tuple[Name, ...] = Field(
        (), description="Trained classifiers that tell nothing of validity (the paper drops SIMCLR after Table 2)."
    )
    closeness: tuple[str, ...] = Field(
        ("lpips", "st_lpips"), min_length=1, description="Perceptual distances of Table 3, those there are."
    )
    realism: tuple[str, ...] = Field(
        ("fid_64", "fd_enl0_24", "fd_enl0_40"),
        min_length=1,
        description="Distances of distributions of Table 3, those there are.",
    )
    paper: dict[Name, PaperName] = Field(
        default_factory=dict, description="The paper's classifier that may stand beside one of the study's."
    )
    tests: Tests = Tests()

    @model_validator(mode="after")
    def _one_role_each(self) -> "Roles":
        for name in self.random:
            if name in (*self.robust, *self.noise_trained, *self.flawed):
                raise ValueError(f"'{name}' is called random and trained; name it once")
        for name in self.flawed:
            if name in (*self.robust, *self.noise_trained):
                raise ValueError(f"'{name}' is called flawed and sound; name it once")
        methods = [name for name in (self.base, self.no_cone, self.no_x0, self.neither, self.unguided) if name]
        for name in methods:
            if methods.count(name) > 1:
                raise ValueError(f"the method '{name}' stands for two things; each part needs a method of its own")
        return self

    def is_oracle(self, name: str) -> bool:
        """Whether a classifier can tell whether a counterfactual is valid."""
        return name not in (*self.random, *self.flawed, *self.not_oracles)

    def witnesses(self, classifier: str, oracles: Iterable[str]) -> list[str]:
        """The oracles that had no part in a classifier's counterfactuals: not itself, and no robust one, whose gradient
        the cone follows; robust ones where there are no others.
        """
        others = [name for name in oracles if name != classifier and self.is_oracle(name)]
        return [name for name in others if name not in self.robust] or others

    def of_method(self, name: str) -> str:
        """What a method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`, `null edits`, or nothing."""
        parts = ("base", "no_cone", "no_x0", "neither", "unguided", "null_edits")
        return next((part.replace("_", " ") for part in parts if getattr(self, part) == name), "")

    def of_classifier(self, name: str) -> str:
        """What a classifier is: `robust`, `noise-trained`, `random`, `flawed`, or nothing of these."""
        parts = ("robust", "noise_trained", "random", "flawed")
        return next((part.replace("_", "-") for part in parts if name in getattr(self, part)), "")


class Targets(Section):
    """A source class with its targets."""

    source: ClassName = Field(description="Class of the original images.")
    ideal: ClassName = Field(description="The target that suits it.")
    middle: tuple[ClassName, ...] = Field((), description="Targets further away, which are still reached at times.")
    others: tuple[ClassName, ...] = Field((), description="Further targets (Table 6).")

    def groups(self) -> list[Group]:
        """The ideal group, then the further ones."""
        named: tuple[tuple[Pair, tuple[str, ...]], ...] = (
            ("ideal", (self.ideal,)),
            ("middle", self.middle),
            ("other", self.others),
        )
        return [Group(source=self.source, target=target, pair=pair) for pair, targets in named for target in targets]

    @model_validator(mode="after")
    def _targets_differ(self) -> "Targets":
        targets = (self.ideal, *self.middle, *self.others)
        if self.source in targets:
            raise ValueError(f"'{self.source}' is its own target; name another class")
        if len(set(targets)) < len(targets):
            raise ValueError(f"a target of '{self.source}' is named twice; take one out")
        return self


class VceBlock(Section):
    """Conditions: every combination of the names."""

    image_set: tuple[Name, ...] = Field(min_length=1, description="Names from `image_sets`.")
    denoiser: tuple[Name, ...] = Field(min_length=1, description="Names from `denoisers`.")
    classifier: tuple[Name, ...] = Field(min_length=1, description="Names from `classifiers`.")
    method: tuple[Name, ...] = Field(min_length=1, description="Names from `methods` and `concept_editors`.")
    pairs: tuple[Pair, ...] = Field(("ideal",), min_length=1, description="Which pairs of source and target.")
    repeats: int = Field(1, ge=1, description="Counterfactuals of each image and target, with noise of their own.")

    def conditions(self) -> list[VceCondition]:
        """The conditions of this block, in the order of the lists."""
        lists = (self.image_set, self.denoiser, self.classifier, self.method)
        return [VceCondition(**dict(zip(VceCondition.model_fields, names, strict=True))) for names in product(*lists)]


class Vce(Section):
    """The vce study."""

    images: int = Field(8, ge=1, description="Images of each source class.")
    size: int = Field(ge=8, description="Height and width of the images, pixels; what the denoiser was trained at.")
    seed: int = Field(20231115, ge=0, description="Seed of every draw of the study.")
    same_noise: bool = Field(True, description="Whether the images of every group are given the same noise.")
    compute: Compute = Compute()
    image_sets: dict[Name, Spec] = Field(min_length=1, description="Labelled images.")
    denoisers: dict[Name, Spec] = Field(min_length=1, description="Diffusion models.")
    classifiers: dict[Name, Spec] = Field(min_length=1, description="Classifiers to be explained.")
    robust: Name | None = Field(None, description="The classifier whose gradients the cone projects.")
    oracles: tuple[Name, ...] = Field((), description="Classifiers that are asked about every counterfactual.")
    methods: dict[Name, Method] = Field(min_length=1, description="Ways of making counterfactuals.")
    concept_editors: dict[Name, Spec] = Field(
        default_factory=dict, description="Further ways: edits of what sets source and target apart, one at a time."
    )
    groups: tuple[Targets, ...] = Field(min_length=1, description="Source classes and their targets.")
    perceptual_metrics: dict[Name, Spec] = Field(default_factory=dict, description="Perceptual distances.")
    dime_perceptual: Name | None = Field(None, description="The distance of DiME's perceptual term.")
    feature_extractors: dict[Name, Spec] = Field(default_factory=dict, description="Features of the Fréchet distances.")
    target_images: int = Field(
        0, ge=0, description="Images of each target class that Fréchet distances are also measured to; 0: none."
    )
    embeddings: dict[Name, Spec] = Field(default_factory=dict, description="Features whose similarity is measured.")
    attribute_classifiers: dict[Name, Spec] = Field(
        default_factory=dict,
        description="Oracles of attributes: MNAC; with labels CD of two classes in both directions.",
    )
    cout_steps: int = Field(50, ge=0, description="Steps of COUT from image to counterfactual; 0 leaves it out.")
    conditions: tuple[VceBlock, ...] = Field(
        (), min_length=1, description="Which combinations are run; left out: all of what is defined."
    )
    roles: Roles = Roles()

    @model_validator(mode="before")
    @classmethod
    def _all_combinations(cls, content: Any) -> Any:
        return with_conditions(content, {field: f"{field}s" for field in VceCondition.model_fields})

    @model_validator(mode="after")
    def _names_are_defined(self) -> "Vce":
        for condition in self.all_conditions():
            method = self.methods.get(condition.method)
            if method and method.projection == "cone" and not self.robust:
                raise ValueError(
                    f"the method '{condition.method}' projects onto a cone; set vce.robust to the name of "
                    "a robust classifier, or give the method `projection: none`"
                )
            if method and method.perceptual_weight and not self.dime_perceptual:
                raise ValueError(
                    f"the method '{condition.method}' has a perceptual term; name its distance in `dime_perceptual`, "
                    "or set perceptual_weight: 0"
                )
            if method and method.mask == "attribution" and self.size % method.region_cell:
                raise ValueError(
                    f"the method '{condition.method}' has cells of {method.region_cell} pixels, which do not divide "
                    f"the size {self.size}; set its region_cell to a divisor"
                )
            for field in VceCondition.model_fields:
                if field != "method" or condition.method not in self.concept_editors:
                    self._find(f"{field}s", getattr(condition, field), "conditions name")
        for name in self.concept_editors:
            if name in self.methods:
                raise ValueError(f"'{name}' is a method and a concept editor; give one of them another name")
        for name in (*self.oracles, *([self.robust] if self.robust else [])):
            self._find("classifiers", name, "oracles and robust name")
        if self.dime_perceptual:
            self._find("perceptual_metrics", self.dime_perceptual, "dime_perceptual names")
        check_figures(*({name: spec.plugin_options() for name, spec in named.items()} for named in self._figures()))
        self._check_roles()
        for section in FAMILIES:
            for name, spec in getattr(self, section).items():
                if spec.repeat != 1:
                    raise ValueError(
                        f"{section}.{name}: nothing is repeated here; take `repeat` out, set conditions.repeats"
                    )
        sources = [entry.source for entry in self.groups]
        for source in sources:
            if sources.count(source) > 1:
                raise ValueError(f"groups name the source '{source}' twice; join the two")
        return self

    def _figures(self) -> tuple[dict[str, Spec], ...]:
        return self.perceptual_metrics, self.feature_extractors, self.embeddings

    def _check_roles(self) -> None:
        roles = self.roles
        for method in filter(None, (roles.base, roles.no_cone, roles.no_x0, roles.neither, roles.unguided)):
            self._find("methods", method, "roles name the method")
        if roles.null_edits:
            self._find("concept_editors", roles.null_edits, "roles.null_edits names")
        for name in (
            *(*roles.robust, *roles.noise_trained, *roles.random, *roles.flawed),
            *(*roles.not_oracles, *roles.paper),
        ):
            self._find("classifiers", name, "roles name the classifier")

    def _find(self, section: str, name: str, who: str) -> None:
        defined = getattr(self, section)
        if name not in defined:
            raise ValueError(f"{who} '{name}', which vce.{section} does not define; {nearest(name, defined)}")

    def oracles_of(self, condition: VceCondition) -> dict[str, dict[str, Any]]:
        """The oracles that a condition's counterfactuals are shown to: all but the explained classifier itself."""
        return {name: self.classifiers[name].plugin_options() for name in self.oracles if name != condition.classifier}

    def all_conditions(self) -> list[VceCondition]:
        """Every condition, each once, in the order of the blocks."""
        return list(dict.fromkeys(condition for block in self.conditions for condition in block.conditions()))

    def groups_of(self, condition: VceCondition) -> list[Group]:
        """The groups that a condition's blocks ask for."""
        pairs = {pair for block in self.conditions if condition in block.conditions() for pair in block.pairs}
        return [group for entry in self.groups for group in entry.groups() if group.pair in pairs]

    def repeats_of(self, condition: VceCondition) -> int:
        """How many counterfactuals a condition makes of each image and target."""
        return max(block.repeats for block in self.conditions if condition in block.conditions())


def check_figures(distances: Specs, features: Specs, embeddings: Specs) -> None:
    """Check the names of perceptual distances, of Fréchet distances, and of similarities of embeddings.

    `fid_64` must be made of Inception's 64 features. `s3_enl0` is no S3, and says so by the rest of its name.

    Raises:
        ValueError: a name is kept for another plugin, is taken, or is used twice; one line with what to do.
    """
    named = [*distances.items(), *features.items(), *embeddings.items()]
    for name, spec in named:
        if name in TAKEN or name.split("_")[0] in BEGUN:
            raise ValueError(f"'{name}' is the name of another figure; give what is measured by it another name")
        if sum(name == other for other, _ in named) > 1:
            raise ValueError(f"two figures are called '{name}'; give one of them another name")
        _check_kept(name, spec)


def _check_kept(name: str, spec: Mapping[str, Any]) -> None:
    word, _, rest = name.partition("_")
    wanted = KEPT.get(word)
    if word in ("s3", "fs") and rest:
        return
    if wanted and spec.get("plugin") != wanted:
        raise ValueError(
            f"'{name}' is kept for the plugin {wanted}, and this is {spec.get('plugin')}; give it a name of its own, "
            "such as st_lpips, fd_enl0_40, s3_enl0 or fs_enl0"
        )
    if wanted == "inception" and rest != str(spec.get("width", 2048)):
        raise ValueError(f"'{name}' has {spec.get('width', 2048)} features; call it {word}_{spec.get('width', 2048)}")


def used_by_vce(study: Vce) -> list[Used]:
    """The plugins that vce uses, in the order of params.yaml."""
    wanted = {
        (f"{field}s", getattr(condition, field))
        for condition in study.all_conditions()
        for field in condition.model_fields_set
    }
    wanted |= {("concept_editors", condition.method) for condition in study.all_conditions()}
    wanted |= {("classifiers", name) for name in (*study.oracles, study.robust)}
    wanted |= {(section, name) for section in _MEASURES for name in getattr(study, section)}
    return [
        Used("vce", section, name, family, spec.plugin_options())
        for section, family in FAMILIES.items()
        for name, spec in getattr(study, section).items()
        if (section, name) in wanted
    ]
