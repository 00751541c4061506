"""The jobs of each study: what every stage takes, makes and runs, one file a study.

The rules of the workflow, the plans (`cfeval plan`), what a job records and what the seal checks all follow from these
lists; the patterns of file names stand here and nowhere else. A test holds the lists against Snakemake's own graph.
"""

from collections.abc import Iterator
from importlib import import_module

from cfeval.config import Params
from cfeval.core.jobs import Filing
from cfeval.core.provenance.jobs import Job

STUDIES = {"edct": "cfeval.edct.jobs", "vce": "cfeval.vce.jobs", "cvqa": "cfeval.cvqa.jobs"}
"""By study: the module of its jobs, which is imported where parameters have the study."""


def folders(study: str) -> tuple[str, ...]:
    """The folders in which a study's files lie. DVC wants each to be there, one without a file too."""
    patterns = (value for value in vars(import_module(STUDIES[study])).values() if isinstance(value, str))
    return tuple(sorted({value.split("/")[1] for value in patterns if value.startswith(f"{study}/")}))


def jobs(params: Params, root: str = "results", study: str = "") -> Iterator[Job]:
    """All jobs that the parameters ask for, parents first; of one study where it is named."""
    how = Filing(root, params.shards, params.images == "archive")
    for name, module in STUDIES.items():
        section = getattr(params, name)
        if section and study in ("", name):
            yield from import_module(module).jobs(section, how)
