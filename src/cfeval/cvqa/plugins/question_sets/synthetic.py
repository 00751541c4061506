"""Synthetic puzzles of known truth, made on the spot (C-VQA-Synthetic; C-VQA, Section 3.3)."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import CfevalError
from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import QuestionSet, RawPair, Sizes
from cfeval.cvqa.synthetic.icons import Icons, icons_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.synthetic.records import GREATEST_SIZE, LEAST_SIZE, PUZZLE_TYPES, SIZE, PuzzleType
from cfeval.cvqa.synthetic.release import row_of
from cfeval.cvqa.synthetic.render import png_of


class Plugin(plugin.Plugin):
    """Which puzzles."""

    items: int = Field(3000, ge=1)
    """How many there are where all of them are wanted: as many as are published."""
    types: tuple[PuzzleType, ...] = Field(PUZZLE_TYPES, min_length=1)
    """The templates; they take turns."""
    size: int = Field(SIZE, ge=LEAST_SIZE, le=GREATEST_SIZE)
    """Width and height of the images, pixels."""
    draw: int = Field(0, ge=0)
    """Another number draws other puzzles of the same kinds, such as those of a fresh set (`fresh_of`)."""
    icons: str | None = plugin.folder(None)
    """A folder of flowers (PNG or JPEG, in folders or not), such as those of Icons-50; else the project's own."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the user's flowers can be used."""
        if self.icons:
            try:
                yield Diagnostic(True, f"{self.icons}: {len(self.flowers().names)} flowers")
            except CfevalError as error:
                yield Diagnostic(False, str(error))

    def build(self) -> QuestionSet:
        """The set.

        Raises:
            InputError: the icons cannot be used.
        """
        return Synthetic(self)

    def flowers(self) -> Icons:
        """What may be drawn; errors like `icons_of`."""
        return icons_of(Path(self.icons) if self.icons else None)


class Synthetic:
    """Draws as many puzzles as are wanted."""

    skipped: tuple[str, ...] = ()

    def __init__(self, options: Plugin) -> None:
        self.options = options
        self.icons = options.flowers()

    def sizes(self, items: int | None) -> Sizes:
        """As many as are wanted, all with options."""
        wanted = self.options.items if items is None else items
        return Sizes(wanted, wanted)

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """Puzzles that differ by seed; the first ones stay the same when more are wanted."""
        options = self.options
        drawn = derive_seed(seed, "draw", str(options.draw)) if options.draw else seed
        for number in range(1, self.sizes(items).all + 1):
            kind = options.types[(number - 1) % len(options.types)]
            puzzle = make_puzzle(drawn, number, kind, options.size, self.icons.names)
            row = row_of(puzzle)
            yield RawPair(
                id=Path(row.img_path).stem,
                image=Image(png_of(puzzle, self.icons)),
                original=row.original,
                counterfactual=row.counterfactual,
                type=row.type,
                img_path=row.img_path,
                counts=puzzle.scene.counts(),
            )
