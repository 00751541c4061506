"""Bytes that somebody changed, with size and time restored; sidecars that are gone or say something else."""

import json
import os
from pathlib import Path

import pytest

from tests.workflow.study import Study
from tests.workflow.watched import PROMPT, VERDICT, VERDICTS

SAMPLES = "results/edct/items/mine/000.jsonl"
COUNTERFACTUALS = "results/edct/counterfactuals/mine/ma/w/edct-2025/ea/000"
TABLE = "results/edct/tables/edct_table1.csv"


def flip(file: Path, at: int = -3) -> None:
    """Change one byte in place; size, inode and both times that a user can set stay."""
    stat = file.stat()
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    with file.open("r+b") as stream:
        stream.write(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        (VERDICT, {VERDICT}),
        (SAMPLES, {SAMPLES}),
        (f"{COUNTERFACTUALS}/*.png", {f"{COUNTERFACTUALS}.jsonl"}),
        ("data/mine/*.png", {SAMPLES}),
        (PROMPT, set(VERDICTS)),
        (TABLE, {TABLE}),
        (TABLE.replace(".csv", ".tex"), {TABLE}),
        ("src/cfeval/testbed/watching.py", set(VERDICTS)),
    ],
    ids=["records", "samples", "an image", "an own image", "a prompt", "a table", "a table in LaTeX", "a source"],
)
def test_a_flipped_byte_is_found(study: Study, file: str, stale: set[str]) -> None:
    study.stale()  # it has hashed everything before
    path = next(study.root.glob(file))
    flip(path, path.read_bytes().rindex(b"256") if path.suffix == ".py" else -3)
    found = set(study.stale())
    assert stale <= found
    if not file.startswith(("results", "data")):
        assert found == stale
    assert study.try_("cfeval", "seal", "edct").returncode == 2


def test_what_was_flipped_is_made_again_and_nothing_else(study: Study, finished: Study) -> None:
    for file in (VERDICT, TABLE, f"{COUNTERFACTUALS}.jsonl"):
        flip(study.root / file)
    next((study.root / "results/edct/counterfactuals/mine/mb/w/edct-2025/ea/001").glob("*.png")).unlink()
    assert study.jobs("snakemake") == {"counterfactuals": 2, "verdicts": 1, "table": 1}
    assert study.stale() == {}
    assert study.results() == finished.results()


def edited(made: Path, change: str) -> None:
    """Change a sidecar."""
    content = json.loads(made.read_text())
    if change == "the output":
        content["outputs"] = dict.fromkeys(content["outputs"], "0" * 64)
    elif change == "an input":
        content["inputs"][next(iter(content["inputs"]))] = "0" * 64
    elif change == "the code":
        content["plan"]["code"]["edct.verdicts"] = "0" * 16
    elif change == "no input":
        content["inputs"] = {}
    else:
        content = {}
    made.write_text(json.dumps(content))


@pytest.mark.parametrize("change", ["the output", "an input", "the code", "no input", "everything"])
def test_an_edited_sidecar_proves_nothing(study: Study, change: str) -> None:
    edited(study.root / f"{VERDICT}.made.json", change)
    assert set(study.stale()) == {VERDICT}


def test_sidecars_deleted_or_edited_are_made_again(study: Study, finished: Study) -> None:
    (study.root / f"{VERDICTS[0]}.made.json").unlink()
    edited(study.root / f"{VERDICTS[1]}.made.json", "an input")
    (study.root / f"{TABLE}.made.json").write_text("[")
    assert set(study.stale()) == {*VERDICTS, TABLE}
    assert study.jobs("snakemake") == {"verdicts": 2, "table": 1}
    assert study.results() == finished.results()


def test_a_sidecar_that_speaks_for_another_file_proves_nothing(study: Study) -> None:
    """The files of two shards, exchanged with their sidecars."""
    one, other = (study.root / path for path in VERDICTS)
    for ending in ("", ".made.json"):
        first, second = Path(f"{one}{ending}"), Path(f"{other}{ending}")
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
    assert set(VERDICTS) <= set(study.stale())
