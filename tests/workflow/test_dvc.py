"""DVC and Snakemake together: experiments and back, caches, clones; nothing out of date gets a hash, no file is lost.

What is run here are the stages of the project's dvc.yaml: Snakemake, then `cfeval verify`.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy, Shared
from tests.workflow.study import Study, wait
from tests.workflow.watched import AFTER, JUDGED, PROMPT, VERDICT, hold, let_go, waiting

ANEW = JUDGED | {"calls": 1} | AFTER
"""What is made again where a judge is another."""
SCORES = "results/edct/scores/mine"
THRESHOLD = ("--set-param", "edct.judges.j.threshold=0.8")
LEVEL = ("--set-param", "edct.interval.level=0.9")
OF_EDCT = b"\n  edct:"
"""Where dvc.lock begins to say what the results are."""


@pytest.fixture(scope="session")
def finished(finished: Study, shared: Shared) -> Study:
    """The study, with its hashes in dvc.lock, committed."""

    def reproduce(folder: Path) -> None:
        study = finished.copy(folder / "home")
        assert study.jobs("dvc", "repro") == {}
        study.commit("hashed")

    return Study(shared("reproduced", reproduce) / "home" / "study")


@pytest.fixture
def study(finished: Study, copy: Copy) -> Study:
    """A copy of it."""
    return copy(finished)


def _scores(text: bytes) -> dict[tuple[str, str], list[str]]:
    """The scores in a file by condition and item."""
    rows = csv.DictReader(text.decode().splitlines())
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    return {
        (*(row[name] for name in names), f"{row['id']} edit {row['edit']}"): [row["pcs"], row["ncc"], row["ccs"]]
        for row in rows
    }


def _says_what_changed(study: Study, finished: Study) -> None:
    said = json.loads(study.run("cfeval", "diff", "HEAD", "--json", "--items", "100"))
    scored = (
        {file: text for file, text in one.results(SCORES).items() if file.endswith(".csv")} for one in (finished, study)
    )
    old, new = ({file: _scores(text) for file, text in one.items()} for one in scored)
    assert said["parameters"] == [{"name": "edct.judges.j.threshold", "before": 0.5, "after": 0.8}]
    flipped = {key for file in old for key in old[file] if old[file][key] != new[file][key]}
    conditions = said["studies"]["edct"]["conditions"]
    assert {(*condition["names"], item["key"]) for condition in conditions for item in condition["items"]} == flipped
    assert flipped


def test_an_experiment_and_back(study: Study, finished: Study, truth: Study) -> None:
    """The trap that once gave wrong tables: DVC swaps files, and what Snakemake knows stays."""
    assert study.jobs("dvc", "repro") == {}
    assert study.run("git", "status", "--porcelain") == ""
    assert study.jobs("dvc", "exp", "run", *THRESHOLD) == ANEW
    assert study.results(SCORES) == truth.results(SCORES)
    assert study.stale() == {}
    assert "threshold" in study.run("dvc", "params", "diff")
    assert "table1." in study.run("dvc", "metrics", "diff")
    _says_what_changed(study, finished)
    study.run("dvc", "plots", "diff", "HEAD", "--out", "plots")
    page = (study.root / "plots/index.html").read_text()
    assert "//" not in page.replace("<!-- ", "")
    assert all(f"static/{side}_results_edct_figures_edct_forest.svg" in page for side in ("HEAD", "workspace"))
    study.run("rm", "-r", "plots")

    study.run("git", "checkout", "--quiet", "--force", "HEAD")
    study.run("dvc", "checkout")
    with study.counting("kept") as kept:
        assert study.jobs("snakemake") == {}
    assert not kept
    assert study.results() == finished.results()

    study.set_threshold(0.8)
    assert not study.is_verified(), "files of another state of the study"
    assert study.jobs("dvc", "repro") in (ANEW, {}), "DVC may remember the experiment"
    assert study.results(SCORES) == truth.results(SCORES)
    assert study.stale() == {}


def test_what_is_edited_while_dvc_reproduces_gets_no_hash(study: Study) -> None:
    lock = (study.root / "dvc.lock").read_bytes()
    study.set_threshold(0.8)
    hold(study)
    run = study.start("dvc", "repro")
    wait(lambda: waiting(study), run)
    study.set_threshold(0.5)
    let_go(study)
    assert run.wait() != 0
    assert "outdated or missing; run the study again" in study.said
    assert (study.root / "dvc.lock").read_bytes().partition(OF_EDCT)[2] == lock.partition(OF_EDCT)[2]
    assert study.stale()[VERDICT] == "--judge: threshold changed"
    study.set_threshold(0.8)
    hold(study)
    (study.root / f"{VERDICT}.made.json").unlink()
    run = study.start("dvc", "repro")
    wait(lambda: waiting(study), run)
    study.kill(run)
    let_go(study)
    (study.root / ".dvc/tmp/rwlock").write_text("")
    assert study.try_("dvc", "repro").returncode != 0
    assert "rwlock" in study.run("cfeval", "doctor")
    assert "Nothing to clean up" in study.run("cfeval", "doctor")
    assert study.jobs("dvc", "repro")["verdicts"] >= 1


def test_own_prompts_comments_and_files_of_the_users(study: Study, finished: Study) -> None:
    """A comment costs a look and no result; an own prompt counts; what is not ours gets no hash and stays."""
    study.edit("src/cfeval/edct/stages/verdicts.py", "# a remark")
    assert study.jobs("dvc", "repro") == {}
    assert study.results() == finished.results()
    study.replace(PROMPT, "what changed", "strictly")
    assert study.jobs("dvc", "repro", "--force") == ANEW
    mine = study.root / "results/edct/verdicts/mine/notes.txt"
    mine.write_text("mine")
    refused = study.try_("dvc", "repro", "--force")
    assert refused.returncode != 0
    assert "results/edct/verdicts/mine/notes.txt: no record names it" in refused.stdout
    assert mine.read_text() == "mine"


def test_a_cache_of_links_is_never_written_into_and_an_experiment_elsewhere(
    study: Study, truth: Study, finished: Study
) -> None:
    study.run("dvc", "config", "--local", "cache.type", "hardlink")
    study.run("dvc", "checkout", "--relink")
    assert study.stale() == {}
    study.set_threshold(0.8)
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    assert study.results(SCORES) == truth.results(SCORES)
    study.run("git", "checkout", "--quiet", "--force", "HEAD")
    study.run("dvc", "checkout", "--force")
    assert study.results() == finished.results()
    with study.counting() as jobs:
        study.run("dvc", "exp", "run", "--temp", *LEVEL)
    assert jobs == AFTER
    assert study.results() == finished.results()
    name = study.run("dvc", "exp", "list", "--name-only").split()[0]
    study.run("dvc", "exp", "apply", name)
    assert "90 %" in study.table()
    assert study.stale() == {}


def test_a_clone_that_pulls_makes_nothing_then_what_a_parameter_asks_for(study: Study, finished: Study) -> None:
    study.run("dvc", "remote", "add", "--default", "cache", str(study.home / "cache"))
    study.commit("a remote")
    study.run("dvc", "push")
    clone = Study(study.home.parent / "clone" / "study")
    clone.home.mkdir()
    shutil.copytree(study.home / "lib", clone.home / "lib")
    study.run("git", "clone", "--quiet", str(study.root), str(clone.root))
    assert "snakemake" not in clone.run("dvc", "repro", "--allow-missing", "--dry")
    clone.run("dvc", "pull")
    with clone.counting("kept") as kept:
        assert clone.jobs("snakemake") == {}
        assert clone.jobs("dvc", "repro") == {}
    assert not kept
    assert clone.run("git", "status", "--porcelain") == ""
    assert clone.results() == finished.results()
    clone.change(lambda edct: edct["interval"].update(level=0.9))
    assert clone.jobs("dvc", "repro") == AFTER
    assert clone.stale() == {}
