"""The jobs of each study: what every stage takes, makes and runs, one file a study.

The rules of the workflow, the plans (`cfeval plan`), what a job records and what the seal checks all follow from these
lists; the patterns of file names stand here and nowhere else. A test holds the lists against Snakemake's own graph.
"""

from collections.abc import Iterator

from cfeval.config import Params
from cfeval.core.jobs import Filing
from cfeval.core.provenance.jobs import Job
from cfeval.cvqa import jobs as cvqa
from cfeval.edct import jobs as edct
from cfeval.vce import jobs as vce

STUDIES = {"edct": edct, "vce": vce, "cvqa": cvqa}
"""By study: the module of its jobs."""


def folders(study: str) -> tuple[str, ...]:
    """The folders in which a study's files lie. DVC wants each to be there, one without a file too."""
    patterns = (value for value in vars(STUDIES[study]).values() if isinstance(value, str))
    return tuple(sorted({value.split("/")[1] for value in patterns if value.startswith(f"{study}/")}))


def jobs(params: Params, root: str = "results", study: str = "") -> Iterator[Job]:
    """All jobs that the parameters ask for, parents first; of one study where it is named."""
    how = Filing(root, params.shards, params.pictures == "archive")
    if params.edct and study in ("", "edct"):
        yield from edct.jobs(params.edct, how)
    if params.vce and study in ("", "vce"):
        yield from vce.jobs(params.vce, how)
    if params.cvqa and study in ("", "cvqa"):
        yield from cvqa.jobs(params.cvqa, how)
