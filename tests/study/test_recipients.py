"""Who is said to receive images, and who texts alone, is who receives them: plugin by plugin, and a whole study."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.config import load, parse
from cfeval.core import registry
from cfeval.core.plugin import Plugin
from cfeval.core.registry import Recipient
from cfeval.edct.protocols.rules import RULES, UNCITED_EDIT
from cfeval.inference.prompts import ChatPlugin
from cfeval.study.components import recipient_lines, recipients, used
from tests.conftest import Run
from tests.loopback.site import Loopback
from tests.study.service import init_options, photographs, service

FAMILIES = (
    *("chat", "editors", "judges", "verifiers", "instruction_writers", "pair_judges", "solvers", "vision_tools"),
    *("program_generators", "question_generators", "question_validators", "reply_readers", "segmenters", "datasets"),
)
CHAT = {"plugin": "openai", "provider": "other", "model": "m", "base_url": "http://far:1/v1"}
GROQ, XAI = ({"plugin": "openai", "provider": name, "model": name} for name in ("groq", "xai"))
BLIND_VISION = {"plugin": "transformers", "llm": GROQ, "vqa": XAI}
WRITTEN = {"plugin": "chat", "model": GROQ}
OTHER = {"plugin": "chat", "model": XAI}
PLUGINS = [(family, name, kind) for family in FAMILIES for name, kind in registry.options(family).items()]


def sent(family: str, spec: dict[str, Any], *protocols: str) -> set[tuple[str, bool]]:
    """The models that a plugin says it sends to, each with whether it is sent images."""
    return {(one.model, one.images) for one in registry.recipients(family, spec, protocols)}


@pytest.mark.parametrize(("family", "name", "kind"), PLUGINS, ids=[f"{family}-{name}" for family, name, _ in PLUGINS])
def test_whoever_calls_a_provider_says_where(family: str, name: str, kind: type[Plugin]) -> None:
    calls = kind.resources is not Plugin.resources and "api=True" in inspect.getsource(kind.resources)
    assert not calls or kind.sends_to is not Plugin.sends_to


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, name, kind in PLUGINS if issubclass(kind, ChatPlugin)]
)
def test_a_model_that_is_asked_by_forms_is_shown_what_they_show(family: str, name: str) -> None:
    spec = {"plugin": name, "model": CHAT}
    kind = registry.options(family)[name].model_validate({"model": CHAT})
    for protocol in RULES if kind.by_protocol else ("",):
        seen = any(form.seen for form in kind.forms(protocol))
        assert sent(family, spec, protocol) == {("m", seen)}, protocol


def test_a_writer_sees_images_only_where_what_is_not_cited_is_edited() -> None:
    writer = {"plugin": "chat", "model": CHAT}
    others = [protocol for protocol in RULES if protocol != UNCITED_EDIT]
    assert sent("instruction_writers", writer, *others) == {("m", False)}
    assert sent("instruction_writers", writer, *others, UNCITED_EDIT) == {("m", True)}


@pytest.mark.parametrize(
    ("family", "spec", "wanted"),
    [
        ("judges", {"plugin": "panel", "judges": [WRITTEN, {"plugin": "blind", "model": XAI}]}, {"groq": 0, "xai": 1}),
        ("judges", {"plugin": "noisy", "judge": WRITTEN}, {"groq": 0}),
        (
            "pair_judges",
            {"plugin": "panel", "judges": [WRITTEN, {"plugin": "chat", "model": XAI}]},
            {"groq": 0, "xai": 0},
        ),
        ("verifiers", {"plugin": "all_of", "verifiers": {"a": {"plugin": "semantic", "model": XAI}}}, {"xai": 1}),
        (
            "editors",
            {"plugin": "gated", "editor": {"plugin": "bfl"}, "verifier": {"plugin": "semantic", "model": XAI}},
            {"flux-kontext-max": 1, "xai": 1},
        ),
        ("editors", {"plugin": "openai_image"}, {"gpt-image-1": 1}),
        ("editors", {"plugin": "openrouter_image"}, {"google/gemini-2.5-flash-image": 1}),
        ("editors", {"plugin": "diffusers", "model": "a/b"}, {}),
        ("vision_tools", BLIND_VISION, {"groq": 0, "xai": 1}),
        ("vision_tools", {**BLIND_VISION, "vqa": GROQ}, {"groq": 1}),
        ("program_generators", WRITTEN, {"groq": 0}),
        (
            "solvers",
            {"plugin": "program", "program_generator": {"plugin": "chat", "model": CHAT}, "vision": BLIND_VISION},
            {"m": 0, "groq": 0, "xai": 1},
        ),
        ("solvers", {"plugin": "agent", "model": CHAT, "vision": {"plugin": "world"}}, {"m": 1}),
        ("solvers", {"plugin": "agent", "model": CHAT, "sees": False, "vision": {"plugin": "world"}}, {"m": 0}),
        ("solvers", {"plugin": "chat", "model": CHAT}, {"m": 1}),
        ("chat", {"plugin": "transformers", "model": "a/b"}, {}),
    ],
)
def test_what_a_plugin_passes_on_decides_what_is_sent(
    family: str, spec: dict[str, Any], wanted: dict[str, int]
) -> None:
    protocols = {"judges": ["edct-2025"], "pair_judges": ["pairs-2026"]}.get(family, [])
    assert sent(family, spec, *protocols) == {(model, bool(images)) for model, images in wanted.items()}


def test_a_plugin_that_does_not_say_where_is_told_to_do_so_with_images(monkeypatch: pytest.MonkeyPatch) -> None:
    from cfeval.inference.models.openai import Plugin as OpenAI

    monkeypatch.setattr(OpenAI, "sends_to", Plugin.sends_to)
    [found] = registry.recipients("chat", CHAT)
    assert found == Recipient("an address that the plugin of cfeval.inference.models.openai does not tell", "m", True)


def study(**calls: Any) -> dict[str, Any]:
    """A study whose models are at several places."""
    vlms = {"far": GROQ, "near": {"plugin": "openai", "provider": "ollama", "model": "llava"}}
    return {
        "calls": calls,
        "edct": {
            "datasets": {"d": {"plugin": "files", "path": "."}},
            "vlms": vlms,
            "instruction_writers": {"w": {"plugin": "chat", "model": XAI}},
            "editors": {"e": {"plugin": "diffusers", "model": "a/b"}},
            "judges": {"j": {"plugin": "chat", "model": {"plugin": "litellm", "model": "bedrock/judge"}}},
            "tables": {
                "table1": [{"dataset": ["d"], "vlm": [*vlms], "writer": ["w"], "editor": ["e"], "judge": ["j"]}]
            },
        },
    }


def test_a_line_names_each_host_its_models_and_what_goes_there() -> None:
    assert recipient_lines(parse(study())) == [
        "Images and texts go to api.groq.com: groq",
        "Images and texts go to localhost:11434, on this machine: llava",
        "Only texts go to api.x.ai: xai",
        "Only texts go to bedrock (through LiteLLM): bedrock/judge",
    ]
    assert recipient_lines(parse(study(offline=True))) == ["Nothing is sent: calls.offline is set."]


def test_where_all_is_local_nothing_leaves_the_machine() -> None:
    content = study()
    near = {"plugin": "openai", "provider": "Ollama", "model": "llava"}
    content["edct"]["vlms"]["far"] = {"plugin": "transformers", "model": "a/b"}
    content["edct"]["instruction_writers"]["w"] = content["edct"]["judges"]["j"] = {"plugin": "chat", "model": near}
    assert recipient_lines(parse(content)) == [
        "Images and texts go to localhost:11434, on this machine: llava",
        "Nothing leaves this machine, unless a server on it passes it on.",
    ]
    content["edct"]["vlms"]["near"] = content["edct"]["vlms"]["far"]
    content["edct"]["instruction_writers"]["w"]["model"] = content["edct"]["vlms"]["far"]
    assert recipient_lines(parse(content)) == ["Nothing is sent: all models run in this process."]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with service() as running:
        yield running


@pytest.mark.slow
def test_a_study_sends_images_to_those_that_it_names_and_to_no_others(
    cfeval: Run, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 2)
    assert cfeval("init", "mine", *init_options(server, Path("photos"), ["vlm-a"]))[0] == 0
    told = recipients(used(load(tmp_path / "mine/params.yaml")))
    status, out, err = cfeval("run", "mine", "--yes")
    assert status == 0, err
    received: dict[str, bool] = {}
    for request in server.log:
        if not request.model:  # a list of models was read
            continue
        shown = "image" in request.payload if "edits" in request.path else "data:image" in json.dumps(request.payload)
        received[request.model] = received.get(request.model, False) or shown
    assert told == {server.origin.partition("//")[2]: received}
    assert received == {"vlm-a": True, "writer": True, "painter": True, "seer-gate": True, "seer": True, "judge": False}
    lines = out.splitlines()
    place = f"{server.origin.partition('//')[2]}, on this machine"
    assert f"Only texts go to {place}: judge" in lines
    assert lines.index(f"Only texts go to {place}: judge") < next(
        n for n, line in enumerate(lines) if " calls, " in line
    )


def test_run_tells_it_before_anything_is_sent(
    cfeval: Run, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 1)
    cfeval("init", "mine", *init_options(server, Path("photos"), ["vlm-a"]))
    status, out, _ = cfeval("run", "mine")
    assert status == 2
    assert "Only texts go to " in out
    assert not server.sent()
