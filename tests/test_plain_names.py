"""`make lint` refuses new names that say nothing, and stores lower numbers only."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench import measure, plain_names

OFFENCES = {
    "found = 1": "found: write what it is",
    "def f(of): ...": "of: write the noun",
    "def f(*words): ...": "words: write args",
    "def _tell(): ...": "_tell: write report",
    "async def heed(): ...": "heed: write forward",
    "class Said: ...": "Said: write what it is",
    "for one in []: ...": "one: write the noun",
    "[its for its in ()]": "its: write the noun",
    "if (known := 1): ...": "known: write known with its noun",
    "with open('x') as told: ...": "told: write what it is",
    "try: ...\nexcept OSError as said: ...": "said: write what it is",
    "import os as how": "how: write settings",
    "match 1:\n  case besides: ...": "besides: write the noun",
    "class A:\n  former = 1": "former: write previous",
}
FINE = ("print(found)", "class A:\n  found: int", "known_share = 1", "x.one = 1", "from a import one")


def run(root: Path, source: str, *args: str, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """The check as `make lint` runs it, in a tree of one file."""
    (root / "bench").mkdir(exist_ok=True)
    shutil.copy(plain_names.__file__, root / "bench")
    (root / "bench" / "plain_names.json").write_text(json.dumps({"src/cfeval/core": limit} if limit else {}))
    file = root / "src" / "cfeval" / "core" / "files.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    command = [sys.executable, "-m", "bench.plain_names", *args]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("source", "line"), OFFENCES.items())
def test_a_name_that_says_nothing_is_refused_with_what_to_write(source: str, line: str, tmp_path: Path) -> None:
    result = run(tmp_path, source)
    number = source.count("\n", 0, source.rindex(line.partition(":")[0])) + 1
    assert result.returncode == 1
    assert result.stdout.startswith(f"src/cfeval/core/files.py:{number}: {line}")


@pytest.mark.parametrize("source", FINE)
def test_a_use_a_field_and_a_name_with_its_noun_are_fine(source: str, tmp_path: Path) -> None:
    assert run(tmp_path, source).returncode == 0


def test_what_is_stored_is_allowed_and_only_goes_down(tmp_path: Path) -> None:
    assert run(tmp_path, "found = said = 1", limit=2).returncode == 0
    assert "has 2, at most 1 are allowed" in run(tmp_path, "found = said = 1", limit=1).stdout
    assert "1 fewer than stored" in run(tmp_path, "found = 1", limit=2).stdout
    stored = tmp_path / "bench" / "plain_names.json"
    assert run(tmp_path, "found = 1", "--lower", limit=2).returncode == 0
    assert json.loads(stored.read_text()) == {"src/cfeval/core": 1}
    assert run(tmp_path, "found = said = 1", "--lower", limit=1).returncode == 1
    assert json.loads(stored.read_text()) == {"src/cfeval/core": 1}


def test_the_shape_of_the_code_in_figures(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""A."""\n\n# why\nx = 1  # not a line of comment\n\n\n'
        'def f(found):\n    """F."""\n    y = _g()\n    return y\n\n\ndef _g():\n    return 1\n'
    )
    figures = measure.measure(tmp_path)
    shown = ("files", "lines", "lines of comments", "functions", "private functions used once", "… of one statement")
    assert [figures[name] for name in shown] == [1, 14, 1, 2, 1, 1]
    assert figures["… found"] == figures["names that say nothing"] == 1
    assert measure.body_lines(measure.ast.parse("def f():\n  return (\n  1)").body[0]) == 2
