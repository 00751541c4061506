"""A small study of scripted models in a folder of its own, with git, DVC and a copy of the project's workflow."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from PIL import Image

PROJECT = Path(__file__).resolve().parents[2]
SPY = Path(__file__).parent / "spy"
TAKEN = ("Snakefile", "workflow", "profiles", "src", ".dvcignore", ".gitignore", "data/reference")
STUDIES = ("edct", "vce", "cvqa")
WEIGHTS = ("easy-vqa", "editor", "locator", "reader-a", "reader-b", "vlm")
ITEMS = 12
_SHARD = re.compile(r"/\d{3}(?=[./])")

PARAMS: dict[str, Any] = {
    "shards": 2,
    "edct": {
        "items": 1000,
        "seed": 7,
        "edits": 2,
        "prompts": "",
        "datasets": {"mine": {"backend": "samples", "path": "data/mine.jsonl"}},
        "vlms": {
            "ma": {"backend": "scripted"},
            "mb": {"backend": "scripted", "replies": ["said {image}", "seen {image}"]},
        },
        "writers": {"w": {"backend": "scripted"}},
        "editors": {
            "ea": {"backend": "scripted", "strength": 0.5},
            "eb": {"backend": "scripted", "strength": 0.9},
        },
        "judges": {"j": {"backend": "scripted", "threshold": 0.5}},
        "verifiers": {},
        "tables": {
            "table1": [{"dataset": ["mine"], "vlm": ["ma", "mb"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}],
            "table2": [
                {"dataset": ["mine"], "vlm": ["ma", "mb"], "writer": ["w"], "editor": ["ea", "eb"], "judge": ["j"]}
            ],
            "calibration": [
                {"dataset": ["mine"], "vlm": ["ma", "mb"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
            ],
        },
        "known": {"ma": 0, "mb": 0.5},
        "judge_error": [],
        "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
    },
}
EXPORTED = {"calls": 1, "report": 1}
"""What a run without a named phase makes beside the tables."""
FILLED_TABLES = {"table": 6, "figure": 2, "metrics": 1}
"""Table 1 and 2, calibration, instrument, agreement and comparisons; the others have no arm in this study."""
EVERY_TABLE = {"table": 10, "figure": 3, "metrics": 1}
JUDGED = {"judge": 8, "score": 8}
EVERYTHING = (
    {"generate": 1, "baseline": 4, "instruct": 4, "edit": 8, "check": 8, "requery": 8} | JUDGED | EVERY_TABLE | EXPORTED
)
"""Two targets and two editors, each cut into two shards."""


@dataclass
class Study:
    """A study in a folder."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of every command: this interpreter's programs first, nothing of the user's settings."""
        users = ("SNAKEMAKE", "DVC", "GIT", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(users)}
        home = self.root.parent
        return kept | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(SPY),
            "CFEVAL_LEDGER": str(self.ledger),
            "OMP_NUM_THREADS": "1",
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(home / "site"),
            "DVC_GLOBAL_CONFIG_DIR": str(home / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{
                f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
        }

    @property
    def ledger(self) -> Path:
        """Where stage commands are noted."""
        return self.root.parent / f"{self.root.name}.ledger"

    def try_(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command, whatever its status."""
        where = self.environment | environment
        return subprocess.run(command, cwd=self.root, env=where, text=True, capture_output=True, check=False)

    def run(self, *command: str, **environment: str) -> str:
        """Run a command that must succeed; returns what it printed."""
        done = self.try_(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a command as the leader of a process group."""
        silent, where = subprocess.DEVNULL, self.environment | environment
        return subprocess.Popen(command, cwd=self.root, env=where, stdout=silent, stderr=silent, start_new_session=True)

    def kill_after(self, jobs: int, *command: str) -> None:
        """Start a command and kill it with all its children (kill -9) once so many jobs have begun."""
        before = sum(self.counted().values())
        process = self.start(*command)
        while sum(self.counted().values()) < before + jobs:
            assert process.poll() is None, "the command ended before it could be killed"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        while any(p.info["cwd"] == str(self.root) for p in psutil.process_iter(["cwd"])):
            time.sleep(0.05)

    def counted(self) -> Counter[str]:
        """The stage commands noted so far."""
        return Counter(self.ledger.read_text().split() if self.ledger.exists() else [])

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Counts the stage commands that run inside the block."""
        before = self.counted()
        found: Counter[str] = Counter()
        yield found
        found.update(self.counted() - before)

    def jobs(self, *command: str, **environment: str) -> dict[str, int]:
        """Run a command that must succeed and count the stage commands it ran."""
        with self.counting() as found:
            self.run(*command, **environment)
        return dict(found)

    def nothing_to_do(self) -> bool:
        """Whether Snakemake sees no job to run."""
        return "Nothing to be done" in self.run("snakemake", "--dry-run")

    def params(self) -> Any:
        """What params.yaml says."""
        return yaml.safe_load((self.root / "params.yaml").read_text())

    def set_params(self, params: Any) -> None:
        """Write params.yaml."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))

    def set_threshold(self, threshold: float) -> None:
        """Change the judge's one parameter."""
        params = self.params()
        params["edct"]["judges"]["j"]["threshold"] = threshold
        self.set_params(params)

    def edit(self, file: str, addition: str) -> None:
        """Append a line to a file."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        path.unlink()
        path.write_text(f"{text}{addition}\n", encoding="utf-8")

    def table(self, name: str = "edct_table2.csv") -> str:
        """A table as text."""
        return (self.root / "results/tables" / name).read_text()

    def results(self, beneath: str = "results") -> dict[str, bytes]:
        """Every result and its content."""
        files = sorted(path for path in (self.root / beneath).rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}

    def merged(self, shards: int) -> dict[str, list[bytes]]:
        """The sorted lines of every result of so many shards, as if they were one; a CSV without its header.

        Shards of other numbers that lie there are left out.
        """
        found: dict[str, list[bytes]] = {}
        for name, content in self.results().items():
            shard = _SHARD.search(name)
            if "provenance" in name or (shard and not (shards > 1 and int(shard[0][1:]) < shards)):
                continue
            lines = content.splitlines()[name.endswith(".csv") :] if name.endswith(("jsonl", "csv")) else [content]
            found.setdefault(_SHARD.sub("", name), []).extend(lines)
        return {name: sorted(lines) for name, lines in found.items()}

    def copy(self, to: Path) -> "Study":
        """The same study in another folder, times preserved."""
        subprocess.run(["cp", "-a", str(self.root), str(to)], check=True)
        return Study(to)

    def commit(self, message: str) -> None:
        """Commit everything that git does not ignore."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def import_samples(self, count: int) -> None:
        """Make `count` small images and questions into the study's samples."""
        raw = self.root.parent / f"{self.root.name}.raw"
        raw.mkdir(exist_ok=True)
        for number in range(count):
            Image.new("RGB", (16, 16), (number * 7 % 256, number * 31 % 256, number * 57 % 256)).save(
                raw / f"{number}.png"
            )
        rows = [f"i{number},{number}.png,What is {number}?,x" for number in range(count)]
        (raw / "samples.csv").write_text("\n".join(["id,image,question,reference", *rows]) + "\n")
        self.run("cfeval", "edct", "import", str(raw / "samples.csv"), "--out", "data/mine.jsonl")


def stages_of(params: dict[str, Any]) -> str:
    """The project's dvc.yaml without the stages of studies that the parameters do not have."""
    content = yaml.safe_load((PROJECT / "dvc.yaml").read_text())
    left_out = tuple(f"{study}_" for study in STUDIES if study not in params)
    content["stages"] = {name: stage for name, stage in content["stages"].items() if not name.startswith(left_out)}
    trained = content["stages"]["train"]["outs"]
    content["stages"]["train"]["outs"] = [file for file in trained if Path(next(iter(file))).stem in WEIGHTS]
    for kind in ("metrics", "plots"):
        content[kind] = [file for file in content[kind] if not Path(file).name.startswith(left_out)]
    return yaml.safe_dump(content, sort_keys=False)


def lay_out(root: Path, params: dict[str, Any]) -> Study:
    """The project's code and workflow with a small study, nothing run yet; models are files in name only."""
    for name in TAKEN:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, root / name)
        else:
            root.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, root / name)
    (root / "dvc.yaml").write_text(stages_of(params))
    (root / ".dvc").mkdir()
    for name in ("config", ".gitignore"):
        shutil.copy2(PROJECT / ".dvc" / name, root / ".dvc" / name)
    models = root / "data/models"
    models.mkdir()
    for name in WEIGHTS:
        for ending in (".json", ".safetensors"):
            (models / f"{name}{ending}").write_text("{}\n")
    study = Study(root)
    study.import_samples(ITEMS)
    study.set_params(params)
    study.run("git", "init", "--quiet", "--initial-branch=main", ".")
    return study
