"""The command line as a user meets it: help, one line per error, exit status 2, nothing half-written."""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cfeval import cli, verbs
from cfeval.core.extras import load
from tests.conftest import Run
from tests.slow import first_fast

LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from cfeval.cli import main
main()
"""
COMMANDS = [(group, name, dotted) for group in ("", *verbs.GROUPS) for name, dotted in verbs.commands(group).items()]


@pytest.fixture
def samples(cfeval: Run, photo: Path, tmp_path: Path) -> Path:
    """Samples of one photo."""
    (tmp_path / "x.csv").write_text(f"image,question\n{photo},what is it?\n")
    assert cfeval("edct", "import", tmp_path / "x.csv", "--out", tmp_path / "s.jsonl")[0] == 0
    return tmp_path / "s.jsonl"


def ask(samples: Path, out: Path, vlm: object = None) -> list[object]:
    spec = vlm if isinstance(vlm, str) else json.dumps(vlm or {"plugin": "mock"})
    return ["edct", "baselines", "--samples", samples, "--vlm", spec, "--seed", 1, "--out", out]


@pytest.mark.parametrize("words", [f"{group} {name}".strip() for group, name, _ in COMMANDS])
def test_every_command_has_help(cfeval: Run, words: str) -> None:
    status, out, _ = cfeval(*words.split(), "--help")
    assert status == 0
    assert "Usage: cfeval" in out


def test_help_loads_nothing_heavy() -> None:
    heavy = {"torch", "diffusers", "snakemake", "matplotlib", "scipy"}
    asked = [["--help"], *([group, "tables", "--help"] for group in ("edct", "cvqa", "vce"))]
    code = f"import sys; from cfeval import cli; print([cli.run(words) for words in {asked}])"
    code += f"; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["[0, 0, 0, 0]", "[]"]


@pytest.mark.parametrize("dotted", [dotted for _, _, dotted in COMMANDS])
def test_every_command_is_there_and_says_in_one_sentence_what_it_does(dotted: str) -> None:
    said = cli._docstring(dotted).partition("\n\n")[0]
    assert said == str(load(dotted).__doc__).partition("\n\n")[0]
    assert said.endswith((".", "?"))
    assert "\n" not in said


def test_version_is_told(cfeval: Run) -> None:
    assert cfeval("--version")[1].startswith("cfeval 0.")


def test_the_help_groups_every_command_once(cfeval: Run) -> None:
    named = [name for names in verbs.PANELS.values() for name in names]
    assert sorted(named) == sorted({*verbs.VERBS[""], *(group for group in verbs.GROUPS if " " not in group)})
    shown = re.findall(r"^╭─ (.+?) ─|^│ ([a-z-]+)  ", cfeval("--help")[1], re.MULTILINE)
    wanted = [line for panel, names in verbs.PANELS.items() for line in ((panel, ""), *(("", name) for name in names))]
    assert [line for line in shown if line[0] != "Options" and not line[1].startswith("-")] == wanted


@pytest.mark.parametrize("arguments", [["edct", "baselines"], ["edct", "baselines", "--sed", "1"]])
def test_a_wrong_option_ends_with_status_2(cfeval: Run, arguments: list[str]) -> None:
    assert cfeval(*arguments)[0] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("estmate", "no command 'estmate'; did you mean 'estimate'? allowed: audit, cache, check, "),
        ("cache stat", "no command 'cache stat'; did you mean 'stats'? allowed: export, forget, "),
        ("edct bseline", "no command 'edct bseline'; did you mean 'baselines'? "),
        ("stage edct baselines", "no command 'stage'; "),
    ],
)
def test_a_mistyped_command_is_one_line_with_the_nearest(cfeval: Run, words: str, said: str) -> None:
    status, out, err = cfeval(*words.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"cfeval: {said}")


@pytest.mark.parametrize(
    ("line", "offered"),
    first_fast(
        [
            ("cfeval st", ["status"]),
            ("cfeval edct re", ["requeries", "report"]),
            ("cfeval estimate --j", ["--json"]),
        ],
        1,
    ),
)
def test_the_shell_completes_commands_and_options(line: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "cfeval").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cfeval.cli "$@"\n')
    (tmp_path / "cfeval").chmod(0o755)
    words = shlex.join(line.split())
    script = f"""
        eval "$(_CFEVAL_COMPLETE=source_bash cfeval)"
        COMP_WORDS=({words}) COMP_CWORD={len(line.split()) - 1}
        _cfeval_completion cfeval && echo "${{COMPREPLY[@]}}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == offered, done.stderr


