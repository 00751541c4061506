"""Where the study is: every command takes its folder the same way, and prints commands that can be pasted."""

import inspect
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cfeval import cli, verbs
from cfeval.core.extras import load
from cfeval.core.folder import cfeval as command
from cfeval.core.folder import overlay_file, quoted
from tests.conftest import Run
from tests.loopback.site import Loopback
from tests.study.service import init_options, new_study, photographs

NAMES = [
    "my study",
    "Kim's photos",
    '"quoted"',
    "-weird",
    "--help",
    "fotös 写真",
    "a$HOME`id`",
    "a;b&c",
    "two  blanks",
    "#1",
]
"""Names that folders of people have."""
ABOUT_A_STUDY = ("run", "report", "status", "check", "doctor", "estimate", "verify", "serve")


@pytest.fixture
def study(cfeval: Run, study_server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study beside photographs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return new_study(cfeval, study_server, "my-study")


@pytest.mark.parametrize("name", ABOUT_A_STUDY)
def test_commands_about_a_study_take_its_folder_first_and_the_same_parameters(name: str) -> None:
    parameters = list(inspect.signature(load(verbs.VERBS[""][name])).parameters)
    assert parameters[0] == ("what" if name == "verify" else "folder")
    assert "params" in parameters


def test_nothing_else_names_a_folder_of_a_study_or_parameters_laid_over() -> None:
    options = {
        (name, option)
        for group in ("", *verbs.GROUPS)
        for name, dotted in verbs.commands(group).items()
        for option in inspect.signature(load(dotted)).parameters
    }
    assert not {one for one in options if one[1] in ("overlay", "overlays", "studies", "study_folder")}


@pytest.mark.parametrize("name", ["check", "estimate", "status"])
def test_a_folder_is_given_by_argument_by_option_or_by_being_there(
    cfeval: Run, study: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ways = [(name, "my-study"), (name, "-C", "my-study"), ("-C", "my-study", name), (name, study)]
    said = [cfeval(*words) for words in ways]
    assert Path.cwd() == study.parent, "a command ends where it began"
    monkeypatch.chdir(study)
    said.append(cfeval(name))
    assert said[0][0] == (1 if name == "status" else 0), said[0]
    assert said == [said[0]] * 5


def test_a_path_is_as_seen_from_the_shell(cfeval: Run, study: Path) -> None:
    Path("here.yaml").write_text("edct: {items: 1}\n")
    (study / "there.yaml").write_text("edct: {items: 1}\n")
    for file in ("here.yaml", "my-study/there.yaml", study / "there.yaml", "offline"):
        status, _, err = cfeval("check", "my-study", "--params", file)
        assert status == 0, err
    status, _, err = cfeval("check", "my-study", "--params", "there.yaml")
    assert (status, "did you mean my-study/there.yaml?" in err) == (2, True)
    assert cfeval("check", "-C", "my-study", "--params", "there.yaml")[0] == 0
    assert overlay_file("my-study/there.yaml", Path("my-study")) == Path("there.yaml")
    printed = shlex.split(cfeval("run", "my-study", "--params", "here.yaml", "--print")[1])
    assert Path(printed[printed.index("--configfile") + 1]) == study.parent / "here.yaml"


def test_a_mistyped_folder_names_the_neighbour_and_only_else_a_new_study(cfeval: Run, study: Path) -> None:
    for name in ("run", "report", "check", "verify"):
        status, _, err = cfeval(name, "my-stduy")
        assert (status, err) == (2, "cfeval: my-stduy: no such folder; did you mean my-study?\n")
    assert cfeval("-C", "my-stduy", "prices")[2] == "cfeval: my-stduy: no such folder; did you mean my-study?\n"
    assert cfeval("run", "elsewhere")[2].endswith("no such folder; `cfeval init elsewhere` makes a study\n")
    assert cfeval("run")[2] == "cfeval: this folder has no params.yaml; did you mean my-study?\n"
    assert cfeval("run", "photos")[2].endswith("photos has no params.yaml; `cfeval init photos` makes a study\n")
    assert "give the study's folder: my-study\n" in cfeval("run", "my-study/params.yaml")[2]
    assert "write --evaluation edct" in cfeval("status", "edct")[2]


def test_what_follows_two_dashes_is_no_folder(cfeval: Run, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    assert shlex.split(cfeval("run", "--print", "--", "--profile", "slurm")[1])[-4:] == [
        "--profile",
        "slurm",
        "--",
        "all",
    ]
    status, _, err = cfeval("run", "my-study", "--print", "slurm")
    assert (status, err) == (2, "cfeval: unexpected argument 'slurm'; write -- before what is passed on\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_command_reaches_the_folder_whatever_its_name(name: str, tmp_path: Path) -> None:
    shell = ["bash", "-c", f"printf '%s' {quoted(name)}; cd -- {quoted(name)} && pwd"]
    (tmp_path / name).mkdir()
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"{tmp_path / name}\n")
    words = shlex.split(command("run", name))
    assert words[:2] == ["cfeval", "run"]
    assert Path(words[2]) == Path(name)
    assert not words[2].startswith("-")


@pytest.mark.parametrize("name", ["two  blanks", "-weird", "Kim's photos"])
def test_what_init_prints_can_be_pasted(cfeval: Run, study_server: Loopback, tmp_path: Path, name: str) -> None:
    photographs(tmp_path / "photos", 2)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "cfeval").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cfeval "$@"\n')
    (programs / "cfeval").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    options = shlex.join(init_options(study_server, Path("photos"), ["vlm-a"]))
    made = typed(f"cfeval init {quoted(name)} {options}")
    assert made.returncode == 0, made.stderr
    told = made.stdout.splitlines()[-1].strip()
    assert told.startswith("cfeval run ")
    shown = typed(f"{told} --print")
    assert shlex.split(shown.stdout)[2] == str(tmp_path / name), shown.stderr
    report = typed(told.replace("cfeval run", "cfeval report"))
    assert report.returncode == 2
    assert f"`{told}` makes it" in report.stderr
    shutil.rmtree(tmp_path / name)
    again = typed(told)
    assert f"`{told.replace('cfeval run', 'cfeval init')}` makes a study" in again.stderr


def test_help_is_the_same_by_both_options_and_as_a_module(cfeval: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], ["run"], ["audit"], ["edct", "items"]):
        said = cfeval(*words, "-h")[1]
        assert said == cfeval(*words, "--help")[1]
        assert max(map(len, said.splitlines())) <= 80
    done = subprocess.run([sys.executable, "-m", "cfeval", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == cfeval("--version")[1]
    first = next(iter(verbs.PANELS.values()))
    assert sorted(first) == ["doctor", "init", "report", "run", "status", "try"]


@pytest.mark.parametrize(
    "dotted", [dotted for group in ("", *verbs.GROUPS) for dotted in verbs.commands(group).values()]
)
def test_no_help_breaks_a_line_within_a_paragraph(dotted: str) -> None:
    text = inspect.getdoc(load(dotted)) or ""
    broken = [line for line in cli._reflowed(text).splitlines() if line and not line.startswith(("-", "*", " "))]
    assert len(broken) <= len(text.split("\n\n"))


@pytest.mark.slow
def test_a_script_gets_one_json_object_and_a_person_the_rest_on_stderr(study: Path) -> None:
    words = [sys.executable, "-m", "cfeval", "run", "my-study", "--yes", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    [condition] = content["conditions"]
    assert (condition["vlm"], condition["scored"], condition["missing"]) == ("vlm-a", 2, 0)
    assert (content["study"], content["scored"], content["missing"]) == ("my-study", 2, 0)
    assert condition["conclusion"] in ("trust", "do not trust", "open")
    assert 0 <= condition["figures"]["ccs"]["low"] <= condition["figures"]["ccs"]["value"] <= 1
    assert Path(content["report"]).is_file()
    assert content["cost"]["sent"] > 0
    assert "results are outdated or missing" in done.stderr
    again = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert json.loads(again.stdout) == content


def test_commands_about_the_cache_find_the_one_that_the_study_names(
    cfeval: Run, study: Path, study_server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = study / "params.yaml"
    params.write_text(params.read_text() + "calls: {cache: kept/mine.sqlite}\n")
    assert "mine.sqlite: there is no response cache" in cfeval("cache", "stats", "-C", "my-study")[2]
    photo = study.parent / "photos/IMG_0000.jpg"
    assert cfeval("try", photo, "What is it?", "-C", "my-study")[0] == 0
    monkeypatch.delenv("CFEVAL_CALLS")  # another process begins without it
    assert (study / "kept/mine.sqlite").is_file()
    rows = json.loads(cfeval("cache", "stats", "--json", "-C", "my-study")[1])
    assert sum(row["sent"] for row in rows) == len(study_server.log)
    assert cfeval("-C", "my-study", "cache", "verify")[0] == 0
    params.write_text(params.read_text().replace("cache: kept", "cahce: kept"))
    assert "params.yaml: calls.cahce" in cfeval("cache", "stats", "-C", "my-study")[2]
