"""What the steps of a whole edct study are told, worked out from its parameters: conditions of tables, what is known.

The rules write it (`workflow/rules/edct.smk`), the steps read it (`--study`).
"""

from collections.abc import Iterable, Iterator
from math import ceil, comb
from pathlib import Path
from typing import NamedTuple

from cfeval.core import registry
from cfeval.core.cli_options import StudyParams
from cfeval.core.errors import InputError
from cfeval.edct.config import Edct
from cfeval.edct.exam.table import Identity, exam_error, identity
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, NULL_EDIT, RULES, edits_of
from cfeval.edct.records import Condition
from cfeval.edct.tables import FIGURES, TABLES
from cfeval.edct.tables.scores import compared_pairs, settings_of
from cfeval.stats.intervals import Interval

# The table of targets compared two at a time.
COMPARISONS = "comparisons"
# The table and the figure of given pairs.
PAIRS = "pairs"
# Chat plugins that stand for no real model.
TEST_MODELS = ("world", "world_behavior", "easy_vqa", "mock")
_IN_METRICS = ("table1", "table2", "bench", "faithfulness", "calibration", PAIRS)
_OF_KNOWN = ("calibration", "instrument")
# Tables that show the conditions of another one.
_OF_OTHERS = {"instrument": "calibration", "faithfulness": "controls"}
_OF_REPEATS = ("variance", "repeats")
_CARDS = ("card", "bounds")
_EXAMINED = ("faithfulness", *_CARDS)
# The editor whose faults are known.
_FLAWED = "flawed"


class Conditions(StudyParams):
    """What is looked at.

    Attributes:
        conditions: of edits.
        pairs: of given pairs.
        shards: into how many files each is cut.
    """

    conditions: tuple[Condition, ...] = ()
    pairs: tuple[PairCondition, ...] = ()
    shards: int = 1


class AskedTable(StudyParams):
    """What a table is made of.

    Attributes:
        conditions: those that it shows, in order.
        beside: further ones whose scores it rests on.
        test_targets: targets that are built-in test models.
        known: the known unfaithful share, by target.
        judge_error: targets of known share 0 or 1 on which the error of judges is measured.
        expected: what is known of the figures of test models, by target.
        exams: tables that `cfeval exam` wrote, by judge.
        examined: which judge each of these tables must be about.
        failed_edits: the share of edits that are known to have failed unseen.
        repeats: the target that another one repeats, by that one.
        compared_with: the target with which each other one is compared.
        all_pairs: whether every two targets are compared, however many.
    """

    conditions: tuple[Condition, ...] = ()
    beside: tuple[Condition, ...] = ()
    test_targets: tuple[str, ...] = ()
    known: dict[str, float] = {}
    judge_error: tuple[str, ...] = ()
    expected: dict[str, dict[str, float | None]] = {}
    exams: dict[str, str] = {}
    examined: dict[str, Identity] = {}
    failed_edits: float = 0.0
    repeats: dict[str, str] = {}
    compared_with: str | None = None
    all_pairs: bool = False


class AskedPairs(StudyParams):
    """What the table of given pairs is made of.

    Attributes:
        conditions: those that it shows, in order.
        test_targets: targets that are built-in test models.
        expected: what phi of test models should be, or why there is none.
        sets: the plugin of each set of pairs.
    """

    conditions: tuple[PairCondition, ...]
    test_targets: tuple[str, ...] = ()
    expected: dict[str, float | str] = {}
    sets: dict[str, str] = {}


class AskedTables(StudyParams):
    """All tables of a study.

    Attributes:
        tables: by name.
        pairs: that of given pairs.
        interval: how intervals are computed.
        shards: into how many files each stage of a condition is cut.
        metrics: the tables whose headline figures `dvc metrics` shows.
    """

    tables: dict[str, AskedTable] = {}
    pairs: AskedPairs | None = None
    interval: Interval = Interval()
    shards: int = 1
    metrics: tuple[str, ...] = ()


class AskedReport(Conditions):
    """What the page shows.

    Attributes:
        tables: in its order.
        edit_times: a file of how long edits took on this machine.
        usd_per_gpu_hour: the price of an hour of the machine that edited.
    """

    tables: tuple[str, ...] = ()
    edit_times: str | None = None
    usd_per_gpu_hour: float | None = None


