"""Whatever a result rests on is edited: what is out of date then, and why; what no result rests on costs nothing."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.workflow.study import Study, by_folder
from tests.workflow.watched import FILE, HELPER, JUDGED, OTHERS, PLUG_IN, PROMPT, VERDICT, VERDICTS, install

SCRIPTED = "packages/cfeval_testbed/cfeval_testbed/mocks/judges.py"
STAGE = "src/cfeval/edct/stages/verdicts.py"
COUNTERFACTUALS = "results/edct/counterfactuals/mine/ma/w/ea/000"
SAMPLES = "results/edct/items/mine/000.jsonl"
REQUERIES = "results/edct/requeries/mine/mb/w/ea/000"
TABLE = "results/edct/tables/edct_table1.csv"


def weights_of(study: Study) -> Path:
    """Weights that lie outside of the study."""
    return study.home / "weights.bin"


@contextmanager
def changed(path: Path, change: Callable[[bytes], bytes]) -> Iterator[None]:
    """A file with another content; it is put back."""
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    yield
    path.write_bytes(before)


def test_an_edit_makes_out_of_date_what_rests_on_it_and_says_why_and_back_again_nothing(study: Study) -> None:
    weights_of(study).write_bytes(b"1" * 100)
    study.change(lambda edct: edct["judges"]["j"].update(weights=str(weights_of(study))))
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    folder = sorted((study.root / "data/mine").glob("*.png"))
    edits: dict[str, tuple[Path, Callable[[bytes], bytes], dict[str, int]]] = {
        f"{PROMPT} has changed": (study.root / PROMPT, lambda b: b.replace(b"what", b"all that"), {"verdicts": 2}),
        "code has changed: cfeval_testbed.plugins.judges_watched": (
            study.root / PLUG_IN,
            lambda b: b.replace(b"digest[:2]", b"digest[2:4]"),
            {"verdicts": 2},
        ),
        "code has changed: cfeval_testbed.watching": (
            study.root / HELPER,
            lambda b: b.replace(b"/ 256", b"/ 100"),
            {"verdicts": 2},
        ),
        f"{weights_of(study)} has changed": (weights_of(study), lambda _: b"2" * 100, {"verdicts": 2}),
        "--judge: threshold changed": (
            study.root / "params.yaml",
            lambda b: b.replace(b"threshold: 0.5", b"threshold: 0.7", 1),
            {"verdicts": 2},
        ),
        "cfeval:src/cfeval/edct/prompts/conversation/explain.md has changed": (
            study.root / "src/cfeval/edct/prompts/conversation/explain.md",
            lambda b: b + b"Be brief.\n",
            {"baselines": 4, "requeries": 4},
        ),
        "data/mine.jsonl has changed": (
            study.root / "data/mine.jsonl",
            lambda b: b.replace(b"What is 3?", b"What is 4?"),
            {"items": 2},
        ),
        f"{folder[0].relative_to(study.root)} has changed": (folder[0], lambda _: folder[1].read_bytes(), {"items": 1}),
    }
    for why, (path, change, stale) in edits.items():
        with changed(path, change):
            found = study.stale(targets=("edct_verdicts_all",))
        assert (by_folder(found), set(found.values())) == (stale, {why})
    install(study, "2.0")
    assert study.stale(targets=(VERDICT,)) == {VERDICT: "fakelib is 2.0, was 1.0"}
    install(study, "1.0")
    with study.counting("kept") as kept:
        assert study.jobs("snakemake", "--", "edct_verdicts_all") == {}
    assert not kept


def test_what_was_edited_before_a_run_counts_in_it_and_the_same_value_stops_what_follows(study: Study) -> None:
    study.replace(PROMPT, "what changed", "strictly")
    study.replace(PLUG_IN, "digest[:2]", "digest[2:4]")
    install(study, "2.0")
    scores = study.results("results/edct/scores")
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    [made] = json.loads((study.root / f"{VERDICT}.made.json").read_text())["steps"]
    assert made["packages"]["fakelib"] == "2.0"
    assert PROMPT in made["inputs"]
    judged = study.results("results/edct/scores")
    assert judged != scores
    study.replace(HELPER, "/ 256", "/ 256.0")
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == {"verdicts": 2}
    assert study.results("results/edct/scores") == judged
    assert study.nothing_to_do("--", "edct_verdicts_all")


def test_words_cost_nothing(study: Study, finished: Study) -> None:
    """Comments, docstrings, help texts, progress, the wording of errors: no job, and no file but those edited."""
    study.edit(SCRIPTED, "# a remark")
    study.replace(PLUG_IN, '"""Draws scores by hash."""', '"""Draws."""')
    study.replace(STAGE, 'help="', 'help="In other words: ')
    study.replace("src/cfeval/core/progress.py", "def ", "UNUSED = 1\n\n\ndef ")
    study.replace("src/cfeval/core/errors.py", "did you mean", "perhaps")
    study.edit("workflow/rules/edct.smk", "# a remark")
    assert study.stale() == {}
    assert study.nothing_to_do()
    edited = {line.split()[-1] for line in study.run("git", "status", "--short").splitlines()}
    assert not {name for name in edited if not name.startswith(("src/", "packages/", "workflow/"))}
    assert study.results() == finished.results()


def flip(file: Path, at: int = -3) -> None:
    """Change one byte in place; size, inode and both times that a user can set stay."""
    stat = file.stat()
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    with file.open("r+b") as stream:
        stream.write(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def test_bytes_that_somebody_flipped_are_found_and_made_again_and_nothing_else(study: Study, finished: Study) -> None:
    study.stale()  # all has been hashed before
    image = next((study.root / COUNTERFACTUALS).rglob("*.png"))
    for path in (study.root / VERDICT / FILE, image, study.root / SAMPLES, study.root / TABLE.replace("csv", "tex")):
        flip(path)
    found = study.stale()
    own = {VERDICT, COUNTERFACTUALS, SAMPLES, "results/edct/tables/edct_table1.csv"}
    assert {name for name, why in found.items() if name in own and "has changed" in why} == own
    assert not study.is_verified()
    assert study.jobs("snakemake") == {"items": 1, "counterfactuals": 1, "verdicts": 1, "tables": 1}
    assert study.results() == finished.results()
    flip(study.root / HELPER, (study.root / HELPER).read_bytes().rindex(b"256"))
    assert set(study.stale()) == set(VERDICTS)


def edited(made: Path, change: str) -> None:
    """Change a record."""
    content = json.loads(made.read_text())
    [step] = content["steps"]
    if change == "an output":
        step["outputs"] = dict.fromkeys(step["outputs"], "0" * 64)
    elif change == "an input":
        step["inputs"][next(iter(step["inputs"]))] = "0" * 64
    elif change == "the code":
        step["code"]["cfeval.edct.stages.verdicts"] = "0" * 16
    elif change == "an option":
        step["options"]["--seed"] = "8"
    made.write_text({"nothing": "", "no JSON": "["}.get(change) or json.dumps(content))


def test_records_that_are_gone_edited_exchanged_or_forged_prove_nothing(study: Study, finished: Study) -> None:
    record = study.root / f"{VERDICT}.made.json"
    right = record.read_bytes()
    for change in ("an output", "an input", "the code", "an option", "no JSON"):
        edited(record, change)
        assert set(study.stale(targets=(VERDICT,))) == {VERDICT}
        record.write_bytes(right)
    one, other = (study.root / path for path in VERDICTS)
    for ending in (f"/{FILE}", ".made.json"):  # two shards, exchanged with their records
        first, second = Path(f"{one}{ending}"), Path(f"{other}{ending}")
        (first_bytes, second_bytes) = first.read_bytes(), second.read_bytes()
        first.write_bytes(second_bytes)
        second.write_bytes(first_bytes)
    assert set(VERDICTS) <= set(study.stale(targets=("edct_verdicts_all",)))
    Path(f"{one}.made.json").unlink()
    edited(study.root / f"{COUNTERFACTUALS}.made.json", "an input")
    assert study.jobs("snakemake") == {"counterfactuals": 1, "verdicts": 2}
    assert study.results() == finished.results()
    _forge(study, REQUERIES)
    found = study.stale()
    after = {"results/edct/calls/calls.zip", "results/edct/report/index.html"}
    assert set(found) == {OTHERS, *after}, "its own record holds: what was made from it tells"
    assert not study.is_verified()


def _forge(study: Study, output: str) -> None:
    """Change a result, and its record as if the step had made that."""
    file, record = study.root / output / FILE, study.root / f"{output}.made.json"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    file.write_bytes(file.read_bytes().replace(b"said", b"told").replace(b"seen", b"told"))
    record.write_text(record.read_text().replace(before, hashlib.sha256(file.read_bytes()).hexdigest()))
