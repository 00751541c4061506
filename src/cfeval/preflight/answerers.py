"""What the tables of the cvqa study say of its answerers, told from their specifications."""

from collections.abc import Mapping
from typing import Any

from cfeval.backends import registry
from cfeval.params.cvqa import Answerer, Cvqa

_BUILT_IN = {
    ("chat", "world"),
    ("chat", "puzzles"),
    ("chat", "easy_vqa"),
    ("chat", "scripted"),
    ("programmers", "grammar"),
    ("programmers", "scripted"),
    ("vision", "puzzle"),
    ("vision", "world"),
    ("vision", "scripted"),
    ("answerers", "random"),
}
"""Plug-ins that stand for no real model."""
_KINDS = {"program": "program", "random": "random"}


def answerer_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.tables.cvqa_material.AnswererFacts`, by answerer."""
    return {name: _facts(name, study.answerers) for name in study.answerers}


def set_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.tables.cvqa_material.SetFacts`, by set."""
    return {name: {"subset": spec.plugin().get("share", 1) < 1} for name, spec in study.sets.items()}


def _facts(name: str, answerers: Mapping[str, Answerer]) -> dict[str, Any]:
    told = answerers[name]
    spec = told.plugin()
    cot = bool(spec.get("cot"))
    return {
        "kind": _kind(told),
        "cot": cot,
        "twin": _twin(name, answerers) if cot else "",
        "llm": told.llm or _writer(spec),
        "paper": told.paper,
        "test_world": any(
            (family, its["backend"]) in _BUILT_IN for family, its in registry.components("answerers", spec)
        ),
    }


def _kind(told: Answerer) -> str:
    """What answers; recorded responses are programs' where params.yaml names the language model behind them."""
    if told.backend == "responses" and told.llm:
        return "program"
    return _KINDS.get(told.backend, "chat")


def _twin(name: str, answerers: Mapping[str, Answerer]) -> str:
    """The same answerer without chain of thought; empty where there is none."""
    plain = {other: told.plugin() | {"cot": told.plugin().get("cot", False)} for other, told in answerers.items()}
    wanted = plain[name] | {"cot": False}
    return next((other for other, spec in plain.items() if spec == wanted), "")


def _writer(spec: Mapping[str, Any]) -> str:
    """The language model that writes an answerer's programs; of a built-in programmer its own name."""
    programmer = spec.get("programmer")
    if not programmer:
        return ""
    model = programmer.get("model", {})
    return str(model.get("model") or model.get("backend") or programmer["backend"])
