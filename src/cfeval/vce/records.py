"""Records of the vce study: source images, counterfactuals, scores of each, scores of each group."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from cfeval.core.records import ImageRef, ItemId, Record, StageResult

COMMITTEE = ("mean", "majority")
"""What stands in a figure's name where all oracles count together, and no oracle may be called."""
ClassName = Annotated[str, Field(min_length=1, max_length=100)]
Pair = Literal["ideal", "middle", "other"]
"""`ideal`: the target is the one that suits the source; `other`: any other target (DBVCE, Section 5, Table 6);
`middle`: one between the two, where `other` ones are so far that none is ever reached."""


class VceCondition(Record):
    """The names that say how counterfactuals were made."""

    image_set: str
    denoiser: str
    classifier: str
    method: str


class Group(Record):
    """A source class and a target class; counterfactuals of a group are scored together (DBVCE, Section 4)."""

    source: ClassName
    target: ClassName
    pair: Pair = "ideal"


class SourceImage(Record):
    """An image to make counterfactuals of; `number` counts the images of its class from 0."""

    id: ItemId
    label: ClassName
    number: int = Field(ge=0)
    image: ImageRef


class _Edited(StageResult):
    """The fields of concept edits, which the records of sampled counterfactuals lack."""

    concept: str = ""
    """What an editor was told to change; `repeat` counts the concepts of one image and target."""

    @model_serializer(mode="wrap")
    def _without_empty(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = fields(self)
        return {name: value for name, value in values.items() if value or name not in _OF_EDITS}


_OF_EDITS = ("concept", "instruction", "calls")


class VceCounterfactual(_Edited):
    """A counterfactual. `repeat` counts the draws of the noise for one image and target from 0; `attempts` how many
    weights of the class term were tried, each in a run of its own.

    `instruction` is what an editor was told and `calls` names the stored calls, where it was made by one. `image` is
    there exactly where the status is `ok`. A counterfactual that the rejection step dropped is `rejected` and keeps no
    image.
    """

    id: ItemId
    source_image: ItemId
    source: ClassName
    target: ClassName
    pair: Pair
    repeat: int = Field(0, ge=0)
    attempts: int = Field(1, ge=1)
    instruction: str = ""
    calls: tuple[str, ...] = ()
    image: ImageRef | None = None


class VceScore(_Edited):
    """What one counterfactual is worth; every figure is None where the status is not `ok`.

    `predicted` is what the explained classifier says of it, `p_target` and `p_source` its probabilities of the target
    and source class; `before` is what it said of the original. `oracles` is what each oracle says, by the oracle's
    name. `distances` are those between original and counterfactual, by metric (`d1`, `d1_5`, `d2`, `st_lpips`, …);
    `others` are the figures of one counterfactual that are no distance (`cout`, …).
    """

    id: ItemId
    source_image: ItemId
    source: ClassName
    target: ClassName
    pair: Pair
    repeat: int = Field(0, ge=0)
    before: ClassName | None = None
    predicted: ClassName | None = None
    p_target: float | None = None
    p_source: float | None = None
    oracles: dict[str, ClassName] = {}
    distances: dict[str, float] = {}
    others: dict[str, float] = {}


class ExplainedNetwork(Record):
    """A classifier of a study: how many parameters it has, None where it holds no network, how it was trained, and how
    many of the `n` originals whose class it knows it puts into that class.
    """

    name: str
    parameters: int | None = Field(None, ge=0)
    robust: bool
    timed: bool
    n: int = Field(ge=0)
    n_right: int = Field(ge=0)


class SheetRecord(Record):
    """A contact sheet: the images of a group, their counterfactuals, and what changed."""

    source: ClassName
    target: ClassName
    image: ImageRef


class GroupScore(Record):
    """The figures of one group under one condition: `n` counterfactuals were asked for, `n_scored` have a result.

    `figures` are by name: `ta`, `oa`, `fr` (flip rate), `misread`, `cv`, `os_<oracle>`, `ota_<oracle>`, means of the
    distances and others under their names, `diversity_<distance>`, and distances of distributions such as `fid_64`,
    `kid_64`, `fd_enl0_40`. A figure that cannot be computed for the group is left out, never 0.
    """

    condition: VceCondition
    group: Group
    n: int = Field(ge=0)
    n_scored: int = Field(ge=0)
    missing: dict[str, int] = {}
    figures: dict[str, float] = {}
