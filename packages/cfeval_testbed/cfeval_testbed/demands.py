"""What the models and editors of the test bed need of an item; photographs have none of it."""

from cfeval.core.registry import Demand

SIDE = 64
"""Width and height of the images that the small models see."""
SMALL = Demand(
    f"images of {SIDE} × {SIDE} pixels",
    ("world", "easy_vqa"),
    lambda item: item.image.pixels.shape[:2] == (SIDE, SIDE),
)
SCENE = Demand("the record of a drawn scene", ("world",), lambda item: item.metadata is not None)
