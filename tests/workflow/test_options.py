"""No option, profile or record of Snakemake's passes stale files, nor makes again what fits."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import Study
from tests.workflow.watched import EVERYTHING, JUDGED, VERDICT, VERDICTS

ALL_TRIGGERS = ("--rerun-triggers", "mtime", "params", "input", "software-env", "code")
PLAIN = ("--workflow-profile", "none", "--cores", "2")


def would_run(study: Study, *options: str) -> int:
    """How many verdicts a dry run says would be made."""
    said = study.run("snakemake", "--dry-run", "--quiet", "rules", *options)
    return said.count("would run: verdicts")


def profile(study: Study, text: str) -> dict[str, str]:
    """The environment of a user whose own profile says this."""
    folder = study.home / "profile"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(text)
    return {"SNAKEMAKE_PROFILE": str(folder)}


def test_the_first_run_makes_all_and_the_next_nothing(finished: Study, first_jobs: dict[str, int]) -> None:
    assert first_jobs == EVERYTHING
    assert finished.run("git", "status", "--porcelain") == ""
    assert finished.stale() == {}
    with finished.counting("kept") as kept:
        assert finished.jobs("snakemake") == {}
    assert not kept, "not one job was even started"


def test_no_job_of_a_run_starts_cold(truth: Study) -> None:
    assert (truth.root / "logs/warm.log").read_text() == ""


def test_case_e_no_option_talks_snakemake_out_of_a_stale_job(truth: Study, copy: Copy) -> None:
    """The study has Snakemake's own records, with checksums, of a run of all triggers."""
    study = copy(truth)
    study.run("snakemake", *PLAIN, "--forcerun", "edct_verdicts", "edct_scores", "--until", "edct_scores")
    study.set_threshold(0.5)
    every = (
        (*PLAIN, "--rerun-triggers", "mtime"),
        (*PLAIN, "--rerun-triggers", "input"),
        (*PLAIN, *ALL_TRIGGERS, "--max-checksum-file-size", "0"),
        (*PLAIN, *ALL_TRIGGERS, "--max-checksum-file-size", "1000000000"),
    )
    assert {options: would_run(study, *options) for options in every} == dict.fromkeys(every, 2)
    assert study.jobs("snakemake", *every[-1], "--", *VERDICTS) == {"verdicts": 2}


def test_case_e_touch_passes_nothing(study: Study, truth: Study) -> None:
    study.set_threshold(0.8)
    study.run("snakemake", "--touch")
    assert study.stale_stages() == {"verdicts": 2}
    refused = study.try_("cfeval", "seal", "edct")
    assert refused.returncode == 2
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == JUDGED
    beneath = "results/edct/scores"
    assert study.results(beneath) == truth.results(beneath)


def test_case_e_a_foreign_profile_passes_nothing(study: Study, truth: Study) -> None:
    study.set_threshold(0.8)
    its = profile(study, "cores: 2\nrerun-triggers: [input]\nmax-checksum-file-size: 1000000\n")
    assert study.jobs("snakemake", "--", *VERDICTS, **its) == {"verdicts": 2}
    assert study.jobs("snakemake", "--workflow-profile", "none", "--", "edct_verdicts_all", **its) == {"scores": 2}
    beneath = "results/edct/scores"
    assert study.results(beneath) == truth.results(beneath)


def test_times_mean_nothing(study: Study) -> None:
    for number, path in enumerate(sorted((study.root / "results").rglob("*.*"))):
        later = datetime(2031, 1, 1 + number % 28, tzinfo=UTC).timestamp()
        os.utime(path, (later, later))
    study.run("touch", "--date", "2035-01-01", "data/mine.jsonl")
    with study.counting("kept") as kept:
        assert study.jobs("snakemake") == {}
    assert not kept
    assert study.stale() == {}


def test_an_output_without_a_time_is_made_all_the_same(study: Study) -> None:
    """Snakemake takes a time of 0 for no output; one to come is newer than all inputs."""
    study.set_threshold(0.8)
    for path, time in zip(VERDICTS, ("@0", "2035-01-01"), strict=True):
        study.run("touch", "--date", time, path)
    assert study.jobs("snakemake", "--", *VERDICTS) == {"verdicts": 2}


