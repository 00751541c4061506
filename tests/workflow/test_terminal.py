"""What a person sees on a terminal while a run is on, read from a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from tests.loopback.server import loopback
from tests.workflow.study import CONDITION, ITEMS, PARAMS, Study, lay_out

pytestmark = pytest.mark.usefixtures("plain_programs")

KEY = "canary-5f1c"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A target behind a server that takes its time; a judge that fails."""
    with loopback(key=KEY) as server:
        server.latency = 0.4
        params = deepcopy(PARAMS) | {"shards": 1, "calls": {"max_connections": 2}}
        model = {"plugin": "openai", "model": "lab/vlm", "provider": "openrouter", "base_url": server.openrouter}
        model["key_env"] = "OPENROUTER_API_KEY"
        params["edct"] |= {
            "vlms": {"ma": model},
            "judges": {"j": {"plugin": "mock", "crash_on": ["i3"]}},
            "tables": {"table1": [CONDITION], "table2": [], "calibration": []},
            "known": {},
        }
        yield lay_out(tmp_path / "home" / "study", params)


def shown(study: Study, *command: str) -> tuple[int, str]:
    """Run a command on a terminal of 40 lines of 120 columns; its status, and all that it wrote."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    where = study.environment | {"TERM": "xterm-256color", "OPENROUTER_API_KEY": KEY}
    process = subprocess.Popen(
        command, cwd=study.root, env=where, stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    parts = []
    while True:
        try:
            parts.append(os.read(ours, 65536))
        except OSError:  # nobody has the terminal any more
            break
    os.close(ours)
    return process.wait(), b"".join(parts).decode()


def test_a_terminal_shows_items_calls_and_usd_while_one_job_runs_and_one_line_where_one_fails(study: Study) -> None:
    status, written = shown(study, "snakemake")
    text = _CONTROL.sub("", written.replace("\x1b[2K", "\n")).replace("\r", "")  # an erased line is over
    moving = re.findall(rf"edct_baselines: (\d+) of {ITEMS} items, [\d.]+ a second, \d+:\d\d left", text)
    assert [count for count in moving if 0 < int(count) < ITEMS], "one job, and its items move"
    calls = re.findall(r"(\d+) calls waiting for a reply, (\d+) sent, (\d\.\d{4}) USD so far", text)
    assert {int(waiting) for waiting, _, _ in calls} <= {0, 1, 2}
    assert len({sent for _, sent, _ in calls}) >= 3
    assert float(calls[-1][2]) > float(calls[0][2]) >= 0
    assert "[2 of " in text, "a line a job stays"
    failed = [line for line in text.splitlines() if "i3" in line]
    log = "logs/edct/verdicts/mine/ma/w/ea/j.log"
    what = "verdicts of j on ma after ea on mine"
    assert failed == [f"failed: {what}: cfeval: mock crash on item 'i3' ({log})"]
    assert status == 1
    assert not [word for word in ("exec cfeval", "Exception", "Error:", "Cannot restore") if word in text]
    assert "\x1b[?25h" in written[written.rindex("\x1b[?25l") :], "the cursor is back"
