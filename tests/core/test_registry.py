"""What plugins say about themselves and the plugins they are made of."""

from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, NULL_EDIT, UNCITED_EDIT

TALKER = {"plugin": "openai", "model": "talker", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 300}
CHAT = {"plugin": "chat", "model": TALKER}
ONE = CallEstimate("talker", image_tokens=1500, max_tokens=300)


@pytest.mark.parametrize(
    ("family", "spec", "sure", "repairs"),
    [
        ("chat", TALKER, ["talker"], []),
        ("chat", {"plugin": "mock"}, [], []),
        ("instruction_writers", CHAT, ["talker"], ["talker"]),
        ("instruction_writers", {"plugin": "chat", "model": {"plugin": "mock"}}, [], []),
        ("judges", CHAT | {"votes": 3}, ["talker"] * 3, ["talker"] * 3),
        (
            "judges",
            {"plugin": "panel", "judges": [CHAT, {"plugin": "lexical"}, CHAT | {"votes": 3}]},
            ["talker"] * 4,
            ["talker"] * 4,
        ),
        ("editors", {"plugin": "bfl", "model": "flux-2-max"}, ["flux-2-max"], []),
        ("editors", {"plugin": "openrouter_image", "model": "painter"}, ["painter"], []),
        ("editors", {"plugin": "openai_image", "model": "painter"}, ["painter"], []),
    ],
)
def test_a_plug_in_says_which_calls_one_request_makes(
    family: str, spec: dict[str, Any], sure: list[str], repairs: list[str]
) -> None:
    calls = registry.estimate_calls(family, spec, [EDCT_2025])
    assert [call.model for call in calls if not call.repair] == sure
    assert [call.model for call in calls if call.repair] == repairs
    assert all(call.images == 1 for call in calls) == (family == "editors" or not calls)
    assert bool(calls) == registry.resources(family, spec).api


def test_the_prompts_of_a_writer_are_counted() -> None:
    [chat] = registry.estimate_calls("chat", TALKER)
    assert chat == ONE
    first, repair = registry.estimate_calls("instruction_writers", CHAT, [EDCT_2025])
    assert repair.prompt > first.prompt > 1000
    assert (first.max_tokens, first.image_tokens) == (300, 1500)


@pytest.mark.parametrize(
    ("family", "protocol", "images", "limits"),
    [
        ("instruction_writers", EDCT_BENCH_2026, 0, [4096]),
        ("instruction_writers", UNCITED_EDIT, 1, [2048]),
        ("instruction_writers", NULL_EDIT, 0, []),
        ("judges", EDCT_2025, 0, [2048]),
        ("judges", EDCT_BENCH_2026, 0, [4096, 8192]),
        ("judges", NULL_EDIT, 0, [2048]),
        ("judges", UNCITED_EDIT, 0, [2048]),
    ],
)
def test_what_is_asked_depends_on_the_protocol(family: str, protocol: str, images: int, limits: list[int]) -> None:
    named, own = ({**CHAT, "model": {**TALKER, **more}} for more in ({}, {"max_tokens": 2048}))
    open_ended = {**CHAT, "model": {name: value for name, value in TALKER.items() if name != "max_tokens"}}
    calls = [call for call in registry.estimate_calls(family, open_ended, [protocol]) if not call.repair]
    assert [call.max_tokens for call in calls] == limits
    assert {call.images_shown for call in calls} <= {images}
    assert {call.max_tokens for call in registry.estimate_calls(family, named, [protocol])} <= {300}, (
        "the model's own limit"
    )
    assert {call.max_tokens for call in registry.estimate_calls(family, own, [protocol])} <= {2048}


def test_of_no_protocol_nothing_is_said() -> None:
    spec = {"plugin": "panel", "judges": [CHAT]}
    assert registry.dependencies("judges", spec, []) == registry.estimate_calls("judges", spec, []) == ()


def test_offline_no_provider_is_asked_but_what_lies_here_is_looked_at(tmp_path: Any) -> None:
    spec = CHAT | {"prompts": str(tmp_path)}
    texts = [(finding.fine, finding.text) for finding in registry.diagnose("judges", spec, True, [EDCT_2025])]
    assert [fine for fine, _ in texts] == [False, False, True]
    assert "judge.md" in texts[0][1]
    assert "the provider is not asked" in texts[2][1]
