"""What you edit, and which jobs run: `python -m bench.edits` tries each edit on a temporary copy and prints a table.

No job runs. A plan says what a job would be made from; the plans before and after an edit tell which jobs run for
certain. Those that rest on their outputs run too where the outputs come out otherwise: the table counts both.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.table import Table

ROOT = Path(__file__).parent.parent
TAKEN = ("src", "data/models", "data/reference", "params.yaml", "pyproject.toml")
"""What plans are made from."""
PAGE = ROOT / "docs/concepts/provenance.md"
BEGIN, END = "<!-- made by `python -m bench.edits` -->", "<!-- until here -->"


@dataclass(frozen=True)
class Edit:
    """An edit: a text in a file is replaced by another. Without an old text the new one is put at the file's end."""

    what: str
    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Edit the file, or write it where there is none.

        Raises:
            ValueError: the old text is not in it.
        """
        path = root / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else b""
        if self.old.encode() not in before:
            raise ValueError(f"{self.file} holds no {self.old!r}")
        after = before.replace(self.old.encode(), self.new.encode(), 1) if self.old else before + self.new.encode()
        path.unlink(missing_ok=True)
        path.write_bytes(after)


@dataclass(frozen=True)
class Ran:
    """What an edit makes run: first outputs by stage, for certain and at most; and how many jobs there are."""

    certain: Mapping[str, Sequence[str]]
    most: Mapping[str, Sequence[str]]
    jobs: int

    def count(self, stages: Mapping[str, Sequence[str]]) -> int:
        """How many jobs."""
        return sum(map(len, stages.values()))


_CODE = "src/cfeval"
WORDS = (
    Edit("a comment", f"{_CODE}/edct/stages/verdicts.py", "", "\n# A remark.\n"),
    Edit("a docstring", f"{_CODE}/edct/metrics.py", '"""Counterfactual Consistency Score', '"""The score'),
    Edit("a help text", f"{_CODE}/edct/stages/verdicts.py", "The judge, as JSON", "As JSON, the judge"),
    Edit("an annotation", f"{_CODE}/edct/metrics.py", "explanation: Binary) -> Binary:", "explanation: int) -> int:"),
    Edit("the wording of an error", f"{_CODE}/core/jsonl.py", ": no such file", ": there is no such file"),
    Edit("what progress says", f"{_CODE}/core/progress.py", "a second", "per second"),
    Edit("the command line's start", f"{_CODE}/cli.py", 'prog_name="cfeval"', 'prog_name="cfe"'),
    Edit("which GPU a process takes", f"{_CODE}/core/gpu_leases.py", "_PATIENCE = 0.5", "_PATIENCE = 0.6"),
    Edit("how calls travel", f"{_CODE}/inference/remote/http.py", "follow_redirects=False", "follow_redirects=True"),
)
"""No result rests on these."""
EDITS = (
    *WORDS,
    Edit(
        "the caption of Table 1",
        f"{_CODE}/edct/tables/conditions.py",
        "Table 1: faithfulness",
        "Table 1: the faithfulness",
    ),
    Edit("a color of the forest plot", f"{_CODE}/edct/figures/forest.py", "0.34, 1.55", "0.35, 1.55"),
    Edit("the report's page", f"{_CODE}/report/templates/report.css", "", "\nbody { margin: 0; }\n"),
    Edit("a published figure", "data/reference/edct-2025.csv", "", "\n"),
    Edit("the bootstrap", f"{_CODE}/stats/bootstrap.py", "_DRAWS_AT_ONCE = 5_000_000", "_DRAWS_AT_ONCE = 4_000_000"),
    Edit(
        "a column of the scores",
        f"{_CODE}/edct/records.py",
        "    mismatch: Binary",
        "    new: Binary = 0\n    mismatch: Binary",
    ),
    Edit("CCS", f"{_CODE}/edct/metrics.py", "return 1 if", "return 0 if"),
    Edit("the lexical judge", f"{_CODE}/edct/plugins/judges/lexical.py", "text.lower()", "text.upper()"),
    Edit(
        "how edits are checked",
        f"{_CODE}/edct/metrics.py",
        "> threshold).mean()",
        ">= threshold).mean()",
    ),
    Edit("the diffusion editor", f"{_CODE}/testbed/plugins/editors_diffusion.py", ":.4f}", ":.3f}"),
    Edit("the prompt that asks for a reason", f"{_CODE}/edct/prompts/conversation/explain.md", "", "Be brief.\n"),
    Edit("the chat plugin of test models", f"{_CODE}/testbed/plugins/chat_world.py", "mixture {item}", "of {item}"),
    Edit("the weights of the test models", "data/models/vlm.safetensors", "", "0"),
    Edit("the denoiser's weights", "data/models/cell-denoiser.safetensors", "", "0"),
    Edit("how C-VQA answers are compared", f"{_CODE}/cvqa/stages/scores.py", "if order and letter in", "if letter in"),
    Edit("`edct.interval.level`", "params.yaml", "level: 0.95  # nominal", "level: 0.9  # nominal"),
    Edit("`edct.items`", "params.yaml", "items: 300 ", "items: 200 "),
    Edit("another version of pydantic", "lib/pydantic-99.dist-info/METADATA", "", "Name: pydantic\nVersion: 99\n"),
)
"""By what they cost, about."""


@contextmanager
def copy() -> Iterator[Path]:
    """A temporary copy of what plans are made from."""
    with tempfile.TemporaryDirectory(prefix="cfeval-edits-") as name:
        root = Path(name)
        for taken in TAKEN:
            source, target = ROOT / taken, root / taken
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
        yield root


def tried(root: Path, edits: Iterable[Edit]) -> list[Ran]:
    """What each edit of a copy makes run; every one is undone before the next."""
    with _planner(root) as plans:
        before = plans()
        return [_ran(before, _plans_after(root, edit, plans)) for edit in edits]


def _plans_after(root: Path, edit: Edit, plans: "Callable[[], _Plans]") -> "_Plans":
    path = root / edit.file
    old = path.read_bytes() if path.exists() else None
    new = [folder for folder in path.parents if not folder.exists()]
    edit.apply(root)
    try:
        return plans()
    finally:
        path.unlink()
        if old is not None:
            path.write_bytes(old)
        for folder in new:
            folder.rmdir()


_Plans = dict[str, tuple[str, list[str], list[str], str]]
"""First outputs: stage, inputs, outputs, plan."""
_TELL = """
import json, sys
from cfeval.audit.plan import whole
from cfeval.core.provenance import plans
for _ in sys.stdin:
    plans.versions.cache_clear()
    plans._distributions.cache_clear()
    study = whole()
    planned = [(job, plans.plan_hash(study.planner.plan(job))) for job in study.jobs()]
    study.planner.remember()
    print(json.dumps({job.name: (job.stage, job.inputs, job.outputs, plan) for job, plan in planned}), flush=True)
