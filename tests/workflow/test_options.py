"""No option, profile, time or record of Snakemake's passes what is out of date, nor makes again what holds."""

import os
import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.workflow.study import Study
from tests.workflow.watched import EVERYTHING, FILE, VERDICT, VERDICTS

ALL_TRIGGERS = ("--rerun-triggers", "mtime", "params", "input", "software-env", "code")
PLAIN = ("--workflow-profile", "none", "--cores", "2")
STRAY = {
    ".env": "MY_KEY=x\n",
    "notes.txt": "mine\n",
    "own/beside.md": "not named\n",
    "data/mine/stray.txt": "mine\n",
    "results/edct/tables/own.csv": "my,own\n",
    "results/edct/verdicts/mine/notes.txt": "mine\n",
    "results/edct/report/letter.html": "dear editor\n",
}
"""Files of the user's, some where results lie."""


def profile(study: Study, text: str) -> dict[str, str]:
    """The environment of a user whose own profile says this."""
    folder = study.home / "profile"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(text)
    return {"SNAKEMAKE_PROFILE": str(folder)}


def test_the_first_run_makes_all_and_the_next_nothing_and_wherever_it_lies(
    study: Study, finished: Study, first_steps: dict[str, int]
) -> None:
    """Then all that Snakemake and this machine remember is lost, and all times; then a copy elsewhere, by tar."""
    assert first_steps == EVERYTHING
    assert study.run("git", "status", "--porcelain") == ""
    assert study.stale() == {}
    assert study.is_verified()
    shutil.rmtree(study.root / ".snakemake")
    shutil.rmtree(study.root / ".cfeval")
    files = sorted(path for path in (study.root / "results").rglob("*") if path.is_file())
    random.Random(0).shuffle(files)
    for number, path in enumerate(files):
        at = datetime(2021 + number % 12, 1 + number % 12, 1 + number % 28, tzinfo=UTC).timestamp()
        os.utime(path, (at, at))
    study.run("touch", "--date", "2035-01-01", "data/mine.jsonl")
    assert study.nothing_to_do()

    clone = Study(study.home.parent / "elsewhere" / "named" / "otherwise")
    clone.home.mkdir(parents=True)
    shutil.copytree(study.home / "lib", clone.home / "lib")
    study.run("git", "clone", "--quiet", str(study.root), str(clone.root))
    study.run("sh", "-c", f"tar -c --exclude .snakemake_timestamp results | tar -x -m -C {clone.root}")
    assert clone.nothing_to_do()
    for one in (study, clone):
        with one.counting("kept") as kept:
            assert one.jobs("snakemake") == {}
        assert not kept, "not one job was even started"
        assert one.is_verified()
        assert one.results() == finished.results()


def test_nothing_talks_snakemake_out_of_what_is_out_of_date(study: Study, truth: Study) -> None:
    study.run("snakemake", *PLAIN, "--forcerun", "edct_verdicts", "--until", "edct_scores")  # it keeps checksums
    study.set_threshold(0.8)
    touched = study.try_("snakemake", "--touch")
    assert (touched.returncode, "2 results no longer hold, as results/edct/verdicts" in touched.stderr) == (2, True)
    assert set(study.stale()) == set(VERDICTS)
    assert not study.is_verified()
    its = profile(study, "cores: 2\nrerun-triggers: [input]\nmax-checksum-file-size: 1000000\n")
    every = (
        (*PLAIN, "--rerun-triggers", "mtime"),
        (*PLAIN, "--rerun-triggers", "input"),
        (*PLAIN, *ALL_TRIGGERS, "--max-checksum-file-size", "0"),
        (*PLAIN, *ALL_TRIGGERS, "--max-checksum-file-size", "1000000000"),
    )
    for options in every:
        said = study.run("snakemake", "--dry-run", "--quiet", "rules", *options, "--", *VERDICTS)
        assert said.count("would run: verdicts") == 2, options
    for path, time in zip(VERDICTS, ("@0", "2035-01-01"), strict=True):  # a time of 0 is "no output" to Snakemake
        study.run("touch", "--date", time, path, f"{path}/{FILE}")
    assert study.jobs("snakemake", "--", VERDICTS[0], **its) == {"verdicts": 1}
    assert study.jobs("snakemake", *every[-1], "--", VERDICTS[1]) == {"verdicts": 1}
    assert study.jobs("snakemake", "--workflow-profile", "none", "--", "edct_verdicts_all", **its) == {"scores": 1}
    beneath = "results/edct/scores"
    assert study.results(beneath) == truth.results(beneath)


