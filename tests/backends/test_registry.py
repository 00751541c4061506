"""What plug-ins say about themselves and the plug-ins they are made of."""

from typing import Any

import pytest

from cfeval.backends import registry
from cfeval.backends.registry import Expected

TALKER = {"backend": "openai", "model": "talker", "base_url": "http://127.0.0.1:9/v1", "max_tokens": 300}
CHAT = {"backend": "chat", "model": TALKER}
ONE = Expected("talker", image_tokens=1500, max_tokens=300)


@pytest.mark.parametrize(
    ("family", "spec", "sure", "repairs"),
    [
        ("chat", TALKER, ["talker"], []),
        ("chat", {"backend": "scripted"}, [], []),
        ("writers", CHAT, ["talker"], ["talker"]),
        ("writers", {"backend": "chat", "model": {"backend": "scripted"}}, [], []),
        ("judges", CHAT | {"samples": 3}, ["talker"] * 3, ["talker"] * 3),
        (
            "judges",
            {"backend": "panel", "judges": [CHAT, {"backend": "lexical"}, CHAT | {"samples": 3}]},
            ["talker"] * 4,
            ["talker"] * 4,
        ),
        ("editors", {"backend": "bfl", "model": "flux-2-max"}, ["flux-2-max"], []),
        ("editors", {"backend": "openrouter_image", "model": "painter"}, ["painter"], []),
        ("editors", {"backend": "openai_image", "model": "painter"}, ["painter"], []),
    ],
)
def test_a_plug_in_says_which_calls_one_request_makes(
    family: str, spec: dict[str, Any], sure: list[str], repairs: list[str]
) -> None:
    calls = registry.calls(family, spec)
    assert [call.model for call in calls if not call.repair] == sure
    assert [call.model for call in calls if call.repair] == repairs
    assert all(call.images == 1 for call in calls) == (family == "editors" or not calls)
    assert bool(calls) == registry.needs(family, spec).api


def test_the_prompts_of_a_writer_are_counted() -> None:
    [chat] = registry.calls("chat", TALKER)
    assert chat == ONE
    first, repair = registry.calls("writers", CHAT)
    assert repair.prompt > first.prompt > 1000
    assert (first.max_tokens, first.image_tokens) == (300, 1500)


def test_offline_no_provider_is_asked_but_what_lies_here_is_looked_at(tmp_path: Any) -> None:
    spec = CHAT | {"prompts": str(tmp_path)}
    texts = [(finding.fine, finding.text) for finding in registry.examine("judges", spec, offline=True)]
    assert [fine for fine, _ in texts] == [False, False, True]
    assert "judge.md" in texts[0][1]
    assert "the provider is not asked" in texts[2][1]
