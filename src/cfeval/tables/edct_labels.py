"""Human labels: how far people agree, and a tool with them (EDCT-Bench 2026, human study of 128 edits).

For the edit's validity, each score, their product and the grade: human–human, the tool with each person, the tool with
the consensus, and all together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from cfeval.metrics.krippendorff_alpha import Scale
from cfeval.params import Interval
from cfeval.protocols.rules import EDCT_BENCH_2026, RULES
from cfeval.records.edct import Score
from cfeval.records.labels import AgreementRow, Label
from cfeval.records.tables import Published
from cfeval.stats.agreement import alpha, cohen
from cfeval.stats.estimate import DECIMALS, Estimate
from cfeval.stats.wilson import share, wilson
from cfeval.studies.edct.labels import (
    CCS,
    EDIT_VALID,
    GRADE,
    Rated,
    Verdicts,
    checked,
    judged,
    people,
    questions,
    rated,
)
from cfeval.tables.formats import Sheet, cell

NO_LABELS_NOTE = "Empty: there are no labels."
HUMAN_STUDY = "human-study"
_SIDES = {"human_human": "People", "tool_consensus": "consensus", "three_way": "all people"}
_TOOLS = {"gate": "Gate", "check": "Check"}
_ABOUT = {EDIT_VALID: "Edit valid", CCS: "CCS", GRADE: "Grade", "answer_moved": "Answer moved"}
_ABOUT |= {"explanation_moved": "Explanation moved"}


Values = tuple[float | None, ...]
Compared = Sequence[tuple[Values, str]]
"""For each edit for which there is all that is compared: what every side said, and the cluster of the edit."""


def rows(
    labels: Sequence[Label], scores: Sequence[Score], how: Interval, published: Iterable[Published] = ()
) -> list[AgreementRow]:
    """A row for each protocol, question and comparison, in this order.

    Args:
        labels: of everybody.
        scores: of the labelled edits, by any judges.
        how: level of all intervals; resamples and seed of those of kappa and alpha.
        published: figures of the papers; those of the human study stand beside.

    Raises:
        InputError: somebody labelled an edit twice.
    """
    paper = {line.metric: line.value for line in published if line.table == HUMAN_STUDY}
    found: list[AgreementRow] = []
    for protocol in (name for name in RULES if any(label.protocol == name for label in labels)):
        mine = [label for label in labels if label.protocol == protocol]
        theirs = [score for score in scores if score.protocol == protocol]
        for about in questions(protocol):
            tools = checked(mine, theirs) if about == EDIT_VALID else judged(theirs, about)
            found += _about(protocol, about, mine, tools, how)
    return [_beside(row, paper) for row in found]


def _about(
    protocol: str, about: str, labels: Sequence[Label], tools: Mapping[str, Verdicts], how: Interval
) -> Iterator[AgreementRow]:
    """All comparisons in one question."""
    edits, names = rated(labels, about), people(labels)
    row = partial(_row, protocol, about, how)
    if len(names) > 1:
        yield row("human_human", len(edits), [(one.said, one.group) for one in edits if len(one.given) > 1])
    for tool, verdicts in sorted(tools.items()):
        met = [one for one in edits if one.edited in verdicts]
        for place, name in enumerate(names):
            sides = [((one.said[place], verdicts[one.edited]), one.group) for one in met]
            yield row("tool_human", len(met), _whole(sides), tool=tool, rater=name)
        sides = [((one.consensus, verdicts[one.edited]), one.group) for one in met]
        error = _error(met, verdicts) if about != GRADE else {}
        yield row("tool_consensus", len(met), _whole(sides), tool=tool, **error)
        if len(names) > 1:
            judged_too = [one for one in met if len(one.given) > 1 and verdicts[one.edited] is not None]
            together = [((*one.said, verdicts[one.edited]), one.group) for one in judged_too]
            yield row("three_way", len(met), together, tool=tool)


def _whole(sides: Compared) -> Compared:
    return [(values, group) for values, group in sides if None not in values]


def _row(
    protocol: str, about: str, how: Interval, comparison: str, n: int, compared: Compared, **fields: object
) -> AgreementRow:
    values, groups = [said for said, _ in compared], [group for _, group in compared]
    same = [float(len(set(said) - {None}) == 1) for said in values]
    rate = (wilson(share(same, groups), how.level) if same else Estimate(None)).rounded()
    two = about != GRADE and all(len(said) == 2 for said in values)
    drawn = (how.level, how.resamples, how.seed, groups)
    scale: Scale = "ordinal" if about == GRADE else "nominal"
    beyond = (cohen(values, *drawn) if two else alpha(values, scale, *drawn)).rounded()
    return AgreementRow.model_validate(
        {
            "protocol": protocol,
            "about": about,
            "comparison": comparison,
            "n": n,
            "n_assessable": len(values),
            "agreement": rate.value,
            "agreement_lo": rate.low,
            "agreement_hi": rate.high,
            "beyond_chance": beyond.value,
            "beyond_chance_lo": beyond.low,
            "beyond_chance_hi": beyond.high,
            "coefficient": "Cohen's kappa" if two else f"Krippendorff's alpha, {scale}",
            "ci": rate.method,
            **fields,
        }
    )


def _error(met: Sequence[Rated], verdicts: Verdicts) -> dict[str, object]:
    """How often the tool errs where people agree: counts, and shares with the weights of the draw."""
    cells: dict[tuple[float, float], list[float]] = {(truth, said): [] for truth in (0, 1) for said in (0, 1)}
    for one in met:
        truth, said = one.consensus, verdicts[one.edited]
        if truth is not None and said is not None:
            cells[truth, said].append(one.weight)
    sums = {cell: sum(weights) for cell, weights in cells.items()}
    return {
        "both_1": len(cells[1, 1]),
        "human_1_tool_0": len(cells[1, 0]),
        "human_0_tool_1": len(cells[0, 1]),
        "both_0": len(cells[0, 0]),
        "sensitivity": _part(sums[1, 1], sums[1, 0]),
        "specificity": _part(sums[0, 0], sums[0, 1]),
    }


def _part(right: float, wrong: float) -> float | None:
    return round(right / (right + wrong), DECIMALS) if right + wrong else None


def _beside(row: AgreementRow, paper: Mapping[str, float]) -> AgreementRow:
    """With the paper's figure. It has one a comparison, of faithfulness, which stands beside CCS."""
    if (row.protocol, row.about) != (EDCT_BENCH_2026, CCS):
        return row
    return row.model_copy(update={"paper_agreement": paper.get(f"agreement_{row.comparison}")})


