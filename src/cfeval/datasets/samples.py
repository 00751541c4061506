"""Samples that `cfeval edct import` filed: own images and questions."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.files import archive_of
from cfeval.core.images import folder_of, in_archive, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import listed
from cfeval.datasets.sample import RawSample, Sample, as_frozen


class Plugin(plugin.Plugin):
    """Where the samples are."""

    path: str
    """The record file that the import wrote, such as data/mine.jsonl."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the file's first."""

    def dependencies(self) -> tuple[str, ...]:
        """The record file, the folder or archive of its images, and the list of ids."""
        folder = folder_of(Path(self.path))
        images = str(archive_of(folder)) if in_archive(folder) else f"{folder}/"
        return (self.path, images, *((self.ids,) if self.ids else ()))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether records and ids can be read."""
        if all(Path(file).is_file() for file in (self.path, self.ids) if file):  # a missing file is told as such
            yield Diagnostic(True, f"items: {sum(1 for _ in self.build().known())}")

    def build(self) -> "Filed":
        """The dataset in a record file."""
        return Filed(Path(self.path), Path(self.ids) if self.ids else None)


class Filed:
    """Reads a record file; the seed changes nothing."""

    def __init__(self, path: Path, ids: Path | None = None) -> None:
        self.path, self.ids = path, ids

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` samples: the listed ones, else the first of the file, in its order."""
        del seed
        with closing(self._each()) as each:
            taken = islice(each, items)
            yield from as_frozen((self._opened(sample) for sample in taken), str(self.ids) if self.ids else None)

    def _each(self) -> Generator[Sample, None, None]:
        yield from self.known()

    def known(self) -> Iterable[Sample]:
        """The records of all that can be taken, in order; InputError where they or the ids cannot be read."""
        samples = read_jsonl(self.path, Sample)
        if self.ids is None:
            return samples
        known = {sample.id: sample for sample in samples}
        return [known[item] for item in listed(self.ids, known, self.path)]

    def _opened(self, sample: Sample) -> RawSample:
        return RawSample(
            id=sample.id,
            image=load(folder_of(self.path), sample.image),
            question=sample.question,
            reference=sample.reference,
            answers=sample.answers,
            scorer=sample.scorer,
            kind=sample.kind,
            metadata=sample.metadata,
        )
