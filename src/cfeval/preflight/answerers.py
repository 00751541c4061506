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
    specs = {name: spec.plugin() for name, spec in study.answerers.items()}
    return {name: _facts(name, specs) | _named(study.answerers[name]) for name in specs}


def _named(answerer: Answerer) -> dict[str, str]:
    """What params.yaml says of it."""
    return {"paper": answerer.paper} | ({"llm": answerer.llm} if answerer.llm else {})


def set_facts(study: Cvqa) -> dict[str, dict[str, Any]]:
    """The fields of `cfeval.tables.cvqa_material.SetFacts`, by set."""
    return {name: {"subset": spec.plugin().get("share", 1) < 1} for name, spec in study.sets.items()}


def _facts(name: str, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    spec = specs[name]
    parts = list(registry.parts("answerers", spec))
    cot = bool(spec.get("cot"))
    return {
        "kind": _kind(spec),
        "cot": cot,
        "twin": next((other for other in specs if _plain(specs[other]) == _plain(spec) and other != name), "")
        if cot
        else "",
        "llm": _llm(spec),
        "test_world": any((family, its["backend"]) in _BUILT_IN for family, its in parts),
    }


def _plain(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same answerer without chain of thought."""
    return {option: value for option, value in spec.items() if option != "cot" or value is False} | {"cot": False}


def _kind(spec: Mapping[str, Any]) -> str:
    """What answers; of recorded responses what the user says of them."""
    if spec["backend"] == "responses":
        return "program" if spec.get("llm") else "chat"
    return _KINDS.get(spec["backend"], "chat")


def _llm(spec: Mapping[str, Any]) -> str:
    """The language model that writes an answerer's programs; of a built-in programmer its own name."""
    programmer = spec.get("programmer")
    if not programmer:
        return str(spec.get("llm", ""))
    model = programmer.get("model", {})
    return str(model.get("model") or model.get("backend") or programmer["backend"])
