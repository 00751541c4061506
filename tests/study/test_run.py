"""`cfeval run` and `report` before and after Snakemake: what is refused, what is asked, what is told at the end."""

import os
import sys
from pathlib import Path

import pytest

from cfeval.config import parse
from cfeval.core import extras, process
from cfeval.core.errors import InputError, ParamsError, PluginError
from cfeval.core.folder import root_of
from cfeval.core.registry import check_installed
from cfeval.study import run
from cfeval.study.run import Ending
from cfeval.study.summary import outcomes
from cfeval.study.whole import Job, Whole
from tests.conftest import Run
from tests.loopback.site import Loopback
from tests.study.service import new_study


@pytest.fixture
def study(cfeval: Run, study_server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of which nothing has run."""
    monkeypatch.chdir(tmp_path)
    return new_study(cfeval, study_server)


def test_money_is_not_spent_without_consent(cfeval: Run, study: Path, study_server: Loopback) -> None:
    status, out, err = cfeval("run", "mine")
    assert status == 2
    assert err == (
        "cfeval: the calls of this run may cost money, and there is no terminal to ask on; confirm with --yes, or let "
        "the stored replies answer alone with --offline\n"
    )
    assert "results/mine: 12 of 12 results are outdated or missing" in out
    assert " calls, " in out
    assert not study_server.sent()
    assert not (study / "results").exists()


def test_what_will_not_work_is_told_before_money_is(cfeval: Run, study: Path) -> None:
    (study / "params.yaml").write_text((study / "params.yaml").read_text().replace("model: judge,", "model: jugde,"))
    status, out, err = cfeval("run", "mine", "--yes")
    assert status == 2
    assert "FAIL edct.judges.judge" in out
    assert "did you mean 'judge'?" in out
    assert "1 thing will not work" in err


def test_the_command_that_does_the_same_is_printed(cfeval: Run, study: Path) -> None:
    status, out, _ = cfeval("run", "mine", "--print", "--cores", "3", "--", "--profile", "slurm")
    assert status == 0
    args = out.split()
    assert args[:3] == ["snakemake", "--directory", str(study)]
    assert args[-4:] == ["--profile", "slurm", "--", "all"]
    assert args[args.index("--cores") + 1] == "3"
    assert Path(args[args.index("--snakefile") + 1]).is_file()


def test_a_folder_without_a_study_is_one_line(cfeval: Run, tmp_path: Path) -> None:
    for command in ("run", "report"):
        status, _, err = cfeval(command, tmp_path / "none")
        assert status == 2
        assert "`cfeval init" in err


def test_a_report_that_is_not_made_says_how_to_make_it(cfeval: Run, study: Path) -> None:
    status, _, err = cfeval("report", "mine", "--open")
    assert status == 2
    assert "no report yet; `cfeval run mine` makes it" in err


def test_of_several_evaluations_the_page_of_the_one_that_is_named_is_shown(cfeval: Run, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for name in ("params.yaml", "data"):
        (tmp_path / name).symlink_to(root / name)
    for name in ("edct", "cvqa"):
        page = tmp_path / "results" / name / "report" / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f"<!doctype html><title>{name}</title>", encoding="utf-8")
    first = tmp_path / "results/edct/report/index.html"
    assert cfeval("report", tmp_path) == (0, f"{first}\n", "")
    second = tmp_path / "results/cvqa/report/index.html"
    assert cfeval("report", tmp_path, "--evaluation", "cvqa") == (0, f"{second}\n", "")
    assert cfeval("report", tmp_path, "--evaluation", "vce")[0] == 2, "not made yet"
    status, _, err = cfeval("report", tmp_path, "--evaluation", "cvqu")
    assert (status, "--evaluation: the study has no 'cvqu'; did you mean 'cvqa'?" in err) == (2, True)


def test_an_overlay_is_found_by_its_name(cfeval: Run, study: Path) -> None:
    status, out, _ = cfeval("run", "mine", "--print", "--params", "offline")
    assert status == 0
    assert "workflow/params/offline.yaml" in out
    assert "did you mean 'offline'? allowed: audit, " in cfeval("run", "mine", "--params", "oflline")[2]


def test_an_overlay_of_a_named_study_has_results_of_its_own() -> None:
    base, other = {"name": "mine", "edct": {"items": 3}}, {"name": "mine", "edct": {"items": 9}}
    assert root_of(base, base, []) == "results/mine"
    assert root_of(base, other, [Path("few.yaml")]) == "results/few"
    assert root_of(base, {**other, "name": "yours"}, [Path("few.yaml")]) == "results/yours"
    assert root_of(base, {**base, "calls": {"offline": True}}, [Path("offline.yaml")]) == "results/mine"
    with pytest.raises(ParamsError, match="give them a name"):
        root_of(base, other, [])


def test_keys_of_a_file_fill_in_for_those_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".env"
    file.write_text("# keys\nexport ONE='a b'\nTWO=file\nTHREE=\nnonsense\nFOUR=x # note\n")
    for name in ("ONE", "THREE", "FOUR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TWO", "environment")
    with monkeypatch.context() as kept:
        kept.setattr("os.environ", {"TWO": "environment"})
        assert process.read_keys(file) == ("ONE", "FOUR")
        assert os.environ == {"ONE": "a b", "TWO": "environment", "FOUR": "x"}
    assert process.read_keys(tmp_path / "none") == ()


def test_a_run_in_which_nothing_was_scored_says_so_and_ends_with_status_2(tmp_path: Path) -> None:
    edct = {name: {"x": {"plugin": "mock"}} for name in ("vlms", "instruction_writers", "editors", "judges")}
    params = parse({"edct": {**edct, "datasets": {"own": {"plugin": "world"}}}})
    scores = tmp_path / "edct/scores/d/m"
    (scores / "w/e/j").mkdir(parents=True)
    (scores / "w/e/j/edct-2025.csv").write_text("id,status,stage,reason\n1,refused,baselines,no\n")
    job = Job("edct_scores", [str(scores)], [], ["edct", "scores", "--out", str(scores)], "", {})
    study = Whole(params, str(tmp_path))
    with pytest.raises(
        InputError, match=r"^edct: nothing was scored, so there is no result; of 1 items and edits none"
    ):
        run._conclude(study, [job], Path("mine"), Ending(study, [job], Path("mine")))


def test_the_line_of_a_model_has_its_conclusion_and_figures(tmp_path: Path) -> None:
    names = "own,m,w,edct-2025,e,j"
    head = "dataset,vlm,writer,protocol,editor,judge"
    (tmp_path / "edct/tables").mkdir(parents=True)
    (tmp_path / "edct/tables/edct_card.csv").write_text(
        f"{head},conclusion,fit,fit_lo,fit_hi\n{names},open,0.5,0.4,0.6\n"
    )
    (tmp_path / "edct/tables/edct_table1.csv").write_text(
        f"{head},n,n_scored,ccs,ccs_lo,ccs_hi,missing\n{names},6,5,0.8,0.6,0.9,refused 1\n"
    )
    edct = {name: {"x": {"plugin": "mock"}} for name in ("vlms", "instruction_writers", "editors", "judges")}
    params = parse({"edct": {**edct, "datasets": {"own": {"plugin": "world"}}}})
    [told] = outcomes(params, str(tmp_path))
    assert told == "m on own by j: open, FIT 0.5 [0.4, 0.6], CCS 0.8 [0.6, 0.9], 5 of 6 scored"


def test_calibrate_adds_test_models_judged_by_the_studys_judges() -> None:
    edct = {name: {"mine": {"plugin": "mock"}} for name in ("vlms", "instruction_writers", "editors", "judges")}
    plain = {"edct": {**edct, "datasets": {"own": {"plugin": "files", "path": "p"}}}}
    without, with_ = parse(plain).edct, parse({**plain, "calibrate": True}).edct
    assert without is not None
    assert with_ is not None
    assert list(without.vlms) == ["mine"]
    assert with_.tables.table1 == without.tables.table1
    assert {one.judge for one in with_.tables.conditions("calibration")} == {"grammar", "mine"}
    assert "grounded" in with_.vlms
    again = parse({**plain, "calibrate": True, "edct": with_.model_dump(mode="json")}).edct
    assert again == with_


def test_a_study_of_nothing_is_one_line() -> None:
    with pytest.raises(ParamsError, match="no study: give one of the sections"):
        parse({"name": "x"})


@pytest.mark.parametrize(
    ("family", "spec", "extra"),
    [
        ("chat", {"plugin": "transformers", "model": "m"}, "local"),
        ("chat", {"plugin": "world", "persona": "grounded"}, "world"),
        ("denoisers", {"plugin": "spectral"}, "vce"),
        ("editors", {"plugin": "gated", "editor": {"plugin": "diffusion"}, "verifier": {"plugin": "reader"}}, "world"),
    ],
)
def test_a_missing_extra_is_named(
    family: str, spec: dict[str, object], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_installed(family, spec, "here")
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    extras.missing.cache_clear()
    with pytest.raises(PluginError, match=rf"here: .* pip install 'cfeval\[{extra}\]'$"):
        check_installed(family, spec, "here")
    extras.missing.cache_clear()


def test_a_stage_of_vce_that_lacks_torch_names_the_extra_of_vce(cfeval: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object) -> None:
        raise ModuleNotFoundError("no torch", name="torch")

    monkeypatch.setattr("cfeval.cli.load", lacking)
    status, _, err = cfeval("vce", "counterfactuals")
    assert status == 2
    assert err == "cfeval: this needs the package 'torch', which is not installed: pip install 'cfeval[vce]'\n"


def test_a_command_that_lacks_a_package_names_its_extra(cfeval: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object) -> None:
        raise ModuleNotFoundError("no dvc", name="dvc.repo")

    monkeypatch.setattr(run, "study_in", lacking)
    status, _, err = cfeval("run")
    assert (status, err) == (
        2,
        "cfeval: this needs the package 'dvc.repo', which is not installed: pip install 'cfeval[dvc]'\n",
    )
    assert "cfeval.study.run" in sys.modules
