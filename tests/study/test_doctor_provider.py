"""`cfeval doctor` asks a provider what the study will ask of it; with --probe, by real requests."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfeval.inference.remote.cache import ResponseCache
from tests.conftest import Run
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, params, target, written
from tests.study.test_doctor_findings import about, examined

__all__ = ["examined"]
Examined = Callable[..., tuple[int, list[str], str]]


ROUTER = {"provider": "openrouter"}


# OpenRouter


def test_the_credit_that_is_left_is_printed(examined: Examined, server: Loopback, tmp_path: Path) -> None:
    server.charge(usd=987.655)
    status, lines, _ = examined(params(tmp_path, server.openrouter, ROUTER))
    assert status == 0
    assert "takes the key, 12.35 USD of credit are left; " in about(lines, "edct.vlms.m")
    assert about(lines, "edct.vlms.m").endswith("answers and has gpt-4o")


@pytest.mark.parametrize("limited", [True, False])
def test_no_credit_is_left(examined: Examined, server: Loopback, tmp_path: Path, limited: bool) -> None:
    server.charge(usd=1000)
    if not limited:
        server.key_limit = None
    status, lines, _ = examined(params(tmp_path, server.openrouter, ROUTER))
    assert status == 2
    assert "takes the key, but no credit is left; add credit" in about(lines, "edct.vlms.m")


def test_the_key_itself_is_asked_about(
    examined: Examined, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, f"{CANARY}x")
    status, lines, _ = examined(params(tmp_path, server.openrouter, ROUTER))
    assert status == 2
    assert f"the key in {KEY_ENV} is refused" in about(lines, "edct.vlms.m")
    assert "openrouter.key" in server.requests()
    assert "openrouter.models" not in server.requests(), "which answers any key at OpenRouter"


@pytest.mark.parametrize(
    ("options", "takes", "found"),
    [
        ({}, ["max_tokens", "temperature"], ["seed, and calls would be refused; set seed: false"]),
        ({"seed": False}, ["max_tokens"], []),
        ({"temperature": 0, "seed": False}, ["max_completion_tokens"], ["temperature, and .*; leave temperature out"]),
        (
            {"extra": {"top_k": 1, "provider": {"only": ["x"]}}},
            ["seed"],
            ["max_tokens, .*", "top_k, .* leave top_k out"],
        ),
        ({}, None, []),
    ],
)
def test_a_parameter_that_a_model_does_not_take_is_named(
    examined: Examined,
    server: Loopback,
    tmp_path: Path,
    options: dict[str, Any],
    takes: list[str] | None,
    found: list[str],
) -> None:
    server.takes = takes
    status, lines, _ = examined(params(tmp_path, server.openrouter, ROUTER | options))
    faults = [line for line in lines if line.startswith("FAIL ")]
    assert status == (2 if found else 0)
    assert len(faults) == len(found)
    for line, end in zip(faults, found, strict=True):
        assert re.fullmatch(f"FAIL edct.vlms.m: gpt-4o does not take {end}", line)


def test_a_schema_matters_only_where_replies_have_a_form(examined: Examined, server: Loopback, tmp_path: Path) -> None:
    server.takes = ["max_tokens", "seed"]
    content = params(tmp_path, server.openrouter, ROUTER)
    assert examined(content)[0] == 0
    content["edct"]["judges"]["j"] = {"plugin": "chat", "model": target(server.openrouter, **ROUTER)}
    status, lines, _ = examined(content)
    assert status == 2
    assert about(lines, "edct.judges.j").endswith(
        "does not take response_format, and calls would be refused; set json_schema: false"
    )


# Keys


@pytest.mark.parametrize("editor", ["openai_image", "openrouter_image", "bfl"])
def test_a_server_on_this_machine_needs_no_key(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "BFL_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    with loopback() as server:
        content = params(tmp_path, server.openrouter, ROUTER | {"key_env": ""})
        where = {"openai_image": server.openai, "openrouter_image": server.openrouter, "bfl": server.bfl}[editor]
        model = "flux-2-pro" if editor == "bfl" else "vlm"
        content["edct"]["vlms"]["m"]["model"] = "vlm"
        content["edct"]["editors"]["e"] = {"plugin": editor, "base_url": where, "model": model}
        status, out, err = cfeval("doctor", written(tmp_path, content).parent)
        assert status == 0, out + err
        assert not any(request.auth for request in server.log), "nor is the provider's own key sent to it"


# What is looked at


def test_only_the_studies_that_are_asked_for_or_laid_over_are_looked_at(
    examined: Examined, cfeval: Run, server: Loopback, tmp_path: Path
) -> None:
    content = params(tmp_path, server.openai)
    content["cvqa"] = {
        "seed": 1,
        "sets": {"s": {"plugin": "synthetic", "items": 5}},
        "solvers": {"v": {"plugin": "random"}},
        "conditions": [{"set": ["s"], "solver": ["v"]}],
    }
    assert places(examined(content)[1]) == {"edct", "cvqa"}
    assert places(examined(content, "--evaluation", "edct")[1]) == {"edct"}
    assert places(examined(content, "--evaluation", "cvqa")[1]) == {"cvqa"}
    overlay = written(tmp_path, {"cvqa": {"seed": 3}}, "overlay.yaml")
    lines = examined(content, "--params", overlay)[1]
    assert places(lines) == {"cvqa"}
    assert not any(line[5:].startswith(("cache", "prices", "disk .")) for line in lines), (
        "nothing of it calls a provider"
    )
    status, _, err = cfeval("doctor", tmp_path, "--evaluation", "cvq")
    assert (status, "did you mean 'cvqa'?" in err) == (2, True)


def places(lines: list[str]) -> set[str]:
    return {line[5:].partition(".")[0] for line in lines if re.match(r"(edct|vce|cvqa)\.", line[5:])}


# Probes


@pytest.fixture
def study(server: Loopback, tmp_path: Path) -> dict[str, Any]:
    """A target that sees, a judge that reads, an editor: all behind the server."""
    content = params(tmp_path, server.openrouter, ROUTER)
    content["edct"]["judges"]["j"] = {"plugin": "chat", "model": target(server.openrouter, temperature=0, **ROUTER)}
    editor = {"plugin": "openrouter_image", "base_url": server.openrouter, "key_env": KEY_ENV, "model": "gpt-4o"}
    content["edct"]["editors"]["e"] = editor
    return content


def test_a_probe_sends_one_request_to_each_model_and_says_what_it_cost(
    examined: Examined, server: Loopback, study: dict[str, Any], tmp_path: Path
) -> None:
    status, lines, _ = examined(study, "--probe")
    assert status == 0, lines
    said = [line for line in lines if " a reply, " in line]
    assert [re.sub(r"\d+\.\d+ s|\d\.\d{4} USD", "…", line) for line in said] == [
        "ok   edct.vlms.m: gpt-4o takes images, … a reply, … paid",
        "ok   edct.editors.e: gpt-4o edits images (came back as 256 × 256), … a reply, … paid",
        "ok   edct.judges.j: gpt-4o takes texts, keeps the schema, … a reply, … paid",
    ]
    usd = sum(float(found) for line in said for found in re.findall(r"(\d\.\d{4}) USD paid", line))
    assert usd == pytest.approx(server.usd, abs=2e-4)
    sent = server.requests()["openrouter.chat"]
    assert sent == 3
    cache = ResponseCache(tmp_path / "calls.sqlite")
    assert [json.loads(call.reply)["status"] for call in cache.calls()] == ["ok"] * 3
    assert {call.item for call in cache.calls()} == {"probe"}
    cache.close()


def test_what_fails_in_a_probe_is_a_finding_and_the_others_are_sent(
    examined: Examined, server: Loopback, study: dict[str, Any]
) -> None:
    server.script(["http_404", None, "finish_length"])
    status, lines, err = examined(study, "--probe")
    assert status == 2
    first, second, third = lines[-3:]
    assert first.startswith("FAIL edct.vlms.m: gpt-4o ends as rejected: HTTP 404")
    assert second.startswith("ok   ")
    assert "gpt-4o ends as truncated: cut off at a limit on tokens" in third
    assert err.endswith("cfeval: 2 things will not work; see above what to do\n")


def test_a_probe_keeps_to_the_budget_and_to_what_passed(
    examined: Examined, cfeval: Run, server: Loopback, study: dict[str, Any], tmp_path: Path
) -> None:
    study["calls"]["max_calls"] = 1
    study["edct"]["judges"]["j"]["model"]["model"] = "gpt-4p"
    status, lines, _ = examined(study, "--probe")
    assert status == 2
    assert server.requests()["openrouter.chat"] == 1
    assert "the budget calls.max_calls = 1 is reached" in lines[-1]
    assert lines[-1].startswith("FAIL edct.editors.e: ")
    assert "did you mean" in about(lines, "edct.judges.j"), "it is known not to work, and is not asked"
    study["calls"]["offline"] = True
    status, _, err = cfeval("doctor", "--probe", written(tmp_path, study).parent)
    assert (status, "--probe sends requests, but calls.offline is set" in err) == (2, True)
