"""What you edit, and which steps run: `python -m bench.edits` tries each edit on a temporary copy and prints a table.

No step runs: a dry run of the workflow names the outdated results. Those that follow from them run too where bytes
change: the table counts both. The copy takes this folder's results, which must be up to date (`make demo vce cvqa`).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.table import Table

ROOT = Path(__file__).parent.parent
TAKEN = (
    *("src", "packages/cfeval_testbed", "workflow", "profiles", "data/models", "data/reference"),
    *("Snakefile", "params.yaml", "pyproject.toml"),
    *("results/edct", "results/vce", "results/cvqa"),
)
"""What a dry run looks at."""
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
    """What an edit makes run: first outputs by rule, for certain and at most; and how many steps there are."""

    certain: Mapping[str, Sequence[str]]
    most: Mapping[str, Sequence[str]]
    steps: int

    def count(self, rules: Mapping[str, Sequence[str]]) -> int:
        """How many steps."""
        return sum(map(len, rules.values()))


_CODE = "src/cfeval"
WORDS = (
    Edit("a comment", f"{_CODE}/edct/stages/verdicts.py", "", "\n# A remark.\n"),
    Edit("a docstring", f"{_CODE}/edct/metrics.py", '"""Counterfactual Consistency Score', '"""The score'),
    Edit("a help text", f"{_CODE}/edct/stages/verdicts.py", "The judge, as JSON", "As JSON, the judge"),
    Edit("what progress says", f"{_CODE}/core/progress.py", "a second", "per second"),
    Edit("how calls travel", f"{_CODE}/inference/remote/http.py", "follow_redirects=False", "follow_redirects=True"),
    Edit("`calls.timeout`", "params.yaml", "timeout: 180 ", "timeout: 170 "),
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
    Edit("a color of the forest plot", f"{_CODE}/edct/figures.py", "9.4, 1.55", "9.4, 1.56"),
    Edit("a judge", f"{_CODE}/edct/plugins/judges.py", "text.lower()", "text.upper()"),
    Edit("the prompt that asks for a reason", f"{_CODE}/edct/prompts/conversation/explain.md", "", "Be brief.\n"),
    Edit("the weights of the test models", "data/models/vlm.safetensors", "", "0"),
    Edit("one image of an item", "results/edct/items/world/00c2ecea626d5398518114fb566e27af.png", "", "0"),
    Edit("one target model in `params.yaml`", "params.yaml", "shortcut, share: 0.5,", "shortcut, share: 0.4,"),
    Edit("`edct.seed`", "params.yaml", "seed: 20250929  #", "seed: 20250928  #"),
    Edit("`edct.interval.level`", "params.yaml", "level: 0.95  # nominal", "level: 0.9  # nominal"),
    Edit("the version of pydantic", "lib/pydantic-99.dist-info/METADATA", "", "Name: pydantic\nVersion: 99\n"),
)
"""By what they cost, about."""


@contextmanager
def copy() -> Iterator[Path]:
    """A temporary copy of what a dry run looks at."""
    with tempfile.TemporaryDirectory(prefix="cfeval-edits-") as name:
        root = Path(name)
        for taken in filter(os.path.exists, (ROOT / one for one in TAKEN)):
            target = root / taken.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if taken.is_dir():
                shutil.copytree(taken, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(taken, target)
        yield root


def tried(root: Path, edits: Iterable[Edit]) -> list[Ran]:
    """What each edit of a copy makes run; every one is undone before the next.

    Raises:
        SystemExit: results of the copy are outdated before any edit.
    """
    before = _dry_run(root)
    if number := before.count(before.most):
        raise SystemExit(f"bench: {number} of {before.steps} results are outdated (`cfeval status`): make them first")
    return [_after(root, edit) for edit in edits]


def _after(root: Path, edit: Edit) -> Ran:
    path = root / edit.file
    old = path.read_bytes() if path.exists() else None
    new = [folder for folder in path.parents if not folder.exists()]
    edit.apply(root)
    try:
        return _dry_run(root)
    finally:
        path.unlink()
        if old is not None:
            path.write_bytes(old)
        for folder in new:
            folder.rmdir()


_TELL = """
import json
from cfeval.study.whole import outdated, whole
jobs = whole().jobs()
late = outdated(jobs)
print(json.dumps([[job.rule, job.name, bool(job.reason), job.name in late] for job in jobs]))
"""
"""Prints of every job of a study its rule, its first output, and whether it is outdated for certain, and perhaps."""


def _dry_run(root: Path) -> Ran:
    path = os.pathsep.join([str(root / "src"), str(root / "packages/cfeval_testbed"), str(root / "lib")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run([sys.executable, "-c", _TELL], cwd=root, env=environment, stdout=subprocess.PIPE, check=True)
    jobs = json.loads(told.stdout)
    certain = _by_rule((rule, name) for rule, name, outdated, _ in jobs if outdated)
    return Ran(certain, _by_rule((rule, name) for rule, name, _, perhaps in jobs if perhaps), len(jobs))


def _by_rule(jobs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rule, name in jobs:
        found.setdefault(rule, []).append(name)
    return found


def table(ran: Sequence[Ran]) -> Table:
    """A row an edit, of what each of `EDITS` made run; those that make nothing run share one."""
    nothing = [edit.what for edit, its in zip(EDITS, ran, strict=True) if not its.most]
    rows = [[", ".join(nothing), "0", "0", "none"]] + [
        [edit.what, str(its.count(its.certain)), str(its.count(its.most)), _rules(its)]
        for edit, its in zip(EDITS, ran, strict=True)
        if its.most
    ]
    columns = ("what you edit", "steps that run", "at most", "which rules run")
    return Table(f"Of {ran[0].steps} steps", columns, rows)


def _rules(ran: Ran) -> str:
    if ran.count(ran.certain) == ran.steps:
        return "all"
    counts = Counter({rule: len(names) for rule, names in ran.certain.items()})
    return ", ".join(f"{rule} {number}" for rule, number in counts.items())


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
