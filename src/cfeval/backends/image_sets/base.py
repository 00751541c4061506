"""What every set of labelled images offers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.io.pictures import Picture


@dataclass(frozen=True)
class LabelledImage:
    """An image and the name of its class; `id` is unique in the set and safe as a file name."""

    id: str
    label: str
    picture: Picture


class ImageSet(Protocol):
    """A set of labelled images. `classes` are the names that its labels can have."""

    classes: tuple[str, ...]

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """The first `count` images of each label, label by label, as square RGB pictures of `size` pixels a side.

        The same arguments give the same images, and a larger `count` only adds to them. A set draws or crops in the
        way that its own file says.

        Raises:
            InputError: a label that the set does not have (the nearest are named), too few images of it, an image
                that is too small or not RGB; one line that names the file.
        """
        ...