def sheet(of: Sequence[AgreementRow], published: Iterable[Published] = ()) -> Sheet:
    """The table for readers."""
    paper = any(row.paper_agreement is not None for row in of)
    headings = ["Protocol", "About", "Compared", "Assessable", "Agreement", *(["Paper"] if paper else [])]
    headings += ["Beyond chance", "Sensitivity", "Specificity"]
    body = tuple(tuple(_cells(row, paper)) for row in of)
    title = "Human labels: agreement of people, and of the tool with people"
    return Sheet("edct_labels", title, tuple(headings), body, _notes(of, published))


def _cells(row: AgreementRow, paper: bool) -> list[str]:
    tool = f"{_TOOLS.get(row.tool, row.tool)} and " if row.tool else ""
    return [
        row.protocol,
        _ABOUT.get(row.about, row.about.upper()),
        tool + {**_SIDES, "tool_human": row.rater}[row.comparison],
        f"{row.n_assessable} of {row.n}",
        _with_limits(row.agreement, row.agreement_lo, row.agreement_hi),
        *([cell(row.paper_agreement)] if paper else []),
        _with_limits(row.beyond_chance, row.beyond_chance_lo, row.beyond_chance_hi),
        _counted(row.sensitivity, row.both_1, row.human_1_tool_0),
        _counted(row.specificity, row.both_0, row.human_0_tool_1),
    ]


def _with_limits(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return ""
    return cell(value) + (f" [{cell(low)}, {cell(high)}]" if low is not None else "")


def _counted(part: float | None, right: int | None, wrong: int | None) -> str:
    return "" if part is None or right is None or wrong is None else f"{cell(part)} ({right} of {right + wrong})"


def _notes(of: Sequence[AgreementRow], published: Iterable[Published]) -> tuple[str, ...]:
    if not of:
        return (NO_LABELS_NOTE,)
    intervals, measures = (
        list(dict.fromkeys(texts)) for texts in zip(*((row.ci, row.coefficient) for row in of), strict=True)
    )
    chained = any(row.protocol == EDCT_BENCH_2026 for row in of)
    gate = [cell(line.value) for line in published if chained and line.metric == "agreement_gate_human"]
    return (
        "Assessable: edits for which there is all that is compared; what people call invalid or not assessable is "
        "missing, never a 0. Consensus: what more than half of those say who assessed it.",
        f"Intervals of agreement: {', '.join(filter(None, intervals))}. Beyond chance: {'; '.join(measures)}.",
        "Sensitivity and specificity: of the tool where the consensus is 1 and 0, the draw undone by weights. "
        "Agreement is that on the labelled edits.",
        *([f"EDCT-Bench 2026: its gate agreed with two people on {' and '.join(gate)} of 128 edits."] if gate else []),
    )
