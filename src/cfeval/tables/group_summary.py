"""Tables of means over groups: a row a classifier and figure; for readers figures down, classifiers across."""

from collections.abc import Callable, Collection, Iterator, Sequence

from cfeval.records.vce import GroupScore
from cfeval.records.vce_tables import SummaryRow
from cfeval.tables.formats import Sheet
from cfeval.tables.group_figures import known, label, mean, ordered, printed, reasons, shown, spread, told
from cfeval.tables.group_material import GroupMaterial, SettingNames, split
from cfeval.tables.items import rounded

READING = (
    "Mean ± standard deviation over groups (source and target class); the standard deviation is the population's "
    "(ddof 0), as in the paper. A counterfactual without a result counts neither way. Blank: there is no such figure; "
    "a classifier is no oracle of itself. ↑ higher is better, ↓ lower."
)
PAPER_NOTE = "paper: what DBVCE prints for the classifier that params.yaml sets beside; other images, other networks."
FLOOR_NOTE = (
    "Floor: the same distance between two halves of the originals, what equal distributions show with so few images. "
    "Distances below it say that the images still resemble their own originals."
)


def summary_rows(
    material: GroupMaterial, method: str | None, table: str, wanted: Callable[[str], bool] = lambda _: True
) -> list[SummaryRow]:
    """A row for each setting, classifier and figure of a method's groups with ideal targets.

    Args:
        table: whose cells of the paper may stand beside; empty: none.
        wanted: which figures, by name.
    """
    found: list[SummaryRow] = []
    for setting in material.settings() if method else ():
        classifiers = material.classifiers(setting, method)
        groups = {name: material.groups(setting, name, method, "ideal") for name in classifiers}
        metrics = ordered(filter(wanted, known(score for of in groups.values() for score in of)), classifiers)
        found += [
            summary_row(material, setting, name, method or "", metric, of, table)
            for name, of in groups.items()
            for metric in metrics
            if split(metric)[1] != name
        ]
    return found


def summary_row(
    material: GroupMaterial,
    setting: SettingNames,
    classifier: str,
    method: str,
    metric: str,
    groups: Sequence[GroupScore],
    table: str = "",
    values: Sequence[float] | None = None,
) -> SummaryRow:
    """One figure over some groups of an arm.

    Args:
        values: the figure of each group that has it, where it follows from others; None: as the groups have it.
    """
    of = told(groups, metric) if values is None else values
    paper_mean, paper_sd = material.paper(table, classifier, metric)
    return SummaryRow(
        image_set=setting[0],
        denoiser=setting[1],
        method=method,
        role=material.roles.of_method(method),
        classifier=classifier,
        kind=material.roles.of_classifier(classifier),
        metric=metric,
        mean=rounded(mean(of)),
        sd=rounded(spread(of)),
        n_groups=len(of),
        n_groups_missing=len(material.expected(setting, "ideal")) - len(of),
        n=sum(score.n for score in groups),
        n_scored=sum(score.n_scored for score in groups),
        missing=reasons(groups),
        paper_mean=paper_mean,
        paper_sd=paper_sd,
    )


def summary_sheet(name: str, title: str, rows: Sequence[SummaryRow], empty: str) -> Sheet:
    """Figures down, classifiers across, one block a setting; the paper's cells in a line below, where it has any."""
    classifiers = list(dict.fromkeys(row.classifier for row in rows))
    several = len({(row.image_set, row.denoiser) for row in rows}) > 1
    headings = (*(("Image set", "Denoiser") if several else ()), "Metric", *map(headed(rows).__getitem__, classifiers))
    body = tuple(line if several else line[2:] for line in _lines(rows, classifiers))
    return Sheet(name, title, headings, body, notes(rows) if rows else (empty,))


def headed(rows: Sequence[SummaryRow]) -> dict[str, str]:
    """Classifiers as headings, with what they are: `adv (robust)`."""
    return {row.classifier: f"{row.classifier} ({row.kind})" if row.kind else row.classifier for row in rows}


def notes(rows: Sequence[SummaryRow]) -> tuple[str, ...]:
    """What all rows share, how to read them, why results are missing."""
    shared = {"Image set": {r.image_set for r in rows}, "Denoiser": {r.denoiser for r in rows}}
    shared["Method"] = {r.method for r in rows}
    said = " · ".join(f"{what}: {next(iter(names))}" for what, names in shared.items() if len(names) == 1)
    found = [f"{said}." if said else "", READING]
    found += [PAPER_NOTE] if any(row.paper_mean is not None for row in rows) else []
    found += [FLOOR_NOTE] if any(row.metric.endswith("_floor") for row in rows) else []
    return tuple(note for note in found if note)


def _lines(rows: Sequence[SummaryRow], classifiers: Sequence[str]) -> Iterator[tuple[str, ...]]:
    random = [row.classifier for row in rows if row.kind == "random"]
    for setting in dict.fromkeys((row.image_set, row.denoiser) for row in rows):
        of = [row for row in rows if (row.image_set, row.denoiser) == setting]
        for metric in ordered({row.metric for row in of}, classifiers):
            cells = {row.classifier: row for row in of if row.metric == metric}
            yield (*setting, label(metric, random), *(_cell(cells, name) for name in classifiers))
            if any(row.paper_mean is not None for row in cells.values()):
                yield (*setting, "paper", *(_cell(cells, name, paper=True) for name in classifiers))
        yield from counted(setting, of, classifiers)


def counted(
    setting: SettingNames, rows: Sequence[SummaryRow], classifiers: Collection[str]
) -> Iterator[tuple[str, ...]]:
    """The last lines of a block: how many groups and counterfactuals it rests on, and why others have no result."""
    one = {row.classifier: row for row in rows}
    least = {name: [row for row in rows if row.classifier == name] for name in classifiers}
    yield (*setting, "Groups", *(_span([row.n_groups for row in least[name]]) for name in classifiers))
    scored = (f"{one[name].n_scored} of {one[name].n}" if name in one else "" for name in classifiers)
    yield (*setting, "Scored", *scored)
    if any(row.missing for row in one.values()):
        yield (*setting, "Missing", *(one[name].missing if name in one else "" for name in classifiers))


def _span(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _cell(cells: dict[str, SummaryRow], name: str, paper: bool = False) -> str:
    if name not in cells:
        return ""
    row = cells[name]
    return printed(row.paper_mean, row.paper_sd) if paper else shown(row.mean, row.sd)
