"""The words of the built-in world and what they mean."""

from typing import get_args

from cfeval.records.world import BackgroundName, ColorName, PositionName, ShapeName, SizeName

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