def tables_of(study: Edct) -> list[str]:
    """The tables that have a condition, in the order of the report."""
    has = {table: conditions_of_table(study, table) for table in TABLES if table != PAIRS}
    return [table for table in TABLES if (has[table] if table != PAIRS else study.pair_conditions())]


def figures_of(study: Edct) -> list[str]:
    """The figures whose table has a condition."""
    return [figure for figure, shown in FIGURES.items() if shown.table in tables_of(study)]


def conditions_of(study: Edct, shards: int, vlm: str = "", dataset: str = "") -> Conditions:
    """All conditions of a study, or those of one target and dataset."""
    if not vlm:
        return Conditions(conditions=study.conditions(), pairs=study.pair_conditions(), shards=shards)
    chosen = [condition for condition in study.conditions() if (condition.vlm, condition.dataset) == (vlm, dataset)]
    return Conditions(conditions=chosen, shards=shards)


def asked_tables(study: Edct, shards: int) -> AskedTables:
    """What all tables of a study are made of."""
    names, pairs = tables_of(study), study.pair_conditions()
    truths = {name: figures.no_phi or figures.phi for name, figures in study.expected.items()}
    asked_pairs = AskedPairs(
        conditions=pairs,
        test_targets=_test_targets(study, pairs),
        expected={name: truth for name, truth in truths.items() if truth is not None},
        sets={name: study.pair_sets[name].plugin for name in dict.fromkeys(pair.pair_set for pair in pairs)},
    )
    return AskedTables(
        tables={table: _asked_table(study, table) for table in names if table != PAIRS},
        pairs=asked_pairs if PAIRS in names else None,
        interval=study.interval,
        shards=shards,
        metrics=[table for table in _IN_METRICS if table in names],
    )


class JobResources(NamedTuple):
    """What a job asks a cluster for: memory in MB, and minutes."""

    mem_mb: int
    minutes: int


# Of one edit's score in one table: about twice what a core of 2024 took.
_ROW_MB, _ROW_SECONDS = 1e-3, 1e-4
# Of two targets or judges that are compared, and more for each score of either.
_PAIR_SECONDS, _PAIR_ROW_SECONDS = 5e-3, 5e-5


def resources_of_tables(study: Edct) -> JobResources:
    """What the step that makes all tables needs, from how many conditions, items and edits the study has."""
    shown = [conditions_of_table(study, table) + conditions_beside_table(study, table) for table in tables_of(study)]
    rows = [
        sum(study.items * edits_of(condition.protocol, study.edits, study.objects) for condition in setting_conditions)
        for setting_conditions in shown
    ]
    rows += [len(study.pair_conditions()) * study.items]
    settings = settings_of(conditions_of_table(study, COMPARISONS))
    pairs = sum(len(compared_pairs(some, study.compared_with, study.all_pairs)) for some in settings)
    judges = comb(len({condition.judge for condition in study.conditions()}), 2)
    seconds = sum(rows) * _ROW_SECONDS + judges * max(rows, default=0) * _PAIR_ROW_SECONDS
    seconds += pairs * (_PAIR_SECONDS + study.items * _PAIR_ROW_SECONDS)
    return JobResources(ceil(1000 + max(rows, default=0) * _ROW_MB), ceil(30 + seconds / 60))


def asked_report(study: Edct, shards: int) -> AskedReport:
    """What the page of a study shows."""
    return AskedReport(
        conditions=study.conditions(),
        pairs=study.pair_conditions(),
        shards=shards,
        tables=tables_of(study),
        edit_times=study.edit_times,
        usd_per_gpu_hour=study.usd_per_gpu_hour,
    )


def protocols_of(study: Edct, **names: str) -> list[str]:
    """The protocols of the conditions with some names; where there are null edits, that of the cited ones too."""
    protocols = [
        condition.protocol
        for condition in study.conditions()
        if all(getattr(condition, key) == names[key] for key in names)
    ]
    cited = [EDCT_2025] * (NULL_EDIT in protocols and "editor" not in names)
    return list(dict.fromkeys([*protocols, *cited]))