@pytest.mark.parametrize(
    ("vlm", "complaint"),
    [
        ("{", "--vlm: not JSON"),
        ("[]", "--vlm: a plugin is JSON such as"),
        ({"plugin": "mok"}, "unknown chat plugin 'mok'; did you mean 'mock'?"),
        ({"plugin": "mock", "reply": 1}, "unknown option 'reply' of 'mock'; did you mean 'replies'?"),
        ({"plugin": "mock", "replies": 3}, "option 'replies' of 'mock'"),
        ({"plugin": "../x"}, "unknown chat plugin '../x'"),
    ],
)
def test_a_wrong_plugin_is_one_line(cfeval: Run, samples: Path, tmp_path: Path, vlm: object, complaint: str) -> None:
    status, _, err = cfeval(*ask(samples, tmp_path / "out" / "b.jsonl", vlm))
    assert status == 2
    assert complaint in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_disk_limit_is_one_line_and_leaves_nothing(samples: Path, tmp_path: Path) -> None:
    vlm = {"plugin": "mock", "replies": ["x" * 5000]}
    command = [sys.executable, "-c", LIMITED, *map(str, ask(samples, tmp_path / "out" / "b.jsonl", vlm))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("cfeval: cannot write")
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.EROFS, "read-only"), (errno.EACCES, "permission denied"), (errno.ENOSPC, "full")]
)
def test_a_folder_that_cannot_be_written_is_one_line(
    cfeval: Run, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    status, _, err = cfeval(*ask(samples, tmp_path / "b.jsonl"))
    assert status == 2
    assert advice in err.splitlines()[-1]


def test_a_file_in_place_of_a_folder_is_one_line(cfeval: Run, samples: Path, tmp_path: Path) -> None:
    (tmp_path / "blocked").touch()
    status, _, err = cfeval(*ask(samples, tmp_path / "blocked" / "b.jsonl"))
    assert status == 2
    assert "blocked is a file, and a folder is needed" in err


def test_a_crash_keeps_the_old_result(cfeval: Run, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.jsonl"
    cfeval(*ask(samples, out))
    before = out.read_bytes()
    status, _, err = cfeval(*ask(samples, out, {"plugin": "mock", "crash_on": ["000001"]}))
    assert status == 2
    assert "mock crash on item '000001'" in err
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --foo", "no such option: --foo; see `cfeval run --help`"),
        ("run --name", "option '--name' requires an argument; see `cfeval run --help`"),
        ("audit build", "missing option '--out'; see `cfeval audit build --help`"),
        ("cache --foo", "no such option: --foo; see `cfeval cache --help`"),
        ("--foo", "no such option: --foo; see `cfeval --help`"),
        ("estimate x y", "got unexpected extra argument(s) (y); see `cfeval estimate --help`"),
    ],
)
def test_a_wrong_option_is_one_line(cfeval: Run, words: str, said: str) -> None:
    assert cfeval(*words.split()) == (2, "", f"cfeval: {said}\n")


@pytest.mark.parametrize("words", ["", "audit"])
def test_a_group_alone_shows_its_help(cfeval: Run, words: str) -> None:
    status, out, err = cfeval(*words.split())
    assert (status, err) == (2, "")
    assert out.split() == cfeval(*words.split(), "--help")[1].split()
