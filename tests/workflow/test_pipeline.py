"""Snakemake and DVC together: which jobs run, and every way in which a stale file could end up in a sealed table."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import EVERY_TABLE, EVERYTHING, EXPORTED, FILLED_TABLES, JUDGED, Study

NO_JOBS: dict[str, int] = {}
SCORES = "results/edct/scores/mine"
JUDGED_AND_TABLES = JUDGED | FILLED_TABLES


@dataclass
class Step:
    """A study after one step of a story, the jobs the step took and the table it left."""

    study: Study
    jobs: dict[str, int]
    table: str


def _scores(text: bytes) -> dict[tuple[str, ...], list[str]]:
    """The scores in a file by arm and item."""
    rows = csv.DictReader(text.decode().splitlines())
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    return {
        (*(row[name] for name in names), f"{row['id']} edit {row['edit']}"): [row["pcs"], row["ncc"], row["ccs"]]
        for row in rows
    }


def test_the_first_run_runs_all(finished: Study, first_jobs: dict[str, int]) -> None:
    assert first_jobs == EVERYTHING
    assert finished.run("git", "status", "--porcelain") == ""


def test_snakemake_again_runs_nothing(finished: Study) -> None:
    assert finished.jobs("snakemake") == NO_JOBS


def test_dvc_repro_again_runs_nothing(finished: Study) -> None:
    assert finished.jobs("dvc", "repro") == NO_JOBS
    assert "up to date" in finished.run("dvc", "status")


@pytest.mark.xdist_group("an experiment and back")
class TestAnExperimentAndBack:
    """The trap that gave wrong tables: DVC swaps files, Snakemake's records stay."""

    @pytest.fixture(scope="class", params=["reflink,copy", "hardlink"])
    def experiment(self, request: pytest.FixtureRequest, finished: Study, copy: Copy) -> Step:
        study = copy(finished)
        if request.param == "hardlink":
            study.run("dvc", "config", "--local", "cache.type", "hardlink")
            study.run("dvc", "checkout", "--relink")
        return Step(
            study,
            study.jobs("dvc", "exp", "run", "--set-param", "edct.judges.j.threshold=0.8", "edct_tables"),
            study.table(),
        )

    @pytest.fixture(scope="class")
    def back(self, experiment: Step) -> Step:
        study = experiment.study
        study.run("git", "checkout", "--quiet", "--force", "HEAD")
        study.run("dvc", "checkout")
        return Step(study, study.jobs("snakemake") | study.jobs("dvc", "repro"), study.table())

    @pytest.fixture(scope="class")
    def by_hand(self, back: Step) -> Step:
        back.study.set_threshold(0.8)
        return Step(back.study, back.study.jobs("dvc", "repro", "edct_tables"), back.study.table())

    def test_an_experiment_runs_judge_and_tables(self, experiment: Step, truth: str) -> None:
        assert experiment.jobs == JUDGED_AND_TABLES
        assert experiment.table == truth

    def test_dvc_shows_what_the_experiment_changed(self, experiment: Step) -> None:
        study = experiment.study
        assert "threshold" in study.run("dvc", "params", "diff")
        assert "ccs" in study.run("dvc", "metrics", "diff")
        assert "edct.judges.j.threshold" in study.run("dvc", "exp", "show", "--csv")

    def test_the_plots_of_both_sides_stand_on_a_page_that_needs_no_network(self, experiment: Step) -> None:
        study = experiment.study
        study.run("dvc", "plots", "diff", "HEAD", "--out", "plots")
        page = (study.root / "plots/index.html").read_text()
        assert "//" not in page.replace("<!-- ", "")
        assert all(f"static/{side}_results_figures_edct_forest.svg" in page for side in ("HEAD", "workspace"))
        study.run("rm", "-r", "plots")

    def test_cfeval_tells_what_changed_and_which_items_flipped(self, experiment: Step, finished: Study) -> None:
        study = experiment.study
        told = study.run("cfeval", "diff", "HEAD", "--json", "--items", "100", PYTHONPATH=str(study.root / "src"))
        said = json.loads(told)
        of = said["studies"]["edct"]
        old, new = ({file: _scores(text) for file, text in s.results(SCORES).items()} for s in (finished, study))
        assert said["parameters"] == [{"name": "edct.judges.j.threshold", "before": 0.5, "after": 0.8}]
        assert of["made"] == [{"rule": "edct_judge", "files": 8, "why": {"threshold 0.5 → 0.8": 8}}]
        flipped = {key for file in old for key in old[file] if old[file][key] != new[file][key]}
        found = {(*arm["names"], item["key"]) for arm in of["arms"] for item in arm["items"]}
        assert found == flipped
        assert flipped

    def test_back_at_head_nothing_runs(self, back: Step, finished: Study) -> None:
        assert back.jobs == NO_JOBS
        assert back.table == finished.table()

    def test_the_same_parameter_by_hand_gives_the_same_table(self, by_hand: Step, truth: str) -> None:
        assert by_hand.jobs == JUDGED_AND_TABLES
        assert by_hand.table == truth


