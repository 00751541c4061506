"""What each method and classifier of the vce study stands for in the tables, and how the hypotheses are tested."""

from typing import Literal

from pydantic import Field, model_validator

from cfeval.params.sections import Name, Section, Share

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
    robust: tuple[Name, ...] = Field((), description="Classifiers trained to be robust; one of them gives the cone.")
    noise_trained: tuple[Name, ...] = Field((), description="Classifiers trained on noisy images, beside robust ones.")
    random: tuple[Name, ...] = Field((), description="Classifiers that were never trained.")
    not_oracles: tuple[Name, ...] = Field(
        (), description="Trained classifiers that tell nothing of validity (the paper drops SIMCLR after Table 2)."
    )
    closeness: tuple[str, ...] = Field(
        ("lpips", "st_lpips"), min_length=1, description="Perceptual distances of Table 3, those there are."
    )
    realism: tuple[str, ...] = Field(
        ("fid_64", "fd_enl0_40"), min_length=1, description="Fréchet distances of Table 3, those there are."
    )
    paper: dict[Name, PaperName] = Field(
        default_factory=dict, description="The paper's classifier that may stand beside one of the study's."
    )
    tests: Tests = Tests()

    @model_validator(mode="after")
    def _one_role_each(self) -> "Roles":
        for name in self.random:
            if name in (*self.robust, *self.noise_trained):
                raise ValueError(f"'{name}' is called random and trained; name it once")
        methods = [name for name in (self.base, self.no_cone, self.no_x0, self.neither, self.unguided) if name]
        for name in methods:
            if methods.count(name) > 1:
                raise ValueError(f"the method '{name}' stands for two things; each part needs a method of its own")
        return self

    def is_oracle(self, name: str) -> bool:
        """Whether a classifier can tell whether a counterfactual is valid."""
        return name not in (*self.random, *self.not_oracles)

    def of_method(self, name: str) -> str:
        """What a method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`, or nothing."""
        parts = ("base", "no_cone", "no_x0", "neither", "unguided")
        return next((part.replace("_", " ") for part in parts if getattr(self, part) == name), "")

    def of_classifier(self, name: str) -> str:
        """What a classifier is: `robust`, `noise-trained`, `random`, or nothing of these."""
        parts = ("robust", "noise_trained", "random")
        return next((part.replace("_", "-") for part in parts if name in getattr(self, part)), "")
