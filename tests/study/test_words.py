"""What a user may call a side."""

from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.study.revisions import Side, open_side
from tests.study.projects import git


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a tag `one`, results `lax`, and `both`, which is a tag and results."""
    from dvc.repo import Repo

    root = tmp_path_factory.mktemp("project")
    git(root, "init", "--quiet", ".")
    Repo.init(str(root)).close()
    git(root, "commit", "--quiet", "--allow-empty", "--message", "one")
    for tag in ("one", "both"):
        git(root, "tag", tag)
    for place in ("edct/scores", "lax/edct", "both/vce", "try/images"):
        (root / "results" / place).mkdir(parents=True)
    return root


def commit(side: Side) -> str:
    """What a side is called without the hash of its commit."""
    return side.name.partition(" (")[0]


@pytest.mark.parametrize(
    ("word", "name", "results"),
    [
        ("workspace", "the working folder", "results"),
        ("default", "the working folder", "results"),
        ("lax", "lax in the working folder", "results/lax"),
        ("workspace:both", "both in the working folder", "results/both"),
        ("one", "one", "results"),
        ("HEAD~0", "HEAD~0", "results"),
        ("one:default", "one", "results"),
        ("both:default", "both", "results"),
        ("one:lax", "lax in one", "results/lax"),
        ("HEAD^{/one: two}", "no revision 'HEAD^{/one: two}'", ""),
        ("both", "'both' is a revision and results/both of the working folder; say both:default for the revision, "
                 "workspace:both for the folder", ""),
        ("try", "no revision 'try'; name a commit", ""),
        ("lox", "names of results here: both, lax", ""),
        ("workspace:lox", "no results named 'lox' in the working folder; did you mean 'lax'?", ""),
        ("two:lax", "no revision 'two'", ""),
    ],
)  # fmt: skip
def test_a_word_is_a_revision_a_name_or_both(project: Path, word: str, name: str, results: str) -> None:
    if results:
        side = open_side(project, word)
        assert (commit(side), side.results) == (name, results)
    else:
        with pytest.raises(InputError) as raised:
            open_side(project, word)
        assert name in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1
