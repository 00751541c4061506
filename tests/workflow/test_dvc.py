"""DVC and Snakemake together: experiments and back, caches, clones; nothing stale gets a hash, no file is lost."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import Study, wait
from tests.workflow.watched import AFTER, JUDGED, PROMPT, TABLES, VERDICT, hold, let_go, waiting

SCORES = "results/edct/scores/mine"
THRESHOLD = ("--set-param", "edct.judges.j.threshold=0.8")
LEVEL = ("--set-param", "edct.interval.level=0.9")
OF_EDCT = b"\n  edct:"
"""Where dvc.lock begins to say what is sealed."""
OF_LEVEL = TABLES | {"report": 1}
MINE = {
    "results/edct/tables/own.csv": "my,own\n",
    "results/edct/verdicts/mine/notes.txt": "mine",
    "results/edct/report/letter.html": "dear editor",
    "results/notes.md": "mine",
}


def _scores(text: bytes) -> dict[tuple[str, ...], list[str]]:
    """The scores in a file by condition and item."""
    rows = csv.DictReader(text.decode().splitlines())
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    return {
        (*(row[name] for name in names), f"{row['id']} edit {row['edit']}"): [row["pcs"], row["ncc"], row["ccs"]]
        for row in rows
    }


def test_dvc_repro_again_makes_nothing(study: Study) -> None:
    lock = (study.root / "dvc.lock").read_bytes()
    assert study.jobs("dvc", "repro") == {}
    assert (study.root / "dvc.lock").read_bytes() == lock
    assert study.run("git", "status", "--porcelain") == ""


def test_an_experiment_and_back(study: Study, finished: Study, truth: Study) -> None:
    """The trap that once gave wrong tables: DVC swaps files, and what Snakemake knows stays."""
    assert study.jobs("dvc", "exp", "run", *THRESHOLD) == JUDGED | AFTER
    assert study.table() == truth.table()
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
    assert study.jobs("dvc", "repro") in (JUDGED | AFTER, {}), "DVC may remember the experiment"
    assert study.table() == truth.table()
    assert study.stale() == {}


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


@pytest.mark.parametrize("cache", ["hardlink"])
def test_another_kind_of_cache_is_never_written_into(study: Study, truth: Study, finished: Study, cache: str) -> None:
    """Files that are links into DVC's cache are replaced, not changed."""
    study.run("dvc", "config", "--local", "cache.type", cache)
    study.run("dvc", "checkout", "--relink")
    assert study.stale() == {}
    study.set_threshold(0.8)
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    assert study.results("results/edct/scores") == truth.results("results/edct/scores")
    study.run("git", "checkout", "--quiet", "--force", "HEAD")
    study.run("dvc", "checkout", "--force")
    assert study.results() == finished.results()
    assert study.stale() == {}


@pytest.mark.parametrize("how", ["--temp", "--queue"])
def test_an_experiment_elsewhere(study: Study, finished: Study, how: str) -> None:
    with study.counting() as jobs:
        study.run("dvc", "exp", "run", how, *LEVEL)
        if how == "--queue":
            study.run("dvc", "exp", "run", "--run-all")
    assert jobs == OF_LEVEL
    assert study.results() == finished.results()
    assert study.stale() == {}
    name = study.run("dvc", "exp", "list", "--name-only").split()[0]
    study.run("dvc", "exp", "apply", name)
    assert "90 %" in study.table()
    assert study.stale() == {}


def test_case_f_dvc_runs_a_stage_whose_own_prompt_changed(study: Study) -> None:
    study.replace(PROMPT, "what changed", "strictly")
    assert study.jobs("dvc", "repro") == JUDGED | AFTER
    assert study.stale() == {}
    assert study.jobs("dvc", "repro") == {}


def test_parameters_edited_while_dvc_reproduces_are_not_sealed(study: Study) -> None:
    lock = (study.root / "dvc.lock").read_bytes()
    study.set_threshold(0.8)
    hold(study)
    run = study.start("dvc", "repro")
    wait(lambda: waiting(study), run)
    study.set_threshold(0.5)
    let_go(study)
    assert run.wait() != 0
    assert "not what would be made now" in study.said or "changed while DVC ran" in study.said
    assert (study.root / "dvc.lock").read_bytes().partition(OF_EDCT)[2] == lock.partition(OF_EDCT)[2]
    assert study.stale()[VERDICT] == "changed: parameters"


