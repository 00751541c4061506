"""Plugins of other packages: found by their entry points, run by the command line, known to records."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.record import Records, read
from tests.conftest import Run
from tests.edct.stages.stages import READS, staged

NAIVE = """from cfeval.core import plugin
from cfeval.edct.plugins.judges import Lexical


class Plugin(plugin.Plugin):
    def build(self):
        return Lexical()
"""


def offer(folder: Path, package: str, name: str, source: str, family: str = "judges") -> None:
    """Install a package of one module that offers a plugin."""
    about = folder / f"{package}-1.2.dist-info"
    about.mkdir(parents=True)
    (folder / f"{package}.py").write_text(source)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[cfeval.{family}]\n{name} = {package}:Plugin\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where packages are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    registry._offered.cache_clear()
    yield folder
    registry._offered.cache_clear()
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def test_two_packages_that_offer_the_same_are_named_and_either_can_be_listed(site: Path) -> None:
    offer(site, "one_judge", "naive", NAIVE)
    offer(site, "other_judge", "naive", NAIVE)
    assert "naive" in registry.names("judges")
    with pytest.raises(ParamsError, match=r"here: one_judge 1\.2 and other_judge 1\.2 offer a judges plugin"):
        registry.check("judges", {"plugin": "naive"}, "here")
    assert "one_judge" not in sys.modules


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import no_such_package\n", "judges plugin 'naive' needs the package 'no_such_package'; install it"),
        ("from math import no_such_name\n", r"'naive' of broken_judge 1\.2 cannot be loaded from broken_judge:Plugin"),
        ("x = 1\n", r"'naive' of broken_judge 1\.2 cannot be loaded from broken_judge:Plugin \(.*'Plugin'"),
        ("def\n", r"cannot be loaded .*invalid syntax"),
    ],
)
def test_one_that_cannot_be_imported_is_one_line(site: Path, source: str, says: str) -> None:
    offer(site, "broken_judge", "naive", source)
    with pytest.raises(PluginError, match=says) as refused:
        registry.check("judges", {"plugin": "naive"}, "here")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_an_edit_of_a_foreign_plug_in_concerns_those_who_use_it_and_nobody_else(
    site: Path, tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts of two judges, of which one comes from a package; each step is a process of its own, as in a run."""
    stages = staged(tmp_path / "study", 2, cfeval).run_all()
    files = [word for name in READS["verdicts"] for word in (f"--{name}", str(stages.file(name)))]
    monkeypatch.chdir(stages.folder)
    offer(site, "naive_judge", "naive", NAIVE)
    records = {}
    for name in ("naive", "lexical"):
        words = ["edct", "verdicts", *files, "--judge", json.dumps({"plugin": name}), "--seed", "7"]
        command = [sys.executable, "-m", "cfeval.cli", *words, "--protocol", "edct-2025", "--out", f"{name}.jsonl"]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])})
        [records[name]] = read(f"{name}.jsonl.made.json")
    assert {"naive_judge", "cfeval.edct.plugins.judges"} <= records["naive"]["code"].keys()
    assert records["naive"]["code"].keys() - records["lexical"]["code"].keys() == {"naive_judge"}
    (site / "naive_judge.py").write_text(f"{NAIVE}\n# A remark.\n")
    assert [Records().fault(records[name]) for name in records] == [None, None]
    (site / "naive_judge.py").write_text(f"{NAIVE}\nLATER = 1\n")
    assert [Records().fault(records[name]) for name in records] == ["code has changed: naive_judge", None]
