"""The vendors' packages as transport: loaded only to send, bounded by us, and no reason to pay for anything again."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest

from cfeval.core.jsonl import write_jsonl
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import Sample
from cfeval.inference.remote import http, providers
from cfeval.inference.remote.images import data_url
from tests.conftest import Run
from tests.core.test_outside import params
from tests.images import image
from tests.inference.models.scripted import scripted
from tests.inference.remote.asking import PHOTO, ask, chat, edited
from tests.inference.remote.child import conversations
from tests.inference.remote.conftest import Configure
from tests.inference.remote.keys import KEY
from tests.loopback.fault import Kind
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

SDKS = ("openai", "anthropic", "google.genai", "litellm")
BEFORE = Path(__file__).with_name("stored_before.zip")
"""Two conversations and three edits, exported by the last version that spoke HTTP by itself."""
THERE = "http://127.0.0.1:18765"


def test_calls_that_were_stored_before_the_packages_are_replayed_without_loading_one(
    configure: Configure, cfeval: Run, tmp_path: Path
) -> None:
    cache = configure(offline=True)
    assert cfeval("cache", "import", BEFORE, "--cache", cache)[1] == "7 calls imported, 0 already in the cache\n"
    server: Any = SimpleNamespace(openai=f"{THERE}/v1", openrouter=f"{THERE}/api/v1", bfl=THERE)
    said = conversations(server.openrouter, 0, 2)
    assert [one["answer"] for one in said] == ["green umbrella", "orange umbrella"]
    made = [ask(server, kind) for kind in (Kind.IMAGE, Kind.EDIT, Kind.SUBMIT)]
    assert [one.status for one in made] == [Status.OK] * 3
    assert [one.value[:12] for one in made] == ["3c6123968b4f", "430092283339", "8b75d00e48c0"]


_STUDY = """
import json, sys
from cfeval import cli
from cfeval.study.components import check_params
check_params(json.loads(sys.argv[1]))
for command in (["--help"], ["edct", "tables", "--help"], ["doctor", "--help"]):
    cli.run(command)
