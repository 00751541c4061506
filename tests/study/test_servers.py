"""Servers that cannot work, each as real ones fail: `doctor` and `run` say so before the study sends anything."""

import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import load
from cfeval.inference.remote.prices import load_prices
from cfeval.study.components import used
from cfeval.study.probe import probes
from tests.conftest import Run
from tests.study.service import photographs

VERDICT = {"analysis": "Both follow.", "pcs": 1, "ncc": 1, "ccs": 1}
Answer = tuple[int, Any]
"""An HTTP status, and JSON or the text of a page."""


@dataclass
class Server:
    """A server that answers by two functions, and keeps what it was asked."""

    url: str
    posts: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serving(lists: Callable[[str], Answer], replies: Callable[[str, dict[str, Any]], Answer]) -> Iterator[Server]:
    """Serve lists of models by path, and replies by path and request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(lists(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.posts.append(body)
            self._send(replies(self.path, body))

        def log_message(self, *_: object) -> None:
            pass

        def _send(self, answer: Answer) -> None:
            status, content = answer
            page = isinstance(content, str)
            data = (content if page else json.dumps(content)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if page else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server = Server(f"http://127.0.0.1:{listening.server_address[1]}")
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield server
        listening.shutdown()


def models(*names: str, **more: Any) -> Callable[[str], Answer]:
    """A list of models below /v1, and nothing elsewhere."""
    listed = {"object": "list", "data": [{"id": name, **more} for name in names]}
    return lambda path: (200, listed) if path == "/v1/models" else (404, "404 page not found")


def says(text: str, model: str = "") -> Callable[[str, dict[str, Any]], Answer]:
    """Every reply is this text."""

    def reply(_: str, body: dict[str, Any]) -> Answer:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return 200, {"model": model or body["model"], "choices": [choice], "usage": {"prompt_tokens": 9}}

    return reply


def shows_image(body: dict[str, Any]) -> bool:
    return "data:image" in json.dumps(body)


def study(folder: Path, base_url: str, provider: str = "vllm", role: str = "vlms", **calls: Any) -> Path:
    """A study whose model under test, or whose judge, is at an address; all else is scripted."""
    photographs(folder / "photos", 2)
    model = {"plugin": "openai", "provider": provider, "model": "mine", "base_url": base_url}
    edct: dict[str, Any] = {
        "items": 2,
        "seed": 1,
        "datasets": {"own": {"plugin": "files", "path": "photos", "question": "What is it?"}},
        "vlms": {"m": {"plugin": "mock"}},
        "instruction_writers": {"w": {"plugin": "mock"}},
        "editors": {"e": {"plugin": "mock"}},
        "judges": {"j": {"plugin": "mock"}},
        "tables": {"table1": [{"dataset": ["own"], "vlm": ["m"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}]},
    }
    edct[role] = {"m": model} if role == "vlms" else {"j": {"plugin": "chat", "model": model}}
    (folder / "params.yaml").write_text(yaml.safe_dump({"name": "mine", "calls": calls, "edct": edct}))
    return folder


HINT = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
TEXT_ONLY = {"architecture": {"input_modalities": ["text"], "output_modalities": ["text"]}}


def no_images(_: str, body: dict[str, Any]) -> Answer:
    if shows_image(body):
        return 500, {"error": {"code": 500, "message": HINT, "type": "server_error"}}
    return says("ok")("", body)


ALWAYS_WRONG = {"error": "Unexpected endpoint or method. (POST /chat/completions)"}
CASES = [
    ("llama.cpp that says so", models("mine", **TEXT_ONLY), no_images, "/v1", "takes no images, only text; ", 0),
    ("llama.cpp that does not say so", models("mine"), no_images, "/v1", "name a model that takes images", 1),
    ("LM Studio without /v1", lambda _: (200, ALWAYS_WRONG), lambda *_: (200, ALWAYS_WRONG), "", "/v1", 0),
    ("a page", lambda _: (200, "<!doctype html><p>Hi"), lambda *_: (200, "<!doctype html>"), "/v1", "not JSON", 0),
    ("a list, and pages", models("mine"), lambda *_: (200, "<!doctype html>"), "/v1", "the answer is not JSON", 3),
    ("a 404 page", lambda _: (404, "404 page not found"), lambda *_: (404, "404 page not found"), "/v1", "base_url", 0),
    ("no list, then 404", models("x"), lambda *_: (404, "page not found"), "/v1", "does not list the model mine", 0),
    ("another model", models("mine"), says("Red.", "other-7b"), "/v1", "other-7b answered, not mine", 1),
    ("an unknown model", models("mine"), lambda *_: (404, {"error": {"message": "no"}}), "/v1", "HTTP 404: no", 1),
]


@pytest.mark.parametrize("command", ["doctor", "run"])
@pytest.mark.parametrize(
    ("lists", "replies", "path", "told", "sends"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_server_that_cannot_work_is_known_before_the_study(
    cfeval: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    lists: Callable[[str], Answer],
    replies: Callable[[str, dict[str, Any]], Answer],
    path: str,
    told: str,
    sends: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(lists, replies) as server:
        status, out, err = cfeval(command, study(tmp_path, f"{server.url}{path}"), *["--yes"] * (command == "run"))
        assert status == 2, out + err
        [fault] = [line for line in out.splitlines() if line.startswith("FAIL ")]
        assert fault.startswith("FAIL edct.vlms.m: ")
        assert told in fault
        assert len(server.posts) == sends
        assert err.splitlines()[-1].startswith("cfeval: 1 thing will not work; see above what to do")
        assert not (tmp_path / "results").exists()


def test_a_judge_that_does_not_keep_its_form_is_known_before_the_study_by_its_own_words(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(models("mine"), says("I would rather not put a number on that.")) as server:
        for command in (["doctor"], ["run", "--yes"]):
            status, out, _ = cfeval(*command, study(tmp_path, f"{server.url}/v1", role="judges"))
            assert status == 2
            [fault] = [line for line in out.splitlines() if line.startswith("FAIL ")]
            assert "FAIL edct.judges.j: mine does not reply in the form that the study can read: it says " in fault
            assert "I would rather not put a number on that." in fault
        assert len(server.posts) == 4, "it is asked again once each time, as in the study; what failed is not kept"
        assert all(not shows_image(body) for body in server.posts)
        assert all("json_schema" in body["response_format"] for body in server.posts)


def test_a_judge_that_reads_texts_needs_no_eyes(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(models("mine", **TEXT_ONLY), says(json.dumps(VERDICT))) as server:
        status, out, err = cfeval("doctor", study(tmp_path, f"{server.url}/v1", role="judges"))
        assert status == 0, out + err
        assert "ok   edct.judges.j: mine takes texts, keeps the schema, " in out
        assert len(server.posts) == 1


def test_a_slow_model_is_called_slow_with_how_long_the_study_takes(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cfeval.study.probe.SLOW", 0.5)

    def slowly(path: str, body: dict[str, Any]) -> Answer:
        time.sleep(0.7)
        return says("Red.")(path, body)

    with serving(models("mine"), slowly) as server:
        status, out, err = cfeval("doctor", study(tmp_path, f"{server.url}/v1"))
        assert status == 0, err
        [line] = [line for line in out.splitlines() if line.startswith("warn edct.vlms.m")]
        assert re.search(
            r"slow: the study's \d calls take about \d+ s if the server answers \d at once, \d+ s if one", line
        )
        status, out, err = cfeval("doctor", study(tmp_path, f"{server.url}/v1", timeout=0.3))
        assert status == 2
        assert "no whole answer within 0 s" in out
        assert "where the server is only slow, raise calls.timeout (0.3 s)" in out
        assert len(server.posts) == 2, "a person waits: it is not sent again"


def test_a_server_that_cfeval_starts_with_the_first_request_is_waited_for(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    waits = iter([1.0])

    def starting(path: str, body: dict[str, Any]) -> Answer:
        time.sleep(next(waits, 0))
        return says("Red.")(path, body)

    with serving(models("mine", owned_by="cfeval"), starting) as server:
        status, out, err = cfeval("doctor", study(tmp_path, f"{server.url}/v1", timeout=0.5))
        assert status == 0, out + err
        assert "edct.vlms.m: mine takes images, " in out
        assert len(server.posts) == 2


def test_a_model_that_calls_red_blue_may_not_see(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(models("mine"), says("Blue.")) as server:
        status, out, _ = cfeval("doctor", study(tmp_path, f"{server.url}/v1"))
    assert status == 0
    [line] = [line for line in out.splitlines() if line.startswith("warn edct.vlms.m")]
    assert "it calls a red circle 'Blue.', so it may not see images" in line


def test_a_run_asks_once_and_not_again_and_without_the_probe_not_at_all(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(models("mine"), says("Red.")) as server:
        folder = study(tmp_path, f"{server.url}/v1", max_calls=1)
        status, out, _ = cfeval("run", "--yes", folder)
        assert status != 0, "the budget lets one call through"
        assert "First, 1 request is sent to see whether the models work (all to your own machines)" in out
        assert "ok   edct.vlms.m: mine takes images, " in out
        assert len(server.posts) == 1
        cfeval("run", "--yes", study(tmp_path, f"{server.url}/v1", max_calls=1))
        assert len(server.posts) == 1, "the reply is stored"
        for words in (["run", "--yes", "--no-probe"], ["doctor", "--no-probe"]):
            (tmp_path / "calls2").mkdir(exist_ok=True)
            folder = study(tmp_path, f"{server.url}/v1", max_calls=0, cache=f"calls2/{words[0]}.sqlite")
            _, out, _ = cfeval(*words, folder)
            assert "to see whether the models work" not in out
        assert len(server.posts) == 1


def test_a_dear_editor_is_asked_on_demand_only(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study(tmp_path, "https://example.org/v1")
    content = yaml.safe_load(Path("params.yaml").read_text())
    content["edct"]["editors"]["e"] = {"plugin": "openai_image", "model": "gpt-image-1"}
    Path("params.yaml").write_text(yaml.safe_dump(content))
    found = {probe.place: probe for probe in probes(used(load(Path("params.yaml"))))}
    prices = load_prices()
    assert not found["edct.editors.e"].is_cheap(prices)
    assert found["edct.vlms.m"].is_cheap(prices), "no list has its price, but one small reply is cheap anywhere"
    assert found["edct.vlms.m"].usd(prices) is None


@pytest.mark.slow
def test_a_run_that_needs_no_model_asks_for_none_and_offline_nothing_is_sent(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(models("mine"), says(json.dumps(VERDICT))) as server:
        folder = study(tmp_path, f"{server.url}/v1", role="judges")
        status, _, err = cfeval("run", "--yes", folder)
        assert status == 0, err
    results = folder / "results/mine/edct"

    def forget(*names: str) -> None:
        for path in (path for name in names for path in results.glob(f"{name}*")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    table = results / "tables/edct_table1.csv"
    before = table.read_bytes()
    forget("tables")
    status, out, err = cfeval("run", folder)  # no --yes: there is nothing to pay
    assert status == 0, err
    assert "Nothing is sent" in out
    forget("tables", "verdicts")
    status, _, err = cfeval("run", "--yes", folder)
    assert status == 0, err
    forget("tables", "verdicts")
    status, out, err = cfeval("run", "--offline", folder)
    assert status == 0, err
    assert table.read_bytes() == before
    (folder / ".cfeval/calls.sqlite").unlink()
    forget("verdicts")
    status, out, err = cfeval("run", "--yes", folder)
    assert status == 2
    assert "cannot be reached" in out, "where replies are missing, the server is asked for"