def test_forced_jobs_keep_what_holds_and_until_leaves_the_rest(study: Study, finished: Study) -> None:
    with study.counting("kept") as kept:
        assert study.jobs("snakemake", "--forceall", "--", VERDICT) == {}
    assert kept == dict.fromkeys(("baselines", "instructions", "counterfactuals", "requeries", "verdicts"), 1) | {
        "items": 1
    }
    assert study.results() == finished.results()
    study.set_threshold(0.8)
    before = study.results()
    assert "would run: verdicts" in study.run("snakemake", "--dry-run", DVC_STAGE="edct", DVC_ROOT=str(study.root))
    assert study.results() == before, "a dry run changes and deletes nothing"
    assert study.jobs("snakemake", "--until", "edct_verdicts") == {"verdicts": 2}
    assert "results/edct/scores/mine/ma" in study.stale()
    assert not study.is_verified()


def test_files_that_nobody_declared_never_stop_a_run_and_stay(study: Study) -> None:
    """A plug-in that reads notes works; keys, notes and files of the user's among results are left alone."""
    for path, text in STRAY.items():
        (study.root / path).write_text(text)
    study.change(lambda edct: edct["judges"]["j"].update(beside="own/beside.md"))
    assert study.jobs("snakemake", "--", "edct_items_all") == {}, "a file more among the images is none of them"
    assert study.jobs("snakemake")["verdicts"] == 2
    assert study.stale() == {}
    assert {path: (study.root / path).read_text() for path in STRAY} == STRAY
    notes = study.root / VERDICT.replace("verdicts", "counterfactuals").replace("/j/", "/") / "edct-2025/notes.txt"
    notes.write_text("mine\n")
    study.change(lambda edct: edct["editors"]["ea"].update(strength=0.7))
    refused = study.try_("snakemake", "--", VERDICT)
    assert refused.returncode == 1
    assert "notes.txt: no image of" in refused.stderr
    assert notes.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("params", "command", "says"),
    [
        ("edct: {itmes: 3}", [], "unknown key 'edct.itmes'; did you mean 'items'?"),
        ("shards: [", [], "not valid YAML"),
        ("", ["--config", "edct={judges: {j: {plugin: mok}}}"], "did you mean 'mock'?"),
    ],
)
def test_bad_parameters_are_one_line_and_status_2(study: Study, params: str, command: list[str], says: str) -> None:
    before = study.results()
    if params:
        (study.root / "params.yaml").write_text(params)
    assert says in study.refused("snakemake", *command)
    assert study.results() == before


@pytest.mark.usefixtures("plain_programs")
def test_read_only_results_are_named_and_left_alone(study: Study, finished: Study) -> None:
    study.set_threshold(0.8)
    folder = "results/edct/verdicts"
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 77"
    command = f"{mount}; snakemake -- {VERDICT}"
    refused = study.try_("unshare", "--mount", "--map-root-user", "sh", "-c", command)
    if refused.returncode == 77 or "unshare:" in refused.stderr:
        pytest.skip("this machine does not let a test mount a folder read-only")
    assert refused.returncode == 1
    assert Path(folder).name in refused.stderr
    assert study.results(folder) == finished.results(folder)


def test_snakemake_writes_its_own_report(study: Study) -> None:
    study.run("snakemake", *PLAIN, "--forcerun", "edct_figures", "--", "edct_tables_all")
    study.run("snakemake", "--report", "report.html", "--", "edct_tables_all")
    report = (study.root / "report.html").read_text()
    assert "edct_forest" in report
    assert "of edct, drawn from" in report
    assert "of edct, with all columns" in report