print(sorted({*%r} & set(sys.modules)))
"""


def test_checks_help_and_tables_load_no_package_of_a_vendor(server: Loopback) -> None:
    study = params(server)
    study["edct"]["vlms"] |= {
        "claude": {"plugin": "anthropic", "model": "claude-x"},
        "gemini": {"plugin": "google", "model": "gemini-x"},
        "bedrock": {"plugin": "litellm", "model": "bedrock/x"},
    }
    command = [sys.executable, "-c", _STUDY % (SDKS,), json.dumps(study)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    shown = image(1, (8, 6))
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples/i1.png").write_bytes(shown.png)
    write_jsonl(tmp_path / "samples.jsonl", iter([Sample(id="i1", image=shown.ref("i1.png"), question="What is it?")]))
    return tmp_path / "samples.jsonl"


@pytest.mark.parametrize(
    ("spec", "module", "extra"),
    [
        ({"plugin": "anthropic", "model": "claude-x"}, "anthropic", "anthropic"),
        ({"plugin": "google", "model": "gemini-x"}, "google.genai", "google"),
        ({"plugin": "litellm", "model": "mistral/x"}, "litellm", "litellm"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    configure: Configure,
    samples: Path,
    cfeval: Run,
    monkeypatch: pytest.MonkeyPatch,
    spec: dict[str, Any],
    module: str,
    extra: str,
) -> None:
    configure()
    monkeypatch.setitem(sys.modules, module, None)
    vlm = json.dumps({**spec, "key_env": "LOOPBACK_KEY"})
    out = samples.parent / "b.jsonl"
    status, _, err = cfeval("edct", "baselines", "--samples", samples, "--vlm", vlm, "--seed", 1, "--out", out)
    assert status == 2
    assert err.splitlines()[-1].startswith("cfeval: ")
    assert f"pip install 'cfeval[{extra}]'" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not out.exists()


def test_the_package_is_given_no_retries_no_redirects_and_no_account_of_the_environment(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(max_retries=0)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another")
    sent: list[httpx2.Request] = []
    send = http.HttpClient.send

    async def spied(self: http.HttpClient, request: httpx2.Request, **options: Any) -> httpx2.Response:
        sent.append(request)
        return await send(self, request, **options)

    monkeypatch.setattr(http.HttpClient, "send", spied)
    server.script(["http_500"])
    [reply] = chat(server)
    assert (reply.status, len(sent), len(server.log)) == (Status.TRANSPORT_ERROR, 1, 1)
    headers = sent[0].headers
    assert headers["user-agent"].startswith("AsyncOpenAI/Python")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "openai-organization" not in headers
    assert sent[0].extensions["timeout"]["connect"] == 10.0
    assert openai.DEFAULT_MAX_RETRIES == 2, "that is what is switched off"


def test_a_server_at_home_gets_no_key(configure: Configure) -> None:
    configure()
    with loopback() as server:
        [reply] = chat(server, key_env="")
        assert (reply.status, server.log[0].auth) == (Status.OK, False)


@pytest.mark.parametrize("api", ["chat", "images"])
def test_an_editor_that_names_no_variable_sends_its_providers_key(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    configure()
    monkeypatch.setattr(providers, "on_this_machine", lambda _: False)
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    made = edited(server, Kind.IMAGE, key_env="", api=api)
    assert (made.status, server.log[0].auth) == (Status.OK, True)


@pytest.mark.usefixtures("hurry")
def test_an_answer_that_is_too_large_is_given_up_in_the_midst(
    server: Loopback, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure()
    monkeypatch.setattr(http, "MAX_BYTES", 100)
    [reply] = chat(server)
    assert reply.status == Status.TRANSPORT_ERROR
    assert "the answer is over" in reply.reason
    assert len(server.log) == 2


@pytest.mark.parametrize(
    ("options", "api"),
    [({"plugin": "openrouter_image", "api": "images"}, "openrouter"), ({"plugin": "openai_image"}, "openai")],
)
def test_further_fields_and_headers_travel_and_are_another_request(
    server: Loopback, configure: Configure, options: dict[str, Any], api: str
) -> None:
    configure()
    where = {"base_url": getattr(server, api), **options}
    made = [edited(server, Kind.EDIT, **where, extra=extra) for extra in ({}, {"quality": "high"}, {"quality": "high"})]
    assert [one.status for one in made] == [Status.OK] * 3
    assert [request.payload.get("quality") for request in server.log] == [None, "high"]
    assert edited(server, Kind.EDIT, **where, headers={"X-Title": "t"}).status == Status.OK
    assert len(server.log) == 3
    assert ("seed" in server.log[0].payload) == (api == "openrouter")


def test_a_server_that_takes_a_seed_is_sent_the_items_own(server: Loopback, configure: Configure) -> None:
    configure()
    where = {"base_url": server.openai, "seed": True}
    assert edited(server, Kind.EDIT, **where).status == Status.OK
    assert server.log[0].payload["seed"] == str(derive_seed(1, "i1", 1, "edit"))


def test_a_server_that_edits_by_generations_gets_the_image_in_its_own_field(
    server: Loopback, configure: Configure
) -> None:
    configure()
    made = base64.b64encode(image(9, (30, 45)).png).decode()
    with scripted() as other:
        other.say({"data": [{"b64_json": made}]})
        options = {"base_url": f"{other.origin}/v1", "reference": "image_url", "seed": True}
        assert edited(server, Kind.EDIT, **options).status == Status.OK
    [asked] = other.log
    assert asked.body["seed"] == derive_seed(1, "i1", 1, "edit")
    assert asked.path == "/v1/images/generations"
    assert asked.body["image_url"] == data_url(PHOTO)