def test_forced_jobs_keep_what_fits(study: Study, finished: Study) -> None:
    forced = ("--forcerun", "edct_verdicts", "--until", "edct_verdicts")
    with study.counting("kept") as kept:
        assert study.jobs("snakemake", *forced) == {}
    assert kept == {"verdicts": 4}
    with study.counting("kept") as kept:
        assert study.jobs("snakemake", "--forceall", "--", VERDICT) == {}
    assert kept == {"items": 1, "baselines": 1, "instructions": 1, "counterfactuals": 1, "requeries": 1, "verdicts": 1}
    assert study.results() == finished.results()


def test_until_leaves_the_rest_stale(study: Study) -> None:
    study.set_threshold(0.8)
    assert study.jobs("snakemake", "--until", "edct_verdicts") == {"verdicts": 2}
    assert set(study.stale_stages()) == {"calls", "scores", "report"}
    assert study.try_("cfeval", "seal", "edct").returncode == 2


def test_case_g_a_dry_run_changes_and_deletes_nothing(study: Study) -> None:
    study.set_threshold(0.8)
    (study.root / "results/edct/verdicts/notes.txt").write_text("mine")
    (study.root / "results/edct/tables/old.csv").write_text("mine")
    before = study.results()
    assert "would run: verdicts" in study.run("snakemake", "--dry-run", DVC_STAGE="edct", DVC_ROOT=str(study.root))
    assert study.results() == before


def test_snakemake_writes_its_own_report(study: Study) -> None:
    study.run("snakemake", *PLAIN, "--forcerun", "edct_figure", "--", "edct_tables_all")
    study.run("snakemake", "--report", "report.html", "--", "edct_tables_all")
    report = (study.root / "report.html").read_text()
    assert "edct_forest" in report
    assert "of edct, drawn from" in report
    assert "of edct, with all columns" in report


@pytest.mark.parametrize(
    ("params", "command", "says"),
    [
        ("edct: {itmes: 3}", [], "unknown key 'edct.itmes'; did you mean 'items'?"),
        ("shards: [", [], "not valid YAML"),
        ("", ["--config", "shards=many"], "shards"),
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


def test_a_job_reads_only_what_its_plan_names(study: Study) -> None:
    (study.root / "own/beside.md").write_text("not named")
    study.change(lambda edct: edct["judges"]["j"].update(beside="own/beside.md"))
    refused = study.try_("snakemake", "--", VERDICT)
    assert refused.returncode == 1
    said = (
        f"cfeval: {VERDICT}: read own/beside.md, which its plan does not name; let the plugin's `dependencies` name it"
    )
    assert said in refused.stderr
    assert VERDICT in study.stale()


def test_a_job_runs_only_plug_ins_that_its_plan_names(study: Study) -> None:
    study.replace(
        "src/cfeval/testbed/plugins/judges_watched.py",
        "        return Watched(self)",
        "        import importlib\n\n"
        '        importlib.import_module(".".join(["cfeval", "edct", "plugins", "judges", "noisy"]))\n'
        "        return Watched(self)",
    )
    refused = study.try_("snakemake", "--", VERDICT)
    assert refused.returncode == 1
    assert f"cfeval: {VERDICT}: ran cfeval.edct.plugins.judges.noisy, which neither its stage nor its" in refused.stderr
    assert VERDICT in study.stale()


@pytest.mark.parametrize("verb", ["stage", "judge"])
def test_a_job_that_no_run_started_is_refused(study: Study, verb: str) -> None:
    if verb == "stage":
        assert "jobs are started by snakemake" in study.refused("cfeval", "stage", VERDICT)
    else:
        (study.root / VERDICT).unlink()
        (study.root / f"{VERDICT}.made.json").unlink()
        study.run("cfeval", "stage", "edct", "verdicts", "--out", VERDICT, *_judge_words())
        assert study.stale()[VERDICT] == f"no {Path(VERDICT).name}.made.json beside it"


def _judge_words() -> list[str]:
    made = [f"results/edct/{stage}/mine/ma" for stage in ("baselines", "instructions", "counterfactuals", "requeries")]
    files = (
        f"{made[0]}/000.jsonl",
        f"{made[1]}/w/edct-2025/000.jsonl",
        f"{made[2]}/w/edct-2025/ea/000.jsonl",
        f"{made[3]}/w/edct-2025/ea/000.jsonl",
    )
    names = ("--baselines", "--instructions", "--counterfactuals", "--requeries")
    words = [word for pair in zip(names, files, strict=True) for word in pair]
    return [*words, "--judge", '{"plugin": "watched"}', "--protocol", "edct-2025", "--seed", "7"]
