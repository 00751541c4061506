"""The data set card: what is in a training set, what it teaches, where it comes from, what it is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from cfeval.io.arm_files import arm_path
from cfeval.records.edct import Arm
from cfeval.studies.edct.training.layouts import HELD_OUT, TRAIN, Layout, entry_name
from cfeval.studies.edct.training.teaching import Example, Teach

SPLITS = {TRAIN: "train", HELD_OUT: "test"}


@dataclass(frozen=True)
class Made:
    """How a set was made.

    `scored` counts the items and edits that passed the filters, `left_out` the examples of which a text holds what
    trainers take for a picture.
    """

    teach: Teach
    layout: Layout
    arms: Sequence[Arm]
    verified: bool
    correct: bool
    share: float
    seed: int
    scored: int
    left_out: int


def card(made: Made, sides: Mapping[str, Sequence[Example]]) -> str:
    """The card as Markdown; `sides` are the examples by file."""
    import jinja2

    source = resources.files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8")
    template = jinja2.Template(source, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    files = [_counts(name, of) for name, of in sides.items()]
    return str(template.render(made=made, files=files, arms=[arm_path(arm) for arm in made.arms]))


def _counts(name: str, of: Sequence[Example]) -> dict[str, str | int]:
    return {
        "name": name,
        "split": SPLITS[name],
        "entry": entry_name(name),
        "examples": len(of),
        "originals": sum(one.picture == one.original for one in of),
        "images": len({one.original for one in of}),
    }
