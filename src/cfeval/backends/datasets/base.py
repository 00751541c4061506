"""What every data set offers."""

from collections.abc import Iterator
from typing import Protocol

from cfeval.io.samples import RawSample


class Dataset(Protocol):
    """A data set."""

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` samples; the same arguments give the same samples."""
        ...
