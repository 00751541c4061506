"""`cfeval diff` between commits: what it reads from git and DVC's cache, and what it says of what is missing."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dvc.repo import Repo

from tests.conftest import Run
from tests.slow import slow
from tests.study.projects import git
from tests.study.studies import CONDITION, put, score, step, write_edct, write_table

Diff = Callable[..., tuple[int, str, str]]
NAMES = dict(zip(("dataset", "vlm", "writer", "protocol", "editor", "judge"), CONDITION, strict=True))


def lay(root: Path, threshold: float, pcs: int, name: str = "") -> None:
    """Parameters, scores, a table and a record as one commit has them."""
    scores = [score(f"i{n}", pcs if n == 1 else 1, 1) for n in range(3)]
    write_edct(root, scores, name=name, threshold=threshold)
    results = f"results/{name}" if name else "results"
    row = NAMES | {"n": 3, "ccs": f"{(2 + pcs) / 3:.4f}"}
    write_table(root, "edct_table1", [row], f"{results}/edct/tables")
    judge = {"plugin": "grammar", "threshold": threshold}
    put(root, step(results=results, options={"--judge": judge}), results=results)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of three commits: `empty` without results, `one` and `two`; a threshold and an item differ.

    The study `lax` is of the second commit alone and as its default one; here it has another threshold now.
    """
    root = tmp_path_factory.mktemp("project")
    git(root, "init", "--quiet", ".")
    repo = Repo.init(str(root))
    git(root, "commit", "--quiet", "--allow-empty", "--message", "nothing yet")
    git(root, "tag", "empty")
    for name, threshold, pcs in (("one", 0.5, 1), ("two", 0.8, 0)):
        lay(root, threshold, pcs)
        phases = ["edct/baselines", "edct/requeries", "edct/verdicts", "edct/scores"]
        if name == "two":
            lay(root, threshold, pcs, "lax")
            phases += [f"lax/{phase}" for phase in phases]
        repo.add([str(root / "results" / phase) for phase in phases])
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", name)
        git(root, "tag", name)
    repo.close()
    for path in sorted((root / "results/lax").rglob("*.*")):
        path.unlink()
    lay(root, 0.9, 1, "lax")
    return root


@pytest.fixture
def diff(cfeval: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> Diff:
    monkeypatch.chdir(project)
    return lambda *arguments: cfeval("diff", *arguments)


def test_two_commits_tell_why_what_and_which(diff: Diff) -> None:
    status, out, _ = diff("one", "two")
    assert status == 0
    assert "edct.threshold: 0.5 → 0.8" in out
    assert "edct.verdicts, 1 of 1 files: judge.threshold 0.5 → 0.8" in out
    assert "ccs  1.0000 → 0.6667  (−0.3333)" in out
    assert "d/m/w/edct-2025/e/j: 1 of 3 flipped" in out
    assert "i1 edit 1: ccs 1 → 0, pcs 1 → 0" in out
    assert 'after the edit: "saw 1" → "saw 0"' in out


@pytest.mark.slow
def test_a_page_says_what_moved_and_which_items_flipped(diff: Diff, tmp_path: Path) -> None:
    assert diff("one", "two", "--page", tmp_path / "out.html")[0] == 0
    html = (tmp_path / "out.html").read_text()
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html)]
    assert "1 figures differ, 0 of them beyond both intervals. 1 of 3 items flipped in the 1 conditions" in html
    assert ["edct.threshold", "0.5", "0.8"] in cells
    assert ["edct_table1", "d / m / w / edct-2025 / e / j", "ccs", "1.0000", "0.6667", "−0.3333", "none"] in cells
    assert ["flipped", "ccs 1 → 0, pcs 1 → 0"] in cells
    assert ["after the edit", "saw 1", "saw 0"] in cells
    assert "<script" not in html
    assert not re.search(r'(src|href)="[^#]', html)


def test_the_page_of_a_revision_against_itself_has_no_table(diff: Diff, tmp_path: Path) -> None:
    assert diff("two", "two", "--page", tmp_path / "out.html")[0] == 0
    html = (tmp_path / "out.html").read_text()
    assert "No figure and no item differs." in html
    assert "<table" not in html


