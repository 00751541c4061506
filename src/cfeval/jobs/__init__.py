"""The jobs of each study: what every stage takes, makes and runs, one file a study.

The rules of the workflow, the plans (`cfeval plan`), what a job records and what the seal checks all follow from these
lists; the patterns of file names stand here and nowhere else. A test holds the lists against Snakemake's own graph.
"""

from collections.abc import Callable, Iterator, Mapping

from cfeval.jobs import cvqa, edct, vce
from cfeval.params.study import Params
from cfeval.provenance.jobs import Job

_MODULES = {"edct": edct, "vce": vce, "cvqa": cvqa}
STUDIES: Mapping[str, Callable[[Params, str], Iterator[Job]]] = {name: module.jobs for name, module in _MODULES.items()}
"""By study: its jobs, parents first, with the folder of results that they lie in."""


def folders(study: str) -> tuple[str, ...]:
    """The folders in which a study's files lie. DVC wants each to be there, one without a file too."""
    patterns = (value for value in vars(_MODULES[study]).values() if isinstance(value, str))
    return tuple(sorted({value.split("/")[1] for value in patterns if value.startswith(f"{study}/")}))


def jobs(params: Params, root: str = "results") -> Iterator[Job]:
    """All jobs that the parameters ask for."""
    for study in STUDIES:
        yield from STUDIES[study](params, root)
