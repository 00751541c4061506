"""What the steps of a whole cvqa study are given, worked out from its parameters: conditions, solvers, sets.

The rules write it (`workflow/rules/cvqa.smk`), the steps read it (`--study`).
"""

from collections.abc import Mapping
from typing import Any

from cfeval.core import registry
from cfeval.core.cli_options import StudyParams
from cfeval.cvqa.config import Cvqa, Solver
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables.replies import SetFacts, SolverFacts
from cfeval.stats.intervals import Interval

# Kinds of solvers whose answers hold programs; an agent's calls are recorded alike.
_WRITE_PROGRAMS = ("program", "agent")


class StudyConditions(StudyParams):
    """What is looked at.

    Attributes:
        conditions: in order.
        shards: into how many files each stage of a condition is cut.
    """

    conditions: tuple[CvqaCondition, ...] = ()
    shards: int = 1


class CallsParams(StudyConditions):
    """Whose calls are exported.

    Attributes:
        builds: sets that are built.
        readers: language models that read replies.
    """

    builds: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


class TablesParams(CallsParams):
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


def conditions_of(study: Cvqa, shards: int) -> StudyConditions:
    """All conditions of a study."""
    return StudyConditions(conditions=study.all_conditions(), shards=shards)


def calls_params(study: Cvqa, shards: int) -> CallsParams:
    """Whose calls are exported."""
    return CallsParams(
        conditions=study.all_conditions(),
        shards=shards,
        builds=list(study.builds_asked()),
        readers=list(study.reply_readers),
    )


def tables_params(study: Cvqa, shards: int) -> TablesParams:
    """What all tables of a study are made of."""
    sets = study.sets_asked()
    return TablesParams(
        conditions=study.all_conditions(),
        shards=shards,
        builds=tuple(study.builds_asked()),
        readers=tuple(study.reply_readers),
        sets={name: SetFacts(**facts) for name, facts in set_facts(study).items() if name in sets},
        solvers={name: SolverFacts(**facts) for name, facts in solver_facts(study).items()},
        interval=study.interval,
        genders=study.genders,
    )


# Plugins that stand for no real model.
_BUILT_IN = {
    "chat": ("world", "puzzles", "easy_vqa", "mock"),
    "program_generators": ("grammar", "mock"),
    "vision_tools": ("puzzle", "world", "mock"),
    "solvers": ("random", "by_people"),
}


def solver_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.SolverFacts`, by solver."""
    return {name: _solver_facts(name, study.solvers) for name in study.solvers}


def set_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.SetFacts`, by set."""
    return {
        name: {"subset": spec.plugin_options().get("share", 1) < 1 or bool(spec.part_of), "fresh_of": spec.fresh_of}
        for name, spec in study.sets.items()
    }


def _solver_facts(name: str, solvers: Mapping[str, Solver]) -> dict[str, Any]:
    solver = solvers[name]
    spec = solver.plugin_options()
    cot = bool(spec.get("cot"))
    return {
        "kind": _kind(solver),
        "cot": cot,
        "no_cot_baseline": _no_cot_baseline(name, solvers) if cot else "",
        "llm": solver.llm or _llm_of(spec),
        "paper": solver.paper,
        "test_world": any(
            component["plugin"] in _BUILT_IN.get(family, ())
            for family, component in registry.components("solvers", spec)
        ),
    }


def _kind(solver: Solver) -> str:
    """What answers; recorded responses are programs' where params.yaml names the language model behind them."""
    if solver.plugin == "responses" and solver.llm:
        return "program"
    return solver.plugin if solver.plugin in ("program", "agent", "random") else "chat"


def _no_cot_baseline(name: str, solvers: Mapping[str, Solver]) -> str:
    plain = {
        other: solver.plugin_options() | {"cot": solver.plugin_options().get("cot", False)}
        for other, solver in solvers.items()
    }
    wanted = plain[name] | {"cot": False}
    return next((other for other, spec in plain.items() if spec == wanted), "")


def _llm_of(spec: Mapping[str, Any]) -> str:
    """The language model that writes a solver's programs; of a built-in program generator its own name."""
    program_generator = spec.get("program_generator")
    if not program_generator:
        return ""
    model = program_generator.get("model", {})
    return str(model.get("model") or model.get("plugin") or program_generator["plugin"])