def test_an_experiment_in_a_temporary_folder_gives_the_right_table(finished: Study, copy: Copy, truth: str) -> None:
    study = copy(finished)
    jobs = study.jobs("dvc", "exp", "run", "--temp", "--set-param", "edct.judges.j.threshold=0.8", "edct_tables")
    refs = study.run("git", "for-each-ref", "--format=%(refname)", "refs/exps").split()
    made = next(ref for ref in refs if ref.count("/") > 3)
    assert jobs == JUDGED_AND_TABLES
    assert study.run("git", "show", f"{made}:results/tables/edct_table2.csv") == truth
    assert study.table() == finished.table()
    assert study.nothing_to_do()


def test_an_edited_comment_runs_nothing(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.edit("src/cfeval/studies/edct/verdicts.py", "# a remark")
    study.edit("src/cfeval/streams.py", '"""A remark."""')
    study.edit("workflow/rules/edct.smk", "# a remark")
    assert study.jobs("snakemake") == NO_JOBS


def test_a_module_edited_without_effect_runs_its_users_once(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.edit("src/cfeval/metrics/changed_share.py", "UNUSED = 1")
    assert study.jobs("dvc", "repro") == {"check": 8}
    assert study.nothing_to_do()
    assert study.results("results/tables") == finished.results("results/tables")


def test_an_added_model_runs_its_branch(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    params = study.params()
    params["edct"]["vlms"]["mc"] = {"backend": "scripted", "replies": ["aye {image}", "nay {image}"]}
    params["edct"]["tables"]["table1"][0]["vlm"].append("mc")
    study.set_params(params)
    branch = dict.fromkeys(["baseline", "instruct", "edit", "check", "requery", "judge", "score"], 2)
    assert study.jobs("snakemake") == branch | {"table": 3, "figure": 1, "metrics": 1} | EXPORTED


def test_an_added_sample_runs_its_shard(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.import_samples(13)
    shard = {"generate": 1, "baseline": 2, "instruct": 2, "edit": 4, "check": 4, "requery": 4, "judge": 4, "score": 4}
    assert study.jobs("dvc", "repro") == shard | FILLED_TABLES | EXPORTED
    assert study.table().count(",13,") == 4


def test_a_removed_target_is_not_sealed(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    params = study.params()
    del params["edct"]["vlms"]["mb"], params["edct"]["known"]["mb"]
    for table in params["edct"]["tables"].values():
        table[0]["vlm"].remove("mb")
    study.set_params(params)
    assert study.jobs("snakemake") == FILLED_TABLES | EXPORTED
    assert any("/mb" in name for name in study.results())
    assert study.jobs("dvc", "repro") == NO_JOBS
    assert not any("/mb" in name for name in study.results())
    assert "up to date" in study.run("dvc", "status")


@pytest.mark.xdist_group("clones")
class TestClones:
    """A clone has git's files, and DVC's only after a pull."""

    @pytest.fixture(scope="class")
    def pushed(self, finished: Study, copy: Copy) -> Study:
        study = copy(finished)
        study.run("dvc", "remote", "add", "--default", "store", str(study.root.parent / "store"))
        study.commit("a remote")
        study.run("dvc", "push")
        return study

    @pytest.fixture
    def clone(self, pushed: Study, tmp_path: Path) -> Study:
        pushed.run("git", "clone", "--quiet", str(pushed.root), str(tmp_path / "clone"))
        return Study(tmp_path / "clone")

    def test_a_pulled_clone_runs_nothing(self, clone: Study) -> None:
        clone.run("dvc", "pull")
        assert clone.nothing_to_do()
        assert clone.jobs("dvc", "repro") == NO_JOBS
        assert clone.run("git", "status", "--porcelain") == ""

    def test_a_clone_with_another_parameter_gives_the_right_table(self, clone: Study, truth: str) -> None:
        clone.run("dvc", "pull")
        clone.set_threshold(0.8)
        assert clone.jobs("dvc", "repro", "edct_tables") == JUDGED_AND_TABLES
        assert clone.table() == truth

    def test_a_clone_without_data_has_nothing_to_do(self, clone: Study) -> None:
        said = clone.run("dvc", "repro", "--allow-missing", "--dry")
        assert "Running stage" not in said
        assert clone.jobs("dvc", "repro", "--pull", "--allow-missing", "edct_tables") == NO_JOBS

    def test_a_clone_without_data_pulls_what_a_changed_table_needs(self, clone: Study) -> None:
        params = clone.params()
        params["edct"]["interval"]["level"] = 0.9
        clone.set_params(params)
        jobs = clone.jobs("dvc", "repro", "--pull", "--allow-missing", "edct_tables")
        assert jobs == EVERY_TABLE
        assert "90 %" in clone.table()
        assert not (clone.root / "results/edct/verdicts").exists()


def _append(file: Path) -> None:
    text = file.read_bytes()
    file.unlink()
    file.write_bytes(text + b"\n")


def _repaint(file: Path) -> None:
    other = next(png for png in sorted(file.parent.glob("*.png")) if png.read_bytes() != file.read_bytes())
    file.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    ("file", "meddle", "jobs"),
    [
        ("requery/mine/ma/w/edct-2025/ea/001.jsonl", _append, {"requery": 1}),
        ("counterfactuals/mine/mb/w/edct-2025/eb/000/*.png", _repaint, {"edit": 1, "check": 1}),
        ("counterfactuals/mine/mb/w/edct-2025/eb/000/*.png", Path.unlink, {"edit": 1, "check": 1}),
    ],
    ids=["records", "an image", "an image removed"],
)
def test_a_result_edited_by_hand_is_made_again(
    finished: Study, copy: Copy, file: str, meddle: Callable[[Path], None], jobs: dict[str, int]
) -> None:
    study = copy(finished)
    meddle(next((study.root / "results/edct").glob(file)))
    stage = f"edct_{file.partition('/')[0]}"
    assert study.jobs("dvc", "repro", "--single-item", stage) == jobs
    assert study.nothing_to_do()
    assert study.results() == finished.results()


def test_failed_jobs_do_not_take_the_others_with_them(finished: Study, copy: Copy, truth: str) -> None:
    study = copy(finished)
    study.set_threshold(0.8)
    with study.counting() as tried:
        failed = study.try_("snakemake", CFEVAL_BREAK=r"edct judge .*verdicts/mine/mb/\S*/000\.jsonl")
    assert failed.returncode == 1
    assert failed.stderr.count("failed: verdicts of j on mb") == 2
    assert tried == {"judge": 8, "score": 6}
    assert study.jobs("dvc", "repro", "edct_tables") == {"judge": 2, "score": 2} | FILLED_TABLES
    assert study.table() == truth


def test_a_killed_run_resumes_and_ends_with_the_same_bytes(fresh: Study, finished: Study, copy: Copy) -> None:
    study = copy(fresh)
    study.kill_after(25, "snakemake")
    resumed = sum(study.jobs("snakemake").values())
    assert resumed <= sum(EVERYTHING.values()) - 20
    assert study.results() == finished.results()


def test_the_doctor_mends_a_killed_dvc(finished: Study, copy: Copy, truth: str) -> None:
    study = copy(finished)
    study.set_threshold(0.8)
    study.kill_after(4, "dvc", "repro")
    (study.root / ".dvc/tmp/rwlock").write_text("")
    assert study.try_("dvc", "repro").returncode != 0
    assert "rwlock" in study.run("cfeval", "doctor")
    assert "nothing to mend" in study.run("cfeval", "doctor")
    study.run("dvc", "repro", "edct_tables")
    assert study.table() == truth


def test_a_run_on_another_machine_keeps_its_lock_and_one_on_this_machine_does_not(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.set_threshold(0.8)
    locks = study.root / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/tables/edct_table2.csv\n")
    (study.root / ".snakemake/machine").write_text("node-7")
    refused = study.try_("snakemake", "edct_tables")
    assert (refused.returncode != 0, "unlock" in refused.stdout + refused.stderr) == (True, True)
    (study.root / ".snakemake/machine").unlink()
    assert study.jobs("snakemake", "edct_tables") == JUDGED_AND_TABLES


def _small(study: Study, shards: int) -> None:
    """One arm, cut into so many shards."""
    params = study.params()
    arm = {"dataset": ["mine"], "vlm": ["ma"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
    params["edct"]["tables"] = {"table1": [arm], "table2": [arm], "bench": [arm], "controls": [arm]}
    study.set_params(params | {"shards": shards})


def test_all_protocols_share_the_baseline(fresh: Study, copy: Copy) -> None:
    study = copy(fresh)
    _small(study, shards=1)
    jobs = study.jobs("snakemake", "--", "edct_tables")
    branch = dict.fromkeys(["instruct", "edit", "check", "requery", "judge", "score"], 4)
    assert jobs == {"generate": 1, "baseline": 1} | branch | {"table": 10, "figure": 3, "metrics": 1}
    assert study.table("edct_bench.csv").count("\n") == study.table("edct_controls.csv").count("\n") == 2


def test_files_of_another_number_of_shards_are_not_sealed(fresh: Study, copy: Copy) -> None:
    study = copy(fresh)
    for shards, files in ((1, {"mine.jsonl"}), (3, {"000.jsonl", "001.jsonl", "002.jsonl"}), (1, {"mine.jsonl"})):
        _small(study, shards)
        study.run("snakemake", "--", "edct_samples", DVC_STAGE="edct_samples")
        names = study.results("results/edct/samples")
        assert {Path(name).name for name in names if name.endswith("jsonl")} == files
        assert sum(name.endswith(".png") for name in names) == 12


@pytest.mark.parametrize(
    ("params", "command", "says"),
    [
        ("edct: {itmes: 3}", [], "unknown key 'edct.itmes'; did you mean 'items'?"),
        ("shards: [", [], "not valid YAML"),
        ("", ["--config", "shards=many"], "shards"),
        ("", ["--config", "edct={judges: {j: {backend: scripte}}}"], "did you mean 'scripted'?"),
    ],
)
def test_bad_parameters_are_one_line_and_status_2(
    finished: Study, copy: Copy, params: str, command: list[str], says: str
) -> None:
    study = copy(finished)
    if params:
        (study.root / "params.yaml").write_text(params)
    refused = study.try_("snakemake", *command)
    lines = [line for line in refused.stderr.splitlines() if "profile" not in line and "config" not in line]
    assert refused.returncode == 2
    assert len(lines) == 1
    assert says in lines[0]
    assert study.results() == finished.results()


def test_parameters_on_the_command_line_count(finished: Study) -> None:
    said = finished.run("snakemake", "--dry-run", "--config", "edct={judges: {j: {threshold: 0.9}}}")
    assert said.count("would run: verdicts") == 8


def test_read_only_results_are_named_and_left_alone(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.set_threshold(0.8)
    folder = "results/edct/verdicts"
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 77"
    refused = study.try_("unshare", "--mount", "--map-root-user", "sh", "-c", f"{mount}; snakemake edct_judge")
    if refused.returncode == 77 or "unshare:" in refused.stderr:
        pytest.skip("this machine does not let a test mount a folder read-only")
    assert refused.returncode == 1
    assert "Write-protected output files" in refused.stderr
    assert study.results(folder) == finished.results(folder)


def test_snakemake_writes_its_own_report(finished: Study, copy: Copy) -> None:
    study = copy(finished)
    study.run("snakemake", "--report", "report.html")
    assert "edct_forest" in (study.root / "report.html").read_text()
