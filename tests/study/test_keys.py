"""A study whose key is in `.env`, among notes and stray files: from `cfeval init` to the report, against a server."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.loopback.personas import PERSONAS
from tests.loopback.server import loopback
from tests.study.service import MODELS, QUESTION, photographs, seer

KEY = "sk-or-v1-canary-5e0d"
STRAY = {
    ".env": f"# mine\nexport OPENROUTER_API_KEY='{KEY}'\n",
    "notes.txt": "ask Kim about the licence\n",
    ".envrc": "dotenv\n",
    "draft copy.jpg": "no image at all\n",
    "results.xlsx": "mine\n",
    "old/params.yaml": "name: old\n",
}
"""What people keep beside a study."""


def typed(place: Path, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Type a line in a folder, with no key in the environment."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    words = [sys.executable, "-m", *shlex.split(line)]
    return subprocess.run(
        words, cwd=place, env={**environment, **variables}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def files(folder: Path, names: Mapping[str, str]) -> None:
    for name, text in names.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["from outside", "inside"])
def test_a_key_in_env_and_stray_files_do_not_stop_a_study(tmp_path: Path, inside: bool) -> None:
    photographs(tmp_path / "photos", 2)
    with loopback(key=KEY, personas={**PERSONAS, "seer": seer}, models=MODELS) as server:
        roles = {"model": "vlm-a", "writer": "writer", "editor": "painter", "judge": "judge"}
        roles |= {"gate": "seer-gate", "verifier": "seer"}
        options = " ".join(f"--{role} openrouter/{model}@{server.openrouter}" for role, model in roles.items())
        made = typed(tmp_path, f"cfeval init mine --images photos --question '{QUESTION}' {options}")
        assert made.returncode == 0, made.stderr
        params = tmp_path / "mine/params.yaml"  # at an address of this machine, init takes no key to be needed
        params.write_text(re.sub(r"base_url: [^,}\s]+", r"\g<0>, key_env: OPENROUTER_API_KEY", params.read_text()))
        place, folder = (tmp_path / "mine", "") if inside else (tmp_path, "mine")

        refused = typed(place, f"cfeval run {folder} --yes")
        assert refused.returncode == 2
        assert "OPENROUTER_API_KEY" in refused.stdout
        assert not server.sent()

        files(tmp_path / "mine", STRAY)
        ran = typed(place, f"cfeval run {folder} --yes")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "2 of 2 scored" in ran.stdout
        asked = len(server.log)

        files(tmp_path / "mine", {"notes.txt": "a line more\n", ".env": f"OPENROUTER_API_KEY={KEY}\n# new\n"})
        again = typed(place, f"cfeval run {folder} --yes")
        assert "results are up to date" in again.stdout
        assert len(server.log) == asked
        assert typed(place, f"cfeval verify {folder}").returncode == 0
    assert (tmp_path / "mine/results/mine/edct/report/index.html").is_file()
    assert KEY not in ran.stdout + ran.stderr + again.stdout + made.stdout
    kept = (path for path in (tmp_path / "mine").rglob("*") if path.is_file() and path.name != ".env")
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
