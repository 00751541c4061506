"""What the steps of a whole cvqa study are told, worked out from its parameters: conditions, what solvers and sets are.

The rules write it (`workflow/rules/cvqa.smk`), the steps read it (`--study`).
"""

from cfeval.core.cli_options import StudyParams
from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.facts import set_facts, solver_facts
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables.replies import SetFacts, SolverFacts
from cfeval.stats.intervals import Interval

_WRITE_PROGRAMS = ("program", "agent")
"""Kinds of solvers whose answers hold programs; an agent's calls are recorded alike."""


class Conditions(StudyParams):
    """What is looked at.

    Attributes:
        conditions: in order.
        shards: into how many files each stage of a condition is cut.
    """

    conditions: tuple[CvqaCondition, ...] = ()
    shards: int = 1


class AskedCalls(Conditions):
    """Whose calls are exported.

    Attributes:
        builds: sets that are built.
        readers: language models that read replies.
    """

    builds: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


class AskedTables(AskedCalls):
    """What all tables of a study are made of.

    Attributes:
        sets: what each set is that is not built.
        solvers: what each solver is.
        interval: how intervals are computed.
        genders: a file with the perceived gender of people in COCO images; empty: none.
    """

    sets: dict[str, SetFacts] = {}
    solvers: dict[str, SolverFacts] = {}
    interval: Interval = Interval()
    genders: str = ""

    def of_programs(self) -> list[CvqaCondition]:
        """The conditions whose solvers write programs."""
        writers = {name for name, facts in self.solvers.items() if facts.kind in _WRITE_PROGRAMS}
        return [condition for condition in self.conditions if condition.solver in writers]


def conditions_of(study: Cvqa, shards: int) -> Conditions:
    """All conditions of a study."""
    return Conditions(conditions=study.all_conditions(), shards=shards)


def asked_calls(study: Cvqa, shards: int) -> AskedCalls:
    """Whose calls are exported."""
    return AskedCalls(
        conditions=study.all_conditions(),
        shards=shards,
        builds=list(study.builds_asked()),
        readers=list(study.reply_readers),
    )


def asked_tables(study: Cvqa, shards: int) -> AskedTables:
    """What all tables of a study are made of."""
    sets = study.sets_asked()
    return AskedTables(
        **dict(asked_calls(study, shards)),
        sets={name: SetFacts(**facts) for name, facts in set_facts(study).items() if name in sets},
        solvers={name: SolverFacts(**facts) for name, facts in solver_facts(study).items()},
        interval=study.interval,
        genders=study.genders,
    )
