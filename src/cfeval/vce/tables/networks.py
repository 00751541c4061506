"""Table 1 of DBVCE: the classifiers of the study, their parameters, accuracy and robustness, the paper's beside."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from cfeval.report.columns import Estimated, Heading, TableRow, laid_out, limits
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.stats.proportions import share, wilson
from cfeval.vce.records import ExplainedNetwork
from cfeval.vce.tables.group_scores import GroupMaterial, PublishedNetwork
from cfeval.vce.tables.summary import shown

EMPTY = "Empty: the study has no classifiers that were looked at."
_TITLE = "DBVCE, Table 1: classifiers"
_READING = (
    "Accuracy: of the study's originals whose class the classifier knows, 95 % Wilson interval; the paper's is of "
    "all of ImageNet's validation images. Robust: trained against perturbed images, or on noisy ones (noise)."
)
_MILLION = 1_000_000


def _millions(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count / _MILLION:.0f} M" if count >= 10 * _MILLION else f"{count / _MILLION:.2g} M"


def _accuracy(row: "NetworkRow") -> str:
    low, high = limits(row, "accuracy")
    return shown(row.accuracy) + (f" [{shown(low)}, {shown(high)}]" if low is not None else "")


class NetworkRow(TableRow):
    """One classifier on one image set."""

    image_set: Annotated[str, Heading("Image set")]
    """Whose originals."""
    classifier: Annotated[str, Heading("Classifier")]
    """The classifier, by its name in params.yaml."""
    kind: Annotated[str, Heading("Is")] = ""
    """What roles say of it: `robust`, `noise-trained`, `random`, `flawed`."""
    parameters: Annotated[int | None, Heading("Parameters", lambda row: _millions(row.parameters))] = None
    """Of its networks; none where it holds none."""
    accuracy: Annotated[Estimated, Heading("Accuracy", _accuracy)] = None
    """Share of the originals that it puts into their class, of those that it knows."""
    robust: Annotated[str, Heading("Robust")] = ""
    """`yes`: trained against perturbed images; `noise`: on noisy ones; `no`."""
    paper: Annotated[str, Heading("In the paper")] = ""
    """The paper's classifier that stands beside it."""
    paper_parameters: Annotated[int | None, Heading("Its parameters", lambda row: _millions(row.paper_parameters))] = (
        None
    )
    """As the paper printed them."""
    paper_accuracy: Annotated[Figure, Heading("Its accuracy", lambda row: shown(row.paper_accuracy))] = None
    """As the paper printed it; none where it did not."""
    paper_robust: Annotated[str, Heading("Robust in it")] = ""
    """As the paper marks it."""
    paper_published: Annotated[str, Heading("Published")] = ""
    """Where the paper's classifier was published."""
    n: int = 0
    """Originals that the accuracy rests on."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""


def rows(material: GroupMaterial) -> list[NetworkRow]:
    """A row a classifier, in the order of params.yaml."""
    printed = {cell.classifier: cell for cell in material.networks_in_paper}
    return [_row(material, name, one, printed) for name, some in material.networks.items() for one in some]


def _row(
    material: GroupMaterial, image_set: str, network: ExplainedNetwork, printed: Mapping[str, PublishedNetwork]
) -> NetworkRow:
    roles = material.roles
    beside = printed.get(roles.paper.get(network.name, ""))
    told: dict[str, object] = {}
    if network.n:
        right = [1.0] * network.n_right + [0.0] * (network.n - network.n_right)
        found = wilson(share(right), 0.95)
        told = {"accuracy": rounded(found.value), "accuracy_lo": rounded(found.low), "accuracy_hi": rounded(found.high)}
        told |= {"ci": found.method}
    if beside:
        told |= {"paper": beside.classifier, "paper_parameters": beside.parameters, "paper_accuracy": beside.accuracy}
        told |= {"paper_robust": _marked(beside.robust), "paper_published": beside.published}
    return NetworkRow(
        image_set=image_set,
        classifier=network.name,
        kind=roles.of_classifier(network.name),
        parameters=network.parameters,
        robust="yes" if network.robust else "noise" if network.timed or network.name in roles.noise_trained else "no",
        n=network.n,
        **told,
    )


def _marked(robust: str) -> str:
    return {"1": "yes", "0": "no"}.get(robust, robust)


def render(of: Sequence[NetworkRow]) -> RenderedTable:
    """The table for readers: without the paper's columns where nothing of it stands beside."""
    empty = [name for name in NetworkRow.model_fields if name.startswith("paper") and not any(row.paper for row in of)]
    empty += [] if len({row.image_set for row in of}) > 1 else ["image_set"]
    columns = laid_out(NetworkRow, of, without=empty)
    return RenderedTable("vce_table1", _TITLE, *columns, (_READING,) if of else (EMPTY,))


TABLE = Table(row=NetworkRow, rows=rows, render=render)
