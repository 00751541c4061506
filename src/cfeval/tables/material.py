"""What tables are made from: the scores of arms, and what is known beside them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cfeval.errors import InputError
from cfeval.params.edct import Interval
from cfeval.records.edct import Arm, Score
from cfeval.records.edct_tables import Published
from cfeval.tables.arms import label
from cfeval.tables.rows import Row, Told, gathered


@dataclass(frozen=True)
class Material:
    """Scores by arm, and the settings.

    `published` are figures that may stand beside one's own, `test_targets` the targets that are built-in test models,
    `known` the share of items that a target answers unfaithfully, `judge_error` the targets on which the error of
    judges is measured, `repeats` the target that another one repeats.
    """

    scores: Mapping[Arm, Sequence[Row]]
    how: Interval = field(default_factory=Interval)
    published: Sequence[Published] = ()
    test_targets: Collection[str] = ()
    known: Mapping[str, float] = field(default_factory=dict)
    judge_error: Sequence[str] = ()
    repeats: Mapping[str, str] = field(default_factory=dict)

    def of(self, arm: Arm) -> Sequence[Row]:
        """The scores of an arm, in the order of items and edits.

        Raises:
            InputError: there are none.
        """
        if arm not in self.scores:
            raise InputError(
                f"no scores of the arm {label(arm)}; name it among the arms, or beside, or take it out of the table"
            )
        return self.scores[arm]

    def is_test(self, vlm: str) -> int:
        """1 where a target is a built-in test model."""
        return int(vlm in self.test_targets)


def material(scores: Mapping[Arm, Iterable[Score]], **settings: object) -> Material:
    """Gather the scores of arms, in whatever order they come; `settings` are the other fields of `Material`.

    Raises:
        InputError: a score is of another arm than it is given for, or an item and edit of an arm appears twice.
    """
    same: dict[Told, Told] = {}
    return Material({arm: gathered(arm, of, same) for arm, of in scores.items()}, **settings)  # type: ignore[arg-type]
