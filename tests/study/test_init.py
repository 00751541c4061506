"""`cfeval init`: which files come of it, what it asks, and that what it writes is a study that can be checked."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from cfeval.config import load
from cfeval.core.package import carried
from cfeval.edct.asked import tables_of
from cfeval.study import init, schema
from cfeval.study.models import model, roles
from tests.conftest import Run
from tests.study.service import QUESTION, photographs

MODEL = "openrouter/google/gemini-2.5-flash"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, beside one of photographs; no key is set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    photographs(tmp_path / "photos", 2)
    return tmp_path


def started(cfeval: Run, *more: str) -> str:
    status, out, err = cfeval("init", "my study", "--images", "photos", "--question", QUESTION, "--model", MODEL, *more)
    assert status == 0, err
    return out


def test_three_options_make_a_study_with_every_role_named(cfeval: Run, place: Path) -> None:
    out = started(cfeval)
    assert out.splitlines()[-1] == "  cfeval run 'my study'"
    assert "set OPENROUTER_API_KEY" in out
    text = (place / "my study/params.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=.cfeval/params.schema.json\n")
    assert len(text.splitlines()) < 30
    params = load(place / "my study/params.yaml")
    assert params.name == "my-study"
    assert params.edct is not None
    assert params.edct.datasets["own"].plugin_options()["path"] == "../photos"
    gate = params.edct.editors["gated"].plugin_options()["verifier"]
    assert gate != params.edct.verifiers["own"].plugin_options()
    assert {condition.vlm for condition in params.edct.conditions()} == {"gemini-2.5-flash"}
    assert (place / "my study/.env.example").read_text().splitlines()[1:] == ["OPENROUTER_API_KEY="]
    assert ".env\n" in (place / "my study/.gitignore").read_text()


def test_what_it_writes_passes_the_check(cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(cfeval)
    monkeypatch.chdir(place / "my study")
    status, out, err = cfeval("check")
    assert status == 0, err
    assert "edct has 5 conditions" in out


def test_the_other_evaluations_have_studies_too(cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in ("cougar", "lion"):
        photographs(place / "animals" / one, 1)
    assert cfeval("init", "seen", "--study", "vce", "--images", "animals")[0] == 0
    vce = load(place / "seen/params.yaml").vce
    assert vce is not None
    assert [group.source for group in vce.groups] == ["cougar", "lion"]
    assert {condition.method for condition in vce.all_conditions()} == {"dbvce", "no-x0", "unguided"}
    assert (vce.roles.base, vce.roles.no_x0, vce.roles.unguided, vce.oracles) == ("dbvce", "no-x0", "unguided", ())
    several = ["--model", "torchvision/resnet18", "--model", "transformers/some/vit"]
    assert cfeval("init", "both", "--study", "vce", "--images", "animals", *several)[0] == 0
    both = load(place / "both/params.yaml").vce
    assert both is not None
    assert both.oracles == ("resnet18", "some-vit")
    row = "IMG_0000.jpg,Is it?,yes,Is it not?,no,boolean"
    (place / "q.csv").write_text(f"img_path,query,answer,new query,new answer,type\n{row}\n")
    words = ("--study", "cvqa", "--questions", "q.csv", "--images", "photos", "--model", MODEL)
    assert cfeval("init", "ifs", *words)[0] == 0
    cvqa = load(place / "ifs/params.yaml").cvqa
    assert cvqa is not None
    assert [(one.set, one.solver) for one in cvqa.all_conditions()] == [("own", "gemini-2.5-flash")]


def test_a_file_of_questions_needs_no_question(cfeval: Run, place: Path) -> None:
    (place / "own.csv").write_text("image,question\nphotos/IMG_0000.jpg,What?\n")
    assert cfeval("init", "s", "--questions", "own.csv", "--model", MODEL)[0] == 0
    edct = load(place / "s/params.yaml").edct
    assert edct is not None
    assert edct.datasets["own"].plugin_options() == {"plugin": "files", "path": "../own.csv"}


def test_dvcs_files_name_the_results_of_the_study(cfeval: Run, place: Path) -> None:
    started(cfeval, "--dvc", "--name", "first")
    stages = yaml.safe_load((place / "my study/dvc.yaml").read_text())["stages"]
    assert stages["edct"]["cmd"] == "cfeval run --yes && cfeval verify --evaluation edct --remove-former"
    assert stages["edct"]["deps"] == ["params.yaml", "../photos"]
    assert {"results/first/edct/scores": {"persist": True}} in stages["edct"]["outs"]
    assert "no_scm" in (place / "my study/.dvc/config").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "folder of images: not given, and there is no terminal to ask; give --images FOLDER"),
        (["--images", "photos", "--model", MODEL], "give --question TEXT, or --questions FILE"),
        (["--images", "photos", "--question", "?"], "give --model PROVIDER/MODEL"),
        (["--images", "none", "--question", "?", "--model", MODEL], "none: no such file or folder"),
        (["--images", "photos", "--question", "?", "--model", "gpt"], "gpt: whose model is it? Write PROVIDER/MODEL"),
        (["--images", "photos", "--question", "?", "--model", "other/m"], "other has no address of its own"),
        (["--study", "vce", "--images", "photos"], "photos: 0 folders of classes, and two are needed"),
    ],
)
def test_what_is_missing_is_one_line(cfeval: Run, place: Path, words: list[str], says: str) -> None:
    status, _, err = cfeval("init", "s", *words)
    assert status == 2
    assert says in err
    assert err.count("\n") == 1
    assert not (place / "s").exists()


def test_a_terminal_is_asked_for_what_no_option_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["photos", QUESTION, MODEL])
    monkeypatch.setattr("typer.prompt", lambda _: next(answers))
    asked = init.Answers(terminal=True)
    assert asked.source("edct", None, "", None)["question"] == QUESTION
    assert list(asked.targets([], "", "")) == ["gemini-2.5-flash"]


def test_a_study_that_is_there_is_left_alone(cfeval: Run, place: Path) -> None:
    started(cfeval)
    before = (place / "my study/params.yaml").read_bytes()
    status, _, err = cfeval("init", "my study", "--images", "photos", "--question", "?", "--model", MODEL)
    assert status == 2
    assert "already exists" in err
    assert (place / "my study/params.yaml").read_bytes() == before


def test_targets_of_one_name_get_two_and_roles_follow_the_targets_server() -> None:
    named = init.Answers(False).targets(["openai/a/m", "openai/b/m@http://127.0.0.1:1/v1"], "", "")
    assert list(named) == ["m", "m-2"]
    gateway = model("openai/gpt-4o", base_url="http://127.0.0.1:1/v1")
    by = roles([gateway], {"judge": "gemini/gemini-2.5-pro"})
    assert by.writer.base_url == gateway.base_url
    assert (by.judge.base_url, by.verifier.model) == ("", "gemini-2.5-pro")


def test_what_reviewers_ask_is_a_flag_each(cfeval: Run, place: Path) -> None:
    judges = ("--judge", "openrouter/x/one", "--judge", "openrouter/x/two")
    out = started(cfeval, "--repeats", "3", "--wordings", "--reader", "openrouter/x/reads", *judges)
    assert "x/reads" in out, "the user is told who is sent images"
    params = load(place / "my study/params.yaml")
    assert params.edct is not None
    name = "gemini-2.5-flash"
    vlms = {key: (target.repeat, target.wording) for key, target in params.edct.vlms.items()}
    repeats = {f"{name}-repeat-{n}": (n, "a") for n in (2, 3)}
    assert vlms == {name: (1, "a"), **repeats, f"{name}-wording-b": (1, "b")}
    assert params.edct.repeats() == dict.fromkeys(repeats, name)
    assert [params.edct.judges[key].plugin_options()["model"]["model"] for key in ("judge", "judge-2")] == [
        "x/one",
        "x/two",
    ]
    assert params.edct.readers["own"].plugin_options()["model"] == "x/reads"
    assert set(tables_of(params.edct)) >= {"repeats", "comparisons", "agreement", "card", "bounds"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--reader", MODEL), "readers.own is the model of vlms.gemini-2.5-flash"),
        (("--reader", "google/gemini-2.5-flash"), "which cannot confirm its own answers"),
        (("--judge", "openrouter/x/one", "--judge", "openrouter/x/one"), "--judge names one judge twice"),
        (("--repeats", "0"), "--repeats"),
        (("--study", "vce", "--reader", "openrouter/x/reads"), "--reader is for --study edct"),
    ],
)
def test_a_flag_that_cannot_hold_is_one_line_and_nothing_is_written(
    cfeval: Run, place: Path, given: tuple[str, ...], says: str
) -> None:
    words = ("--images", "photos", "--question", QUESTION, "--model", MODEL)
    status, _, err = cfeval("init", "my study", *words, *given)
    assert status == 2
    assert says in err
    assert not (place / "my study/params.yaml").exists()


def test_the_schema_that_comes_with_cfeval_is_that_of_the_parameters() -> None:
    assert carried(schema.KEPT).read_text() == schema.text(), f"run: cfeval schema --out {schema.KEPT}"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["params.yaml", "workflow/params/audit.yaml", "workflow/params/cvqa-paper.yaml"])
def test_the_schema_takes_the_parameters_that_are_there(file: str) -> None:
    told = Draft202012Validator(schema.schema())
    assert [error.message for error in told.iter_errors(yaml.safe_load((ROOT / file).read_text()))] == []


def test_the_schema_knows_the_options_of_a_plugin_and_of_its_parts() -> None:
    told = Draft202012Validator(schema.schema())
    wrong = {"plugin": "chat", "model": {"plugin": "openai", "model": "m", "max_tokens": "many"}}
    [fault] = told.iter_errors({"edct": {"judges": {"j": wrong}}})
    assert "'many' is not of type 'integer'" in [part.message for part in fault.context or ()]
    [fault] = told.iter_errors({"edct": {"itmes": 3}})
    assert any("'itmes' was unexpected" in part.message for part in fault.context or ())
