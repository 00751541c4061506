"""Programs of many questions are under way at the same time, and their calls keep to the one limit."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.cvqa.records import Answer
from cfeval.cvqa.stages.answers import answers
from tests.cvqa.pairs import open_image, pair
from tests.loopback.server import loopback
from tests.provider_study import target

TWO_CALLS = (
    "def execute_command(image):\n    p = ImagePatch(image)\n    first = p.simple_query({question})\n"
    "    return p.simple_query('Is it certain that it is ' + first + '?')"
)
AT_ONCE = 16


def _run(base_url: str, tmp_path: Path, name: str, pairs: int, monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    calls = {"cache": str(tmp_path / f"{name}.sqlite"), "max_retries": 0, "max_connections": AT_ONCE}
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps(calls))
    writer = {"plugin": "mock", "programs": {"vipergpt": TWO_CALLS}}
    solver: dict[str, Any] = {"plugin": "program", "program_generator": writer}
    solver["vision"] = {"plugin": "transformers", "vqa": target(base_url)}
    asked = [pair(number) for number in range(1, pairs + 1)]
    return list(answers(asked, open_image, registry.build("solvers", solver), 1, 1))


@pytest.mark.slow
def test_programs_wait_together_up_to_the_limit_and_say_the_same_as_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", "key")
    with loopback() as server:
        server.held = lambda place: len(server.log) < min(place - 1 + AT_ONCE, 96)  # until all wait that may
        said = _run(server.openai, tmp_path, "first", 24, monkeypatch)
        assert server.most_in_flight == AT_ONCE
        assert [one.program.calls for one in said if one.program] == [2] * 48
        assert server.sent().total() == 96
        assert _run(server.openai, tmp_path, "first", 24, monkeypatch) == said
        assert server.sent().total() == 96


def test_a_call_that_fails_ends_the_run_and_none_is_left_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", "key")
    with loopback(latency=0.05) as server:
        server.script([None] * 7 + ["http_402"])
        with pytest.raises(Exception, match="no credit left"):
            _run(server.openai, tmp_path, "fails", 24, monkeypatch)
        assert sum(server.sent().values()) < 40
