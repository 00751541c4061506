"""`cfeval report --live` while a run is at work: it shows what is there so far, renews itself, and disturbs nothing."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cfeval.edct.records import Condition
from cfeval.study.practice import COLORS, Handler, draw
from cfeval.study.report import State, complete
from cfeval.study.whole import Job
from tests.study.folder import listed

SECONDS = 120


class Held(Handler):
    """The practice server, whose judge waits until the test lets it answer."""

    released = threading.Event()

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        if "PCS:" in json.dumps(request["messages"]):
            assert self.released.wait(SECONDS)
        return super().chat(request)


@pytest.fixture
def address() -> Iterator[str]:
    Held.released.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Held) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            Held.released.set()
            server.shutdown()
            thread.join()


def started(folder: Path, *words: str) -> "subprocess.Popen[str]":
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        [sys.executable, "-m", "cfeval.cli", *words],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit status of a command, and what it printed that was not read yet."""
    with process:
        out, _ = process.communicate(timeout=SECONDS)
    return process.returncode, out


def make_study(folder: Path, address: str, colors: Sequence[str]) -> None:
    """Drawings, and a study that asks one model about them."""
    (folder / "drawings").mkdir()
    for color in colors:
        draw({"disc": color, "ground": color, "square": "red"}).save(folder / f"drawings/{color}.png")
    roles = {"model": "honest", "writer": "other/helper", "editor": "other/painter", "judge": "other/helper"}
    words = ["--images", "drawings", "--question", "What color is the disc?", "--provider", "other"]
    words += ["--base-url", address, *(word for role, name in roles.items() for word in (f"--{role}", name))]
    status, out = ended(started(folder, "init", "mine", *words))
    assert status == 0, out


def waited_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_the_page_of_a_run_at_work_shows_the_records_so_far_and_disturbs_nothing(tmp_path: Path, address: str) -> None:
    make_study(tmp_path, address, list(COLORS)[:3])
    run = started(tmp_path, "run", "mine", "--yes", "--no-probe")  # the judge does not answer yet
    study = tmp_path / "mine"
    results = study / "results/mine"
    waited_for(lambda: list(results.glob("edct/requeries/**/edct-2025.jsonl")))
    before = listed(results)
    live = started(tmp_path, "report", "mine", "--live")
    assert live.stdout is not None
    lines = [live.stdout.readline().strip() for _ in range(3)]
    page = tmp_path / lines[0]
    assert page.is_relative_to(study / ".cfeval")
    assert re.fullmatch(r"\d+ of \d+ jobs are done", lines[2]), lines
    text = page.read_text(encoding="utf-8")
    assert f"Unfinished: {lines[2].removesuffix(' are done')} are done." in text
    assert '<meta http-equiv="refresh" content="15">' in text
    assert "default-src 'none'" in text
    assert "The disc in the middle is red." in text
    edited = re.findall(r'"(edct/counterfactuals/[^"]+\.png)"', text)
    assert edited
    assert all((page.parent / file).is_file() for file in edited)
    assert not [name for name in listed(results).keys() - before.keys() if "report" in name or "tables" in name]
    Held.released.set()
    status, out = ended(run)
    assert status == 0, out
    status, out = ended(live)
    assert status == 0
    assert out.endswith("report: mine/results/mine/edct/report/index.html\n")
    text = page.read_text(encoding="utf-8")
    assert "The run has finished." in text
    assert 'http-equiv="refresh"' not in text
    [link] = re.findall(r'finished\.</b> <a href="([^"]+)"', text)
    assert (page.parent / link).resolve() == results / "edct/report/index.html"
    status, out = ended(started(study, "status"))
    assert (status, out.count("\n")) == (0, 1)


@pytest.mark.slow
def test_before_the_first_record_there_is_a_page_and_ctrl_c_ends_it_quietly(tmp_path: Path, address: str) -> None:
    make_study(tmp_path, address, ["red"])
    live = started(tmp_path, "report", "mine", "--live")
    assert live.stdout is not None
    lines = [live.stdout.readline().strip() for _ in range(3)]
    assert "Unfinished: 0 of " in (tmp_path / lines[0]).read_text(encoding="utf-8")
    live.send_signal(signal.SIGINT)
    assert ended(live) == (0, "")
    assert not (tmp_path / "mine/results").exists()


def condition(**names: str) -> Condition:
    usual = {"dataset": "d", "writer": "w", "protocol": "edct-2025", "editor": "e", "judge": "j"}
    return Condition(**{**usual, **names})


def job(name: str, reason: str = "not made yet", **wildcards: str) -> Job:
    return Job("edct_step", [name], [], ["edct", "scores", "--out", name], reason, wildcards)


def test_a_condition_is_complete_when_no_job_of_its_names_is_left() -> None:
    both = [condition(vlm="a"), condition(vlm="b")]
    assert complete(both, [job("x", vlm="a", dataset="d", shard="")]) == (both[1],)
    assert complete(both, [job("x", dataset="d")]) == ()
    assert complete(both, [job("x", dataset="other"), job("y", set="s")]) == tuple(both)


def test_a_job_is_done_once_its_record_is_another_one(tmp_path: Path) -> None:
    jobs = [job(str(tmp_path / "a.csv")), job(str(tmp_path / "b.csv"), reason="")]
    old = tmp_path / "a.csv.made.json"
    old.write_text("of an earlier run")
    state = State(jobs)
    assert [one.name for one in state.done()] == [jobs[1].name]
    old.unlink()
    assert len(state.done()) == 1
    old.write_text("of this run")
    os.utime(old, ns=(1, 1))
    assert state.done() == jobs
