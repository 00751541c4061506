"""What the tables of cvqa say of solvers and sets, as the parameters tell it."""

from collections.abc import Mapping
from typing import Any

from cfeval.core import registry
from cfeval.cvqa.config import Cvqa, Solver

_BUILT_IN = {
    ("chat", "world"),
    ("chat", "puzzles"),
    ("chat", "easy_vqa"),
    ("chat", "mock"),
    ("program_generators", "grammar"),
    ("program_generators", "mock"),
    ("vision_tools", "puzzle"),
    ("vision_tools", "world"),
    ("vision_tools", "mock"),
    ("solvers", "random"),
    ("solvers", "by_people"),
}
"""Plugins that stand for no real model."""


def solver_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.SolverFacts`, by solver."""
    return {name: _facts(name, study.solvers) for name in study.solvers}


def set_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.cvqa.tables.replies.SetFacts`, by set."""
    return {
        name: {
            "subset": spec.plugin_options().get("share", 1) < 1 or bool(spec.part_of),
            "fresh_of": spec.fresh_of,
        }
        for name, spec in study.sets.items()
    }


def _facts(name: str, solvers: Mapping[str, Solver]) -> dict[str, Any]:
    told = solvers[name]
    spec = told.plugin_options()
    cot = bool(spec.get("cot"))
    return {
        "kind": _kind(told),
        "cot": cot,
        "no_cot_baseline": _no_cot_baseline(name, solvers) if cot else "",
        "llm": told.llm or _writer(spec),
        "paper": told.paper,
        "test_world": any((family, its["plugin"]) in _BUILT_IN for family, its in registry.components("solvers", spec)),
    }


def _kind(told: Solver) -> str:
    """What answers; recorded responses are programs' where params.yaml names the language model behind them."""
    if told.plugin == "responses" and told.llm:
        return "program"
    return told.plugin if told.plugin in ("program", "agent", "random") else "chat"


def _no_cot_baseline(name: str, solvers: Mapping[str, Solver]) -> str:
    """The same solver without chain of thought; empty where there is none."""
    plain = {
        other: told.plugin_options() | {"cot": told.plugin_options().get("cot", False)}
        for other, told in solvers.items()
    }
    wanted = plain[name] | {"cot": False}
    return next((other for other, spec in plain.items() if spec == wanted), "")


def _writer(spec: Mapping[str, Any]) -> str:
    """The language model that writes a solver's programs; of a built-in program generator its own name."""
    program_generator = spec.get("program_generator")
    if not program_generator:
        return ""
    model = program_generator.get("model", {})
    return str(model.get("model") or model.get("plugin") or program_generator["plugin"])
