"""The section `vce`: whose counterfactuals are made, how, of which images, and what is measured of them."""

from pydantic import Field

from cfeval.params.sections import Section
from cfeval.records.vce import ClassName, Group

FAMILIES = {
    "image_sets": "image_sets",
    "denoisers": "denoisers",
    "classifiers": "classifiers",
    "perceptual": "perceptual",
    "features": "features",
}
"""Which plug-in family each section of a study's backends draws on."""


class Targets(Section):
    """A source class with its targets."""

    source: ClassName = Field(description="Class of the original images.")
    ideal: ClassName = Field(description="The target that suits it.")
    others: tuple[ClassName, ...] = Field((), description="Further targets (Table 6).")

    def groups(self) -> list[Group]:
        """The ideal group, then the others."""
        other = [Group(source=self.source, target=target, pair="other") for target in self.others]
        return [Group(source=self.source, target=self.ideal, pair="ideal"), *other]