def test_parameters_edited_between_run_and_seal_are_not_sealed(study: Study) -> None:
    study.set_threshold(0.8)
    study.run("snakemake", "--", VERDICT)
    study.set_threshold(0.5)
    refused = study.try_("cfeval", "seal", "edct")
    assert refused.returncode == 2
    assert f"stale: {VERDICT}: changed: parameters" in refused.stdout


def test_a_plan_older_than_the_seal_is_refused(study: Study) -> None:
    """What DVC saw when it began and what is sealed are the same."""
    plan = study.root / ".cfeval/plans/edct.json"
    plan.write_text(plan.read_text().replace('"edct.calls": "', '"edct.calls": "0'))
    refused = study.refused("cfeval", "seal", "edct", "--plan", str(plan))
    assert "parameters, code or files changed while DVC ran; run it again" in refused


def test_case_g_files_of_the_user_stay_and_are_named(study: Study) -> None:
    for path, text in MINE.items():
        (study.root / path).write_text(text)
    told = [f"{path}: nobody here made it, or it was changed since; left alone" for path in MINE if "edct" in path]
    assert set(study.run("cfeval", "seal", "edct").splitlines()) >= set(told)
    study.change(lambda edct: edct["interval"].update(level=0.9))
    assert study.jobs("dvc", "repro") == OF_LEVEL
    assert study.jobs("dvc", "repro", "--force") == {}
    assert {path: (study.root / path).read_text() for path in MINE} == MINE


def test_case_g_a_former_file_that_somebody_changed_stays(study: Study) -> None:
    def without(edct) -> None:
        edct["tables"]["table1"].pop()

    changed = study.root / "results/edct/verdicts/mine/mb/w/edct-2025/ea/k/000.jsonl"
    changed.write_text("by hand\n")
    study.change(without)
    study.run("snakemake")
    said = study.run("cfeval", "seal", "edct")
    assert f"{changed.relative_to(study.root)}: nobody here made it" in said
    left = {path.name for path in changed.parent.iterdir()}
    assert left == {"000.jsonl", "000.jsonl.made.json"}
    assert not (study.root / "results/edct/baselines/mine/mb").exists()


@pytest.fixture
def pushed(study: Study) -> Study:
    """The study with a remote that has its files."""
    study.run("dvc", "remote", "add", "--default", "cache", str(study.home / "cache"))
    study.commit("a remote")
    study.run("dvc", "push")
    return study


def cloned(study: Study) -> Study:
    clone = Study(study.home.parent / "clone" / "study")
    clone.home.mkdir()
    shutil.copytree(study.home / "lib", clone.home / "lib")
    study.run("git", "clone", "--quiet", str(study.root), str(clone.root))
    return clone


def test_a_clone_that_pulls_makes_nothing_then_what_a_parameter_asks_for(pushed: Study, finished: Study) -> None:
    clone = cloned(pushed)
    said = clone.run("dvc", "repro", "--allow-missing", "--dry")
    assert "snakemake" not in said
    clone.run("dvc", "pull")
    with clone.counting("kept") as kept:
        assert clone.jobs("snakemake") == {}
        assert clone.jobs("dvc", "repro") == {}
    assert not kept
    assert clone.run("git", "status", "--porcelain") == ""
    assert clone.results() == finished.results()
    clone.change(lambda edct: edct["interval"].update(level=0.9))
    assert clone.jobs("dvc", "repro") == OF_LEVEL
    assert clone.stale() == {}


def test_a_clone_without_data_pulls_by_itself(pushed: Study, finished: Study, copy: Copy) -> None:
    clone = cloned(pushed)
    assert clone.jobs("dvc", "repro", "--pull", "--allow-missing") == {}
    shown = "results/edct/tables"
    assert clone.results(shown) == finished.results(shown)


def test_case_e_stale_files_from_a_cache_are_not_sealed(study: Study) -> None:
    """Files of another state of the study, checked out by hand."""
    study.set_threshold(0.8)
    study.run("dvc", "checkout", "--force")
    assert study.stale_stages() == {"verdicts": 2}
    assert study.try_("cfeval", "seal", "edct", "--plan", ".cfeval/plans/edct.json").returncode == 2


def test_what_dvc_must_see_stands_in_the_plan(study: Study) -> None:
    plan = Path(study.root / ".cfeval/plans/edct.json")
    before = json.loads(plan.read_text())
    study.set_threshold(0.8)
    study.run("cfeval", "plan")
    after = json.loads(plan.read_text())
    assert {stage for stage in before if before[stage] != after[stage]} == {"edct.verdicts"}
    study.run("touch", "--date", "2031-01-01", str(plan))
    study.run("cfeval", "plan")
    assert plan.stat().st_mtime > 1.9e9, "a plan that stays the same is not written again"
