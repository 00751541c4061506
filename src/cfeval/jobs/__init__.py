"""The jobs of each study: what every stage takes, makes and runs, one file a study.

The rules of the workflow, the plans (`cfeval plan`), what a job records and what the seal checks all follow from these
lists; the patterns of file names stand here and nowhere else. A test holds the lists against Snakemake's own graph.
"""

from collections.abc import Callable, Iterator, Mapping

from cfeval.jobs import cvqa, edct, vce
from cfeval.params.study import Params
from cfeval.provenance.jobs import Job

STUDIES: Mapping[str, Callable[[Params, str], Iterator[Job]]] = {"edct": edct.jobs, "vce": vce.jobs, "cvqa": cvqa.jobs}
"""By study: its jobs, parents first, with the folder of results that they lie in."""


def jobs(params: Params, root: str = "results") -> Iterator[Job]:
    """All jobs that the parameters ask for."""
    for study in STUDIES:
        yield from STUDIES[study](params, root)
