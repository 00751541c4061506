"""The commands of README and tutorial do what the pages say, each page in an empty folder with a server on loopback."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cfeval.study.models import DEFAULTS
from tests.images import image
from tests.loopback.conversation import Conversation
from tests.loopback.personas import PERSONAS, filled
from tests.loopback.server import loopback
from tests.test_docs import PAGES, ROOT

pytestmark = pytest.mark.slow
ELSEWHERE = ("git ", "make ", "pip ", "python ", "cfeval practice-server")
"""Commands that install something or start a server: a test does that in its own way."""
TUTORIAL = "docs/start/first-study.md"


def shown(page: str) -> Iterator[tuple[str, list[str]]]:
    """Every command of a page's console blocks, with the lines that it is shown to print."""
    for block in re.findall(r"```console\n(.*?)```", PAGES[page], re.DOTALL):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, *printed = part.strip().splitlines()
            yield command, printed


def ran(command: str, folder: Path, **more: str) -> str:
    """What a command of `cfeval` prints."""
    words = [sys.executable, "-m", "cfeval.cli", *shlex.split(command)[1:]]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | {"PATH": path, "BROWSER": "true"} | more,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def tracked() -> str:
    """What has changed of this checkout's tracked files."""
    words = ["git", "status", "--porcelain", "--untracked-files=no"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def photographs(folder: Path) -> None:
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.png").write_bytes(image(number).png)


@pytest.fixture
def practice(tmp_path: Path) -> Iterator[str]:
    """The tutorial's server, which has written its drawings; its address."""
    with practice_server([sys.executable, "-m", "cfeval.cli"], tmp_path) as address:
        yield address


@contextmanager
def practice_server(cfeval: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """The server of the tutorial at a free port: its address, once it prints what the page shows; Ctrl-C ends it."""
    [(command, printed)] = [pair for pair in shown(TUTORIAL) if pair[0].startswith("cfeval practice-server")]
    words = [*cfeval, *shlex.split(command)[1:], "--port", "0"]
    with subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            lines = [server.stdout.readline().rstrip("\n") for _ in printed]
            [address] = re.findall(r"localhost:\d+", lines[-1])
            assert [line.replace(address, "localhost:8000") for line in lines] == printed
            yield address
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=30) == 0


def follow_tutorial(run: Callable[[str], str], address: str) -> None:
    """Type every command of the tutorial, which must print what the page shows."""
    for command, lines in shown(TUTORIAL):
        if not command.startswith(ELSEWHERE):
            printed = run(command.replace("localhost:8000", address)).replace(address, "localhost:8000")
            pattern = "\n".join(".*" if line == "…" else re.escape(line).replace("…", ".*") for line in lines)
            assert re.search(f"^{pattern}", printed, re.MULTILINE | re.DOTALL), f"{command}\n{printed}"


def test_the_tutorial_prints_what_it_shows(tmp_path: Path, practice: str) -> None:
    photographs(tmp_path / "photos")
    follow_tutorial(lambda command: ran(command, tmp_path), practice)


def test_a_port_that_is_taken_is_one_line_and_nothing_is_written(tmp_path: Path, practice: str) -> None:
    words = [sys.executable, "-m", "cfeval.cli", "practice-server", "--images", "more", "--port", practice[10:]]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "choose another with --port" in ended.stderr
    assert not (tmp_path / "more").exists()


def plays(conversation: Conversation) -> str:
    """A model at the provider in whatever role: under test, writer, gate, verifier or judge."""
    if "AS_ASKED" in conversation.text:
        seen = {"present": 1, "as_asked": 1, "others": 0, "changes": []}
        said = "I looked at both.\nPRESENT: 1\nAS_ASKED: 1\nOTHERS: 0"
        return said if conversation.schema is None else filled(conversation.schema, seen, conversation.digest)
    asked = {"Positive:": "writer", "NCC": "judge", "ANSWER_MOVED": "judge"}
    return PERSONAS[next((who for mark, who in asked.items() if mark in conversation.prompt), "vlm")](conversation)


def test_the_commands_of_the_readme_test_a_model_of_ones_own(tmp_path: Path) -> None:
    photographs(tmp_path / "photos")
    before = tracked()
    keys: Mapping[str, str] = {"OPENROUTER_API_KEY": "of no value"}
    models = [name.partition("/")[2] for name in DEFAULTS["openrouter"].values()]
    with loopback(personas={"flash": plays, "pro": plays, "qwen3": plays}, models=models) as server:
        more = {"init": f" --base-url {server.origin}/api/v1", "run": " --yes"}
        commands = [command for command, _ in shown("README.md") if not command.startswith(ELSEWHERE)]
        assert [command.split()[1] for command in commands] == ["init", "run", "report"]
        _, said, _ = (ran(command + more.get(command.split()[1], ""), tmp_path, **keys) for command in commands)
    report = tmp_path / "my-study/results/my-study/edct/report/index.html"
    assert said.endswith("report: my-study/results/my-study/edct/report/index.html\n")
    assert "gemini-2.5-flash" in report.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my-study", "photos"]
    assert tracked() == before
