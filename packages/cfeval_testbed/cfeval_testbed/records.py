"""Records of the test bed: scenes whose truth is known, what a phrase points at, edits, claims.

A scene is everything the renderer needs: an edited record is drawn with the same nuisance (position, light, noise).
Floats are rounded when they are sampled: JSON holds them exactly.

The words of the test bed and what they mean.
"""

from typing import Literal, get_args

from pydantic import Field

from cfeval.core.records import Record

ShapeName = Literal["circle", "square", "triangle", "star", "cross"]
ColorName = Literal["red", "green", "blue", "yellow", "purple", "orange", "white", "black"]
SizeName = Literal["small", "large"]
BackgroundName = Literal["gray", "sand", "sky", "slate", "mint"]
PositionName = Literal["top left", "top right", "bottom left", "bottom right"]
EditKind = Literal["color", "shape", "object", "remove", "add", "background"]
Attribute = Literal["color", "shape", "position", "presence", "background"]
ClaimKind = Literal["color", "shape", "position", "presence", "objects", "robot", "background"]


class Slot(Record):
    """One quadrant: the object in it, and the nuisance with which any object there is drawn.

    An absent object keeps its attributes and nuisance, so that removing it can be undone exactly.
    """

    shape: ShapeName
    color: ColorName
    size: SizeName
    present: bool
    dx: float = Field(ge=-2, le=2, description="offset of the centre to the right, pixels")
    dy: float = Field(ge=-2, le=2, description="offset of the centre downwards, pixels")
    scale: float = Field(ge=0, le=1, description="where the radius lies between the least and the greatest of its size")
    angle: float = Field(ge=-0.25, le=0.25, description="rotation, radians")
    tint: float = Field(ge=-0.04, le=0.04, description="added to each channel of the object's color")


class Scene(Record):
    """A 64×64 image before it is drawn: slots in the order top left, top right, bottom left, bottom right."""

    slots: tuple[Slot, Slot, Slot, Slot]
    background: BackgroundName
    light_angle: float = Field(description="direction of the light, radians")
    brightness: float = Field(ge=0.9, le=1.1, description="factor on every pixel")
    noise_seed: int = Field(ge=0, lt=2**32)


class Referent(Record):
    """What a phrase points at: the attributes that it names, None for those it leaves open.

    Names are plain strings because the same grammar speaks of easy-VQA images, whose shapes and colors differ.
    """

    color: str | None = None
    shape: str | None = None
    size: SizeName | None = None
    position: PositionName | None = None


class EditIntent(Record):
    """One edit: `target` points at the object (an empty referent for the background), `old` becomes `new`.

    For `object` the values are `COLOR SHAPE`; for `remove` the new value is empty, for `add` the old one is.
    """

    kind: EditKind
    target: Referent = Referent()
    old: str = ""
    new: str = ""


class Fact(Record):
    """One piece of cited evidence: the object pointed at, the attribute that decides, and its value.

    The value of `presence` is `yes`; the referent of a fact about the background is empty.
    """

    referent: Referent
    attribute: Attribute
    value: str


class Claim(Record):
    """What an explanation says: its kind, the evidence in the order it is named, the answer when it states one."""

    kind: ClaimKind
    facts: tuple[Fact, ...]
    answer: str | None = None


SHAPES: tuple[ShapeName, ...] = get_args(ShapeName)
COLORS: tuple[ColorName, ...] = get_args(ColorName)
SIZES: tuple[SizeName, ...] = get_args(SizeName)
BACKGROUNDS: tuple[BackgroundName, ...] = get_args(BackgroundName)
POSITIONS: tuple[PositionName, ...] = get_args(PositionName)
NUMBERS = ("zero", "one", "two", "three", "four")
ACTION_OF_SIGNAL: dict[str, str] = {"red": "stop", "green": "go", "yellow": "wait", "blue": "turn"}
"""What the robot does at a large object of this color."""
SIGNAL_OF_ACTION: dict[str, str] = {action: color for color, action in ACTION_OF_SIGNAL.items()}
ACTIONS = tuple(SIGNAL_OF_ACTION)
YES_AND_NO = ("yes", "no")
NOWHERE = "nowhere"


EASY_VQA_SHAPES = ("circle", "rectangle", "triangle")
EASY_VQA_COLORS = ("red", "green", "blue", "black", "gray", "teal", "brown", "yellow")
ALL_SHAPES = tuple(dict.fromkeys((*SHAPES, *EASY_VQA_SHAPES)))
ALL_COLORS = tuple(dict.fromkeys((*COLORS, *EASY_VQA_COLORS)))