@pytest.mark.slow
def test_without_a_second_revision_the_working_folder_is_compared(diff: Diff) -> None:
    status, out, _ = diff("one", "--json")
    whole, found = json.loads(out), json.loads(diff("one", "two", "--json")[1])
    assert status == 0
    assert whole["after"] == "the working folder"
    assert whole["studies"] == found["studies"]
    assert whole["studies"]["edct"]["conditions"][0]["became"] == {"ccs": {"1 → 0": 1}, "pcs": {"1 → 0": 1}}


@pytest.mark.parametrize("other", ["two", slow("workspace"), slow("default"), slow("two:default")])
def test_a_revision_does_not_differ_from_itself(diff: Diff, other: str) -> None:
    status, out, _ = diff("two", other)
    assert (status, out.splitlines()[1:]) == (0, ["nothing differs"])


@pytest.mark.parametrize(
    ("sides", "header", "threshold", "flipped"),
    [
        slow(["default", "lax"], "the working folder → lax in the working folder", "0.8 → 0.9", 1),
        slow(["lax"], "lax in the working folder → the working folder", "0.9 → 0.8", 1),
        slow(["one", "lax"], "one ({sha}) → lax in the working folder", "0.5 → 0.9", 0),
        slow(["one", "two:lax"], "one ({sha}) → lax in two ({sha})", "0.5 → 0.8", 1),
        (["two:lax", "lax"], "lax in two ({sha}) → lax in the working folder", "0.8 → 0.9", 1),
    ],
)
def test_studies_with_a_name_are_compared_as_revisions_are(
    diff: Diff, sides: list[str], header: str, threshold: str, flipped: int
) -> None:
    status, out, _ = diff(*sides)
    assert status == 0
    assert re.sub(r"\([0-9a-f]{7}\)", "({sha})", out.splitlines()[0]) == header
    assert f"edct.threshold: {threshold}" in out
    assert f"edct.verdicts, 1 of 1 files: judge.threshold {threshold}" in out
    assert out.count("i1 edit 1: ccs") == flipped


@pytest.mark.slow
def test_a_study_does_not_differ_from_one_made_alike(diff: Diff) -> None:
    status, out, _ = diff("two", "two:lax")
    assert (status, out.splitlines()[1:]) == (0, ["nothing differs"])


@pytest.mark.slow
def test_conditions_of_other_names_are_left_out(diff: Diff) -> None:
    assert "flipped" in diff("one", "two", "--condition", "m", "--condition", "edct-*")[1]
    out = diff("one", "two", "--condition", "other")[1]
    assert "flipped" not in out
    assert "edct_table1" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["one", "three"], "no revision 'three'; name a commit, branch, tag or experiment"),
        (["one", "lux"], "(`git log`, `dvc exp list`); names of results here: lax"),
        (["one:lax", "lax"], "lax in one ({sha}) has no results of edct, vce, cvqa: run `dvc repro` there and commit"),
        (["empty", "two"], "empty ({sha}) has no results of edct, vce, cvqa: run `dvc repro` there and commit"),
        (["one", "two", "--evaluation", "edtc"], "unknown evaluation 'edtc'; did you mean 'edct'?"),
        (["one", "two", "--evaluation", "vce"], "one ({sha}) has no results of vce"),
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


@pytest.mark.slow
def test_a_clone_without_data_compares_tables_and_says_how_to_bring_the_rest(
    project: Path, tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    status, out, _ = cfeval("diff", "one", "two")
    assert status == 0
    assert "ccs  1.0000 → 0.6667" in out
    assert "flipped" not in out
    assert "results/edct/verdicts of one" in out
    assert "results/edct/baselines" not in out  # the same on both sides
    assert "`dvc push --all-commits`" in out
    assert "`dvc fetch --all-commits`" in out


@pytest.mark.slow
def test_what_a_model_said_cannot_steer_the_terminal(diff: Diff, project: Path) -> None:
    said = project / "results/edct/requeries/d/m/w/e/edct-2025.jsonl"
    before = said.read_text()
    said.unlink()
    said.write_text(before.replace("saw 0", "\\u001b[2Jgone"))
    out = diff("one")[1]
    said.unlink()
    said.write_text(before)
    assert '"\\u001b[2Jgone"' in out
    assert "\x1b" not in out