def is_compared(study: Edct, **names: str) -> bool:
    """Whether a judge's cited edits have controls, so that it also says whether the answer moved."""
    return Condition(protocol=EDCT_2025, **names) in study.tables.conditions("controls")


def asks_again(study: Edct, vlm: str) -> bool:
    """Whether a target is asked once more where it gives no answer, or one that may have changed without a reason.

    One that says the same to every seed is not, since nothing would be learned; nor is a built-in test model, whose
    expected figures are those of one answer.
    """
    options = study.vlms[vlm].plugin_options()
    return options["plugin"] not in TEST_MODELS and registry.samples(options)


def edits_anything(protocols: Iterable[str]) -> bool:
    """Whether some protocol has edits written and made."""
    return any(RULES[protocol].written for protocol in protocols)


def conditions_of_table(study: Edct, table: str) -> list[Condition]:
    """The conditions that a table shows, those of tables that follow from others among them; not of given pairs."""
    if table == "agreement":
        return study.conditions()
    if table == "repeats":
        repeats = study.repeats()
        return [condition for condition in study.conditions() if condition.vlm in {*repeats, *repeats.values()}]
    if table in _CARDS:
        first = [condition for condition in study.tables.conditions("table1") if condition.protocol == EDCT_2025]
        return list(dict.fromkeys([*first, *study.tables.conditions("controls")]))
    if table == "gate":
        options = {name: editor.plugin_options() for name, editor in study.editors.items()}
        flawed = {  # they, or the editor behind their gate, say of each edit what went wrong
            name for name, o in options.items() if _FLAWED in (o["plugin"], o.get("editor", {}).get("plugin"))
        }
        return [condition for condition in study.tables.conditions("calibration") if condition.editor in flawed]
    if table == COMPARISONS:
        return [condition for name in ("table1", "bench") for condition in study.tables.conditions(name)]
    if table == "test_models":
        return [condition for condition in study.tables.conditions("controls") if condition.vlm in study.expected]
    return study.tables.conditions(_OF_OTHERS.get(table, table))


def conditions_beside_table(study: Edct, table: str) -> list[Condition]:
    """Further conditions that a table rests on: the controls tell how complete the explanations of known targets are,
    and whether that says anything.
    """
    if table != "calibration":
        return []
    every_condition, calibration = study.conditions(), study.tables.conditions("calibration")
    wanted = [condition.model_copy(update={"protocol": protocol}) for protocol in CONTROLS for condition in calibration]
    return [condition for condition in dict.fromkeys(wanted) if condition in every_condition]


def _asked_table(study: Edct, table: str) -> AskedTable:
    conditions = conditions_of_table(study, table)
    has_known_truth, judges = table in _OF_KNOWN, {condition.judge for condition in conditions}
    expected_figures = {
        name: figures.model_dump(exclude_none=True, exclude={"phi", "no_phi"})
        for name, figures in study.expected.items()
        if table == "test_models"
    }
    exams = {name: path for name, path in study.exams.items() if table in _EXAMINED and name in judges}
    return AskedTable(
        conditions=conditions,
        beside=conditions_beside_table(study, table),
        test_targets=_test_targets(study, conditions),
        known=study.known if has_known_truth else {},
        judge_error=study.judge_error if has_known_truth else (),
        expected=expected_figures,
        exams=exams,
        examined={name: identity("judges", study.judges[name].plugin_options()) for name in exams},
        failed_edits=study.failed_edits if table in _CARDS else 0,
        repeats=study.repeats() if table in _OF_REPEATS else {},
        compared_with=study.compared_with if table == COMPARISONS else None,
        all_pairs=table == COMPARISONS and study.all_pairs,
    )


def exam_faults(study: Edct) -> Iterator[str]:
    """A line for each table of an exam that the study names and cannot take."""
    table = _asked_table(study, "faithfulness")
    for judge, path in table.exams.items():
        try:
            exam_error(Path(path), judge, table.examined[judge])
        except InputError as error:
            yield str(error)


def _test_targets(study: Edct, conditions: Iterable[Condition | PairCondition]) -> list[str]:
    return sorted({condition.vlm for condition in conditions if study.vlms[condition.vlm].plugin in TEST_MODELS})