"""
"""Tells the plans whenever it is asked; what it looks at is always the files."""


@contextmanager
def _planner(root: Path) -> "Iterator[Callable[[], _Plans]]":
    """Tells the plans of all jobs in a folder, by the files that lie there when it is asked."""
    path = os.pathsep.join([str(root / "src"), str(root / "lib")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", _TELL]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=root, env=environment, text=True, **pipes) as process:
        asked, told = process.stdin, process.stdout
        assert asked
        assert told

        def plans() -> _Plans:
            asked.write("\n")
            asked.flush()
            return json.loads(told.readline())

        yield plans
        asked.close()


def _ran(before: _Plans, after: _Plans) -> Ran:
    certain = {name for name, told in after.items() if name not in before or before[name][3] != told[3]}
    made = {output for name in certain for output in after[name][2]}
    most = set(certain)
    for name, (_, inputs, outputs, _) in after.items():  # parents come first
        if name in most or made & set(inputs):
            most.add(name)
            made |= set(outputs)
    return Ran(_by_stage(after, certain), _by_stage(after, most), len(after))


def _by_stage(plans: _Plans, names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in (one for one in plans if one in set(names)):
        found.setdefault(plans[name][0], []).append(name)
    return found


def table(ran: Sequence[Ran]) -> Table:
    """A row an edit, of what each of `EDITS` made run."""
    rows = [
        [edit.what, str(its.count(its.certain)), str(its.count(its.most)), _stages(its)]
        for edit, its in zip(EDITS, ran, strict=True)
    ]
    columns = ("what you edit", "jobs that run", "at most", "which stages")
    return Table(f"Of {ran[0].jobs} jobs", columns, rows)


def _stages(ran: Ran) -> str:
    if ran.count(ran.certain) == ran.jobs:
        return "all"
    counts = Counter({stage: len(names) for stage, names in ran.certain.items()})
    return ", ".join(f"{stage} {number}" for stage, number in counts.items()) or "none"


def main() -> None:
    """Print the table, and put it into the page where that has a place for it."""
    with copy() as root:
        text = table(tried(root, EDITS)).markdown()
    print(text)
    if PAGE.is_file() and BEGIN in (page := PAGE.read_text(encoding="utf-8")):
        PAGE.write_text(shown(text, page), encoding="utf-8")


def shown(text: str, page: str) -> str:
    """The page with the table in its place."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    main()
