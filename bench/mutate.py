"""`make mutate`: which changes of the code no test notices, in the parts on which a figure or a bill rests.

cosmic-ray changes one operator, number or condition at a time, in a copy of the tree, and runs the part's fast tests. A
mutant that they all pass survives: a test kills it, or a comment in the code says why it is equivalent.

    make mutate                                 every part: hours
    make mutate ARGS="stats ledger"             some
    make mutate ARGS="src/cfeval/stats/proportions.py tests/stats/test_proportions.py"    files, with their tests
"""

import contextlib
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPY = ROOT / "build/mutate"
TOOLS = ROOT / ".venv-mutate/bin"
# What is changed, and the tests that must notice.
PARTS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "stats": (["src/cfeval/stats"], ["tests/stats"]),
    "scoring": (
        ["src/cfeval/datasets/answer_scoring.py", "src/cfeval/edct/metrics.py", "src/cfeval/edct/stages/scores.py"],
        ["tests/datasets", "tests/edct/test_metrics.py", "tests/edct/tables"],
    ),
    "card": (["src/cfeval/edct/faithfulness"], ["tests/edct/faithfulness"]),
    "replies": (
        ["src/cfeval/inference/replies", "src/cfeval/inference/parsing.py"],
        ["tests/cvqa/extraction", "tests/edct/protocols", "tests/inference"],
    ),
    "provenance": (
        [f"src/cfeval/core/{name}.py" for name in ("record", "hashes", "loaded_code", "vouching")],
        ["tests/core", "tests/workflow_unit"],
    ),
    "ledger": (
        [f"src/cfeval/inference/remote/{name}.py" for name in ("spending", "ledger_db", "totals", "cost", "prices")],
        ["tests/inference/remote"],
    ),
}
# One counterpart an operator: every other one of `a + b` dies of the same test.
OPERATORS = (
    r"ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul)",
    r"ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_Gt|Gt_Lt|Is_IsNot|IsNot_Is)",
    r"ReplaceUnaryOperator_(USub_UAdd|Delete_USub|Delete_Not)",
    "AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak|ExceptionReplacer|NumberReplacer|ZeroIterationForLoop",
)


def main(args: list[str]) -> int:
    """Mutate each part, or those given; returns 1 where a mutant survived."""
    files = [arg for arg in args if "/" in arg]
    unknown = [arg for arg in args if arg not in PARTS and not (ROOT / arg).exists()]
    if unknown:
        raise SystemExit(f"mutate: '{unknown[0]}' is neither a file nor a part; parts: {', '.join(PARTS)}")
    sources = [file for file in files if not file.startswith("tests/")]
    tests = [file for file in files if file.startswith("tests/")]
    if files and not (sources and tests):
        raise SystemExit("mutate: name both files of src and the tests that must notice, such as tests/stats")
    _copy_tree()
    chosen = {arg: PARTS[arg] for arg in args if arg in PARTS} if args else PARTS
    survivors = [_mutate(name, *part) for name, part in chosen.items()]
    if files:
        survivors.append(_mutate(Path(sources[0]).stem, sources, tests))
    return min(1, sum(survivors))


def _copy_tree() -> None:
    """What git tracks or would track, as it is now: cosmic-ray rewrites the files that it mutates."""
    shutil.rmtree(COPY, ignore_errors=True)
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".", ":!results"]
    listed = subprocess.run(tracked, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def _mutate(name: str, sources: Sequence[str], tests: Sequence[str]) -> int:
    """Mutate some files, and print the survivors; returns how many there are."""
    paths = [COPY / "src", *sorted((COPY / "packages").glob("*/src"))]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),  # before the checkout, which .venv has as an editable install
        "PYTHONDONTWRITEBYTECODE": "1",  # Python would take bytecode of a mutant for that of the next, of equal size
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    start = time.monotonic()
    if subprocess.run(command, cwd=COPY, env=environment, check=False, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit(f"mutate: the tests of {name} fail without a mutation: python -m pytest {' '.join(tests)}")
    timeout = 30 + 5 * (time.monotonic() - start)
    config, session = COPY / f"{name}.toml", COPY / f"{name}.sqlite"
    config.write_text(
        f"""[cosmic-ray]
module-path = {json.dumps(list(sources))}
timeout = {timeout:.0f}
test-command = {json.dumps(shlex.join(command))}
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = {json.dumps([f"^core/(?!({'|'.join(OPERATORS)})$)"])}
""",
        encoding="utf-8",
    )
    for tool, *operands in (
        ("cosmic-ray", "init", config, session),
        ("cr-filter-operators", session, config),
        ("cosmic-ray", "exec", config, session),
    ):
        subprocess.run([TOOLS / tool, *operands], cwd=COPY, env=environment, check=True)
    with contextlib.closing(sqlite3.connect(session)) as results:
        [[tried]] = results.execute("SELECT COUNT(*) FROM work_results WHERE worker_outcome != 'SKIPPED'")
        survivors = results.execute("SELECT diff FROM work_results WHERE test_outcome = 'SURVIVED'").fetchall()
    print(
        f"# {name}: {len(survivors)} of {tried} mutants survive",
        *(diff for (diff,) in survivors),
        sep="\n\n",
        flush=True,
    )
    return len(survivors)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
