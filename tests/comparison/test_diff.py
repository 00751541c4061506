"""`cfeval diff` between commits: what it reads from git and DVC's cache, and what it says of what is missing."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from dvc.repo import Repo

from tests.comparison.studies import ARM, score, write_edct, write_table
from tests.conftest import Run

Diff = Callable[..., tuple[int, str, str]]
NAMES = dict(zip(("dataset", "vlm", "writer", "protocol", "editor", "judge"), ARM, strict=True))


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def lay(root: Path, threshold: float, pcs: int) -> None:
    """Parameters, scores and a table as one commit has them."""
    write_edct(root, [score(f"i{n}", pcs if n == 1 else 1, 1) for n in range(3)], threshold=threshold)
    write_table(root, "edct_table1", [NAMES | {"n": 3, "ccs": f"{(2 + pcs) / 3:.4f}"}])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of three commits: `empty` without results, `one` and `two`; a threshold and an item differ."""
    root = tmp_path_factory.mktemp("project")
    git(root, "init", "--quiet", ".")
    repo = Repo.init(str(root))
    git(root, "commit", "--quiet", "--allow-empty", "--message", "nothing yet")
    git(root, "tag", "empty")
    for name, threshold, pcs in (("one", 0.5, 1), ("two", 0.8, 0)):
        lay(root, threshold, pcs)
        repo.add([str(root / "results/edct" / phase) for phase in ("baseline", "requery", "scores")])
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", name)
        git(root, "tag", name)
    repo.close()
    return root


@pytest.fixture
def diff(cfeval: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> Diff:
    monkeypatch.chdir(project)
    return lambda *arguments: cfeval("diff", *arguments)


def test_two_commits_tell_why_what_and_which(diff: Diff) -> None:
    status, out, _ = diff("one", "two")
    assert status == 0
    assert "edct.threshold: 0.5 → 0.8" in out
    assert "ccs  1.0000 → 0.6667  (−0.3333)" in out
    assert "d/m/w/edct-2025/e/j: 1 of 3 flipped" in out
    assert "i1 edit 1: ccs 1 → 0, pcs 1 → 0" in out
    assert 'after the edit: "saw 1" → "saw 0"' in out


def test_without_a_second_revision_the_working_folder_is_compared(diff: Diff) -> None:
    status, out, _ = diff("one", "--json")
    whole, found = json.loads(out), json.loads(diff("one", "two", "--json")[1])
    assert status == 0
    assert whole["after"] == "the working folder"
    assert whole["studies"] == found["studies"]
    assert whole["studies"]["edct"]["arms"][0]["became"] == {"ccs": {"1 → 0": 1}, "pcs": {"1 → 0": 1}}


@pytest.mark.parametrize("other", ["two", "workspace"])
def test_a_revision_does_not_differ_from_itself(diff: Diff, other: str) -> None:
    status, out, _ = diff("two", other)
    assert (status, out.splitlines()[1:]) == (0, ["nothing differs"])


def test_arms_of_other_names_are_left_out(diff: Diff) -> None:
    assert "flipped" in diff("one", "two", "--arm", "m", "--arm", "edct-*")[1]
    out = diff("one", "two", "--arm", "other")[1]
    assert "flipped" not in out
    assert "edct_table1" not in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["one", "three"], "no revision 'three'; name a commit, branch, tag or experiment"),
        (["empty", "two"], "empty ({sha}) has no results of edct, vce, cvqa: run `dvc repro` there and commit"),
        (["one", "two", "--study", "edtc"], "unknown study 'edtc'; did you mean 'edct'?"),
        (["one", "two", "--study", "vce"], "one ({sha}) has no results of vce"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_status_2(diff: Diff, arguments: list[str], says: str) -> None:
    status, out, err = diff(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert all(part in err for part in says.split("{sha}"))


def test_outside_a_project_it_says_where_to_go(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = cfeval("diff", "one")
    assert status == 2
    assert "go to the study's folder, where .dvc lies" in err


def test_a_clone_without_data_compares_tables_and_says_how_to_bring_the_rest(
    project: Path, tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    status, out, _ = cfeval("diff", "one", "two")
    assert status == 0
    assert "ccs  1.0000 → 0.6667" in out
    assert "flipped" not in out
    assert "`dvc push --all-commits`" in out
    assert "`dvc fetch --all-commits`" in out


def test_what_a_model_said_cannot_steer_the_terminal(diff: Diff, project: Path) -> None:
    said = project / "results/edct/requery/d/m/w/edct-2025/e.jsonl"
    before = said.read_text()
    said.unlink()
    said.write_text(before.replace("saw 0", "\\u001b[2Jgone"))
    out = diff("one")[1]
    said.unlink()
    said.write_text(before)
    assert '"\\u001b[2Jgone"' in out
    assert "\x1b" not in out
