"""A cluster for all tests of this folder, and studies that run on it."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.cluster import ADVICE, Cluster, missing, running
from tests.workflow.study import PROJECT, Study, lay_out, offer

PLUGIN = PROJECT / ".slurm"
"""Where `make test-slurm` installs Snakemake's plugin, which would slow down every start of Snakemake in `.venv`."""


@dataclass
class SlurmStudy(Study):
    """A study whose commands can reach the cluster and find Snakemake's plugin; `profile` sends its jobs there."""

    cluster: Cluster

    @property
    def environment(self) -> dict[str, str]:
        """That of every study, and the variables by which Slurm and Snakemake's plugin for it are found."""
        usual, slurms = super().environment, self.cluster.environment
        return usual | {
            **slurms,
            "PATH": f"{usual['PATH'].split(':')[0]}:{slurms['PATH']}",
            "PYTHONPATH": f"{usual['PYTHONPATH']}:{PLUGIN}",
        }

    def copy(self, to: Path) -> Study:
        """The same study in another folder, for a run without the cluster."""
        return Study(self.root).copy(to)

    def plug_in(self, family: str, name: str, source: str) -> None:
        """Add a plugin to this study's copy of the code."""
        offer(self.root, family, name, source)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Slurm that runs as long as the tests."""
    if lacking := missing():
        pytest.exit(f"{', '.join(lacking)}: not found, so nothing was tested; {ADVICE}", returncode=1)
    with running(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


def laid_out(folder: Path, params: dict[str, Any], cluster: Cluster) -> SlurmStudy:
    """A study of which nothing has run, with the built-in models; its profile looks at its jobs every few seconds."""
    study = SlurmStudy(lay_out(folder / "home" / "study", params).root, cluster)
    shutil.copytree(PROJECT / "data/models", study.root / "data/models", dirs_exist_ok=True)
    shutil.copy2(PROJECT / "pyproject.toml", study.root)
    profile = study.root / "profiles/slurm/config.yaml"
    profile.write_text(profile.read_text().replace("status-checks: 10 ", "status-checks: 1 "))
    return study
