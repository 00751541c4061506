"""A small study of scripted models in a folder of its own, with git, DVC and a copy of the project's workflow."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import PIL.Image
import psutil
import yaml

PROJECT = Path(__file__).resolve().parents[2]
TAKEN = (
    "Snakefile",
    "workflow",
    "profiles",
    "src",
    "packages/cfeval_testbed",
    ".dvcignore",
    ".gitignore",
    "data/reference",
)
WHOLE = ("Snakefile", "workflow", "profiles", "src", "packages/cfeval_testbed", "data", "params.yaml", "pyproject.toml")
MEMORY = (".cfeval/packages.json", ".cfeval/code")
"""What a machine has worked out about its packages and about code by its hash; a study that is copied keeps it."""
WEIGHTS = ("easy-vqa", "editor", "locator", "reader-a", "reader-b", "vlm")
PROGRAMS = "STUDY_PROGRAMS"
"""The variable that names a folder of programs that come before the installed ones."""
ITEMS = 12
_SHARD = re.compile(r"/\d{3}(?=[./])")

CONDITION = {"dataset": ["mine"], "vlm": ["ma"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
PARAMS: dict[str, Any] = {
    "shards": 2,
    "images": "folder",
    "edct": {
        "items": 1000,
        "seed": 7,
        "edits": 2,
        "prompts": "",
        "datasets": {"mine": {"plugin": "samples", "path": "data/mine.jsonl"}},
        "vlms": {
            "ma": {"plugin": "mock"},
            "mb": {"plugin": "mock", "replies": ["said {image}", "seen {image}"]},
        },
        "instruction_writers": {"w": {"plugin": "mock"}},
        "editors": {
            "ea": {"plugin": "mock", "strength": 0.5},
            "eb": {"plugin": "mock", "strength": 0.9},
        },
        "judges": {"j": {"plugin": "mock", "threshold": 0.5}},
        "verifiers": {},
        "tables": {
            "table1": [CONDITION | {"vlm": ["ma", "mb"]}],
            "table2": [CONDITION | {"vlm": ["ma", "mb"], "editor": ["ea", "eb"]}],
            "calibration": [CONDITION | {"vlm": ["ma", "mb"]}],
        },
        "known": {"ma": 0, "mb": 0.5},
        "judge_error": [],
        "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
    },
}


@dataclass
class Study:
    """A study in a folder; the folder above it is its home, where what does not belong to it lies."""

    root: Path

    @property
    def home(self) -> Path:
        """The folder that is copied with the study."""
        return self.root.parent

    @property
    def environment(self) -> dict[str, str]:
        """Of every command: this interpreter's programs first, the study's code, nothing of the user's settings."""
        users = ("SNAKEMAKE", "DVC", "GIT", "CFEVAL", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(users)}
        return kept | {
            "PATH": os.pathsep.join(
                [*filter(None, [os.environ.get(PROGRAMS)]), str(Path(sys.executable).parent), os.environ["PATH"]]
            ),
            "PYTHONPATH": os.pathsep.join(
                [str(self.root / "src"), str(self.root / "packages/cfeval_testbed"), str(self.home / "lib")]
            ),
            "CFEVAL_STEPS_LOG": str(self.log),
            "OMP_NUM_THREADS": "1",
            "PS1": "(.venv) $ ",  # as a virtual environment that is activated exports it
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(self.home / "site"),
            "DVC_GLOBAL_CONFIG_DIR": str(self.home / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{
                f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
        }

    @property
    def log(self) -> Path:
        """Where steps are noted: made or kept, which, output."""
        return self.home / "steps.log"

    @property
    def said(self) -> str:
        """What the last started command printed."""
        return (self.home / "said").read_text()

    def try_(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command, whatever its status."""
        where = self.environment | environment
        return subprocess.run(command, cwd=self.root, env=where, text=True, capture_output=True, check=False)

    def run(self, *command: str, **environment: str) -> str:
        """Run a command that must succeed; returns what it printed."""
        done = self.try_(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def refused(self, *command: str, **environment: str) -> str:
        """Run a command that must end with status 2; returns the one line in which it says why."""
        done = self.try_(*command, **environment)
        lines = [line for line in done.stderr.splitlines() if not line.startswith(("Using ", "Config file "))]
        assert (done.returncode, len(lines)) == (2, 1), done.stdout + done.stderr
        return lines[0]

    def start(self, *command: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a command as the leader of a process group."""
        with (self.home / "said").open("wb") as said:
            where = self.environment | environment
            return subprocess.Popen(command, cwd=self.root, env=where, stdout=said, stderr=said, start_new_session=True)

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill a command with all its children (kill -9), and wait until none is left."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        while any(p.info["cwd"] == str(self.root) for p in psutil.process_iter(["cwd"])):
            time.sleep(0.05)

    def noted(self) -> list[tuple[str, ...]]:
        """All steps so far: made or kept, which, output."""
        return [tuple(line.split()) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @contextmanager
    def counting(self, how: str = "made") -> Iterator[Counter[str]]:
        """Counts, by name, the steps that really run inside the block."""
        before = len(self.noted())
        found: Counter[str] = Counter()
        yield found
        found.update(stage.partition(".")[2] for what, stage, _ in self.noted()[before:] if what == how)

    def jobs(self, *command: str, **environment: str) -> dict[str, int]:
        """Run a command that must succeed and count the steps that it really ran, by name."""
        with self.counting() as found:
            self.run(*command, **environment)
        return dict(found)

    def stale(self, *options: str, targets: tuple[str, ...] = ("all",)) -> dict[str, str]:
        """The jobs whose record does not hold, by first output, and why; nothing is changed."""
        told = self.home / "jobs.json"
        self.run("snakemake", "--dry-run", "--quiet", "all", *options, "--", *targets, CFEVAL_JOBS=str(told))
        return {job["outputs"][0]: job["reason"] for job in json.loads(told.read_text()) if job["reason"]}

    def stale_stages(self, *targets: str) -> dict[str, int]:
        """How many jobs of each folder of results have a record that does not hold."""
        return by_folder(self.stale(targets=targets or ("all",)))

    def nothing_to_do(self, *options: str) -> bool:
        """Whether Snakemake sees no job to run."""
        return "Nothing to be done" in self.run("snakemake", "--dry-run", *options)

    def is_verified(self, *options: str) -> bool:
        """Whether all that lies there is what would be made now, by the command that DVC's stages end with."""
        return self.try_("cfeval", "verify", "--evaluation", "edct", *options).returncode == 0

    def params(self) -> Any:
        """What params.yaml says."""
        return yaml.safe_load((self.root / "params.yaml").read_text())

    def set_params(self, params: Any) -> None:
        """Write params.yaml."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))

    def change(self, change: Callable[[Any], object]) -> None:
        """Change params.yaml by a function of the section `edct`."""
        params = self.params()
        change(params["edct"])
        self.set_params(params)

    def set_threshold(self, threshold: float) -> None:
        """Change a parameter of one judge."""
        self.change(lambda edct: edct["judges"]["j"].update(threshold=threshold))

    def replace(self, file: str | Path, old: str, new: str) -> None:
        """Replace a text in a file, as an editor would: the file is another afterwards."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}"
        path.unlink()
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def edit(self, file: str, addition: str) -> None:
        """Append a line to a file."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        path.unlink()
        path.write_text(f"{text}{addition}\n", encoding="utf-8")

    def table(self, name: str = "edct_table1.csv") -> str:
        """A table as text."""
        return (self.root / "results" / name.partition("_")[0] / "tables" / name).read_text()

    def results(self, beneath: str = "results") -> dict[str, bytes]:
        """Every result and its content, without what Snakemake leaves in folders."""
        everything = (self.root / beneath).rglob("*")
        files = sorted(path for path in everything if path.is_file() and path.name != ".snakemake_timestamp")
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}

    def merged(self, shards: int) -> dict[str, list[bytes]]:
        """The sorted lines of every result of so many shards, as if they were one; a CSV without its header.

        Shards of other numbers that lie there, and sidecars, are left out. A report names the folders of its images,
        in which the shard is left out too.
        """
        found: dict[str, list[bytes]] = {}
        for name, content in self.results().items():
            shard = _SHARD.search(name)
            of_others = shard and not (shards > 1 and int(shard[0][1:]) < shards)
            if name.endswith((".made.json", ".snakemake_timestamp")) or of_others:
                continue
            if name.endswith(".html"):
                content = _SHARD.sub("", content.decode()).encode()
            lines = content.splitlines()[name.endswith(".csv") :] if name.endswith(("jsonl", "csv")) else [content]
            found.setdefault(_SHARD.sub("", name), []).extend(lines)
        return {name: sorted(lines) for name, lines in found.items()}

    def copy(self, to: Path) -> "Study":
        """The same study, with its home, in another folder; times preserved."""
        subprocess.run(["cp", "-a", str(self.home), str(to)], check=True)
        return type(self)(to / self.root.name)

    def commit(self, message: str) -> None:
        """Commit everything that git does not ignore."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def import_samples(self, count: int) -> None:
        """Make `count` small images and questions into the study's samples."""
        raw = self.home / "completion"
        raw.mkdir(exist_ok=True)
        for number in range(count):
            PIL.Image.new("RGB", (16, 16), (number * 7 % 256, number * 31 % 256, number * 57 % 256)).save(
                raw / f"{number}.png"
            )
        rows = [f"i{number},{number}.png,What is {number}?,x" for number in range(count)]
        (raw / "samples.csv").write_text("\n".join(["id,image,question,reference", *rows]) + "\n")
        self.run("cfeval", "edct", "import", str(raw / "samples.csv"), "--out", "data/mine.jsonl")


def by_folder(names: Iterable[str]) -> dict[str, int]:
    """How many of some results lie in each folder of their study."""
    return dict(Counter(name.split("/")[2] for name in names))


def wait(until: Callable[[], object], process: "subprocess.Popen[bytes] | None" = None, seconds: float = 600) -> None:
    """Wait until something is so; the process that is to bring it about must not have ended."""
    end = time.monotonic() + seconds
    while not until():
        assert process is None or process.poll() is None, "the command ended too early"
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.03)


def stages_of(params: dict[str, Any]) -> str:
    """The project's dvc.yaml for the studies that the parameters have; nothing is trained."""
    content = yaml.safe_load((PROJECT / "dvc.yaml").read_text())
    stages = {study: content["stages"][study] for study in ("edct", "vce", "cvqa") if study in params}
    for kind in ("metrics", "plots"):
        content[kind] = [file for file in content[kind] if file.split("/")[1] in params]
    return yaml.safe_dump(content | {"stages": stages}, sort_keys=False)


def offer(root: Path, family: str, name: str, source: str) -> None:
    """Add a plugin to a study's copy of the code, and a distribution that offers it."""
    (root / f"packages/cfeval_testbed/cfeval_testbed/plugins/{family}_{name}.py").write_text(source)
    about = root / f"src/{family}_{name}-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {family}-{name}\nVersion: 0\n")
    (about / "entry_points.txt").write_text(
        f"[cfeval.{family}]\n{name} = cfeval_testbed.plugins.{family}_{name}:Plugin\n"
    )


def whole(root: Path) -> Study:
    """The project with all that its own studies are made of, and none of their results."""
    _take(WHOLE, root)
    return Study(root)


def _take(names: tuple[str, ...], root: Path) -> None:
    """Copy them, with their bytecode and, where the project has been run, its memory."""
    (root / ".cfeval").mkdir(parents=True)
    for name in (*names, *filter(lambda memory: (PROJECT / memory).exists(), MEMORY)):
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, root / name)
        else:
            shutil.copy2(PROJECT / name, root / name)


def lay_out(root: Path, params: dict[str, Any]) -> Study:
    """The project's code and workflow with a small study, nothing run yet; models are files in name only."""
    _take(TAKEN, root)
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
