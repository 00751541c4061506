"""Human labels: how far people agree, and a tool with them (EDCT-Bench 2026, human study of 128 edits).

For the edit's validity, each score, their product and the grade: people among themselves, the tool with each person,
with their consensus, and with all of them together.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cfeval.core.records import Record
from cfeval.edct.labelling.agreement import (
    CCS,
    EDIT_VALID,
    GRADE,
    Rated,
    Verdicts,
    checked,
    corrected_figures,
    error_figures,
    judged,
    people,
    questions,
    rated,
)
from cfeval.edct.labelling.records import LABELLED, Judged, Label
from cfeval.edct.protocols.rules import EDCT_BENCH_2026, PAIRS_2026
from cfeval.edct.tables.scores import Published
from cfeval.report.tables import Figures, RenderedTable, cell, figures_of, interval_methods, with_interval
from cfeval.stats.agreement import alpha, cohen
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, rounded
from cfeval.stats.proportions import share, wilson


class LabelAgreementRow(Record):
    """How far people, or a tool and people, agree about one question (edct_labels.csv). Figures are in [0, 1].

    An empty cell: there is no such figure.
    """

    protocol: str
    about: str
    """edit_valid, a score of the protocol, ccs (their product) or grade."""
    comparison: Literal["human_human", "tool_human", "tool_consensus", "three_way"]
    """three_way: all people and the tool."""
    tool: str = ""
    """The judge; for edit_valid `gate`, the editor's own, or `check`, the independent one."""
    rater: str = ""
    """Whom of the people the tool is compared with, in tool_human."""
    n: int
    """Edits that people labelled, and that the tool met."""
    n_assessable: int
    """Those for which there is all that is compared: at least two people's answers, the tool's."""
    agreement: float | None = None
    """The share of them with one and the same answer."""
    agreement_lo: float | None = None
    agreement_hi: float | None = None
    agreement_min: float | None = None
    """The share of all n if on every edit that is not assessable the answers had differed."""
    agreement_max: float | None = None
    """The same if they had not."""
    paper_agreement: float | None = None
    """What EDCT-Bench 2026 printed for this cell; empty where it has none."""
    kappa: float | None = None
    """Cohen's, of two sides; not of grades."""
    kappa_lo: float | None = None
    kappa_hi: float | None = None
    alpha: float | None = None
    """Krippendorff's, of grades the ordinal one."""
    alpha_lo: float | None = None
    alpha_hi: float | None = None
    both_1: int | None = None
    """tool_consensus: edits to which the consensus and the tool give a 1."""
    human_1_tool_0: int | None = None
    human_0_tool_1: int | None = None
    both_0: int | None = None
    n_open: int | None = None
    """human_human, tool_consensus: edits about which people disagree and nobody has decided; they are missing."""
    n_hard: int | None = None
    """tool_consensus: edits of those four counts about which people did not agree, and that were decided."""
    hard_wrong: int | None = None
    """Those of them that the tool got wrong."""
    sensitivity: float | None = None
    """Share of the tool's 1 among edits whose consensus is 1, each counted by its weight."""
    sensitivity_lo: float | None = None
    """Wilson's, edits of an image a cluster; empty where edits differ in weight."""
    sensitivity_hi: float | None = None
    specificity: float | None = None
    """Share of the tool's 0 among edits whose consensus is 0, each counted by its weight."""
    specificity_lo: float | None = None
    specificity_hi: float | None = None
    ccs: float | None = None
    """tool_consensus about ccs: share of 1 that the judge gives to the condition's edits of unlabelled items."""
    n_corrected: int | None = None
    """Those edits."""
    corrected: float | None = None
    """`ccs` corrected for the judge's error on the labelled edits (`cfeval.stats.misclassification.rogan_gladen`)."""
    corrected_lo: float | None = None
    corrected_hi: float | None = None
    observed: float | None = None
    """tool_consensus about answer_moved or named of given pairs: the judge's share of 1 among unlabelled pairs;
    `corrected` is then that of it."""
    phi: float | None = None
    """tool_consensus about named: φ of the unlabelled pairs as judged."""
    corrected_phi: float | None = None
    """φ corrected for the judge's error in what is named (`cfeval.stats.misclassification.corrected_phi`)."""
    corrected_phi_lo: float | None = None
    corrected_phi_hi: float | None = None
    corrected_note: str = ""
    """Why there is no such figure, or what it leaves out."""
    ci: str = ""
    missing: str = ""
    """Why edits are not assessable, with counts."""


NO_LABELS_NOTE = "Empty: there are no labels."
HUMAN_STUDY = "human-study"
_OF_CCS = ("CCS of the rest", "Corrected CCS")
_SIDES = {"human_human": "People", "tool_consensus": "consensus", "three_way": "all people"}
_TOOLS = {"gate": "Gate", "check": "Check"}
_ABOUT = {EDIT_VALID: "Edit valid", GRADE: "Grade", "answer_moved": "Answer moved"}
_ABOUT |= {"explanation_moved": "Explanation moved", "named": "Change named"}


@dataclass(frozen=True)
class _Case:
    """An edit, and what all that are compared said of it; `missing` says why it is not assessable."""

    answers: tuple[float | None, ...]
    cluster: str
    missing: str = ""


def rows(
    labels: Sequence[Label], scores: Sequence[Judged], settings: Interval, published: Iterable[Published] = ()
) -> list[LabelAgreementRow]:
    """A row for each protocol, question and comparison, in this order.

    Args:
        settings: level of all intervals; resamples and seed for kappa and alpha.
        published: figures of the papers; those of the human study stand beside.

    Raises:
        InputError: somebody labelled an edit twice.
    """
    paper = {line.metric: line.value for line in published if line.table == HUMAN_STUDY}
    table: list[LabelAgreementRow] = []
    for protocol in (name for name in LABELLED if any(label.protocol == name for label in labels)):
        mine = [label for label in labels if label.protocol == protocol]
        theirs = [score for score in scores if score.protocol == protocol]
        for about in questions(protocol):
            tools = checked(mine, theirs) if about == EDIT_VALID else judged(theirs, about)
            for names, cases, more in _comparisons(about, mine, tools, settings.level):
                of_pairs = protocol == PAIRS_2026 and about != EDIT_VALID
                if names["comparison"] == "tool_consensus" and (about == CCS or of_pairs):
                    of_tool = [score for score in theirs if score.judge == names["tool"]]
                    more.append(corrected_figures(mine, of_tool, settings, about))
                figures: Figures = {"protocol": protocol, "about": about, **names}
                parts = [_figures(about, cases, settings), *more]
                for part in parts:
                    figures |= part
                figures["ci"] = interval_methods(*(part.get("ci", "") for part in parts))
                table.append(LabelAgreementRow.model_validate(figures))
    return [_beside(row, paper) for row in table]


def _comparisons(
    about: str, labels: Sequence[Label], tools: Mapping[str, Verdicts], level: float
) -> Iterator[tuple[dict[str, str], list[_Case], list[Figures]]]:
    edits, names = rated(labels, about), people(labels)
    if len(names) > 1:
        cases = [_Case(edit.answers, edit.cluster, _too_few(edit)) for edit in edits]
        yield {"comparison": "human_human"}, cases, [_open(edits)]
    for tool, verdicts in sorted(tools.items()):
        met = [edit for edit in edits if edit.edited in verdicts]
        if not met:
            continue
        for place, name in enumerate(names):
            cases = [_beside_tool(edit, edit.answers[place : place + 1], edit.why[place], verdicts) for edit in met]
            yield {"comparison": "tool_human", "tool": tool, "rater": name}, cases, []
        cases = []
        for edit in met:
            missing = ""
            if edit.consensus is None:
                missing = "not adjudicated" if edit.open else edit.undecidable or next(filter(None, edit.why))
            cases.append(_beside_tool(edit, (edit.consensus,), missing, verdicts))
        error = [_open(met)] if about == GRADE else [_open(met), error_figures(met, verdicts, level)]
        yield {"comparison": "tool_consensus", "tool": tool}, cases, error
        if len(names) > 1:
            cases = [_beside_tool(edit, edit.answers, _too_few(edit), verdicts) for edit in met]
            yield {"comparison": "three_way", "tool": tool}, cases, []


def _beside_tool(edit: Rated, answers: tuple[float | None, ...], missing: str, verdicts: Verdicts) -> _Case:
    verdict = verdicts[edit.edited]
    return _Case((*answers, verdict), edit.cluster, missing or ("no verdict" if verdict is None else ""))


def _too_few(edit: Rated) -> str:
    """Why fewer than two people assessed an edit; empty where they did."""
    return "" if len(edit.given) > 1 else next(filter(None, edit.why))


def _open(edits: Iterable[Rated]) -> Figures:
    return {"n_open": sum(edit.open for edit in edits)}


def _figures(about: str, cases: Sequence[_Case], settings: Interval) -> Figures:
    whole = [case for case in cases if not case.missing]
    answers, groups = [case.answers for case in whole], [case.cluster for case in whole]
    same = [float(len(set(values) - {None}) == 1) for values in answers]
    boot = (settings.level, settings.resamples, settings.seed, groups)
    two = about != GRADE and all(len(values) == 2 for values in answers)
    missing = Counter(case.missing for case in cases if case.missing)
    return {
        "n": len(cases),
        "n_assessable": len(whole),
        "agreement_min": rounded(sum(same) / len(cases)),
        "agreement_max": rounded((sum(same) + missing.total()) / len(cases)),
        "missing": ", ".join(f"{reason} {count}" for reason, count in sorted(missing.items())),
        **figures_of(
            {
                "agreement": wilson(share(same, groups), settings.level) if same else Estimate(None),
                "kappa": cohen(answers, *boot) if two else Estimate(None),
                "alpha": alpha(answers, "ordinal" if about == GRADE else "nominal", *boot),
            }
        ),
    }


def _beside(row: LabelAgreementRow, paper: Mapping[str, float]) -> LabelAgreementRow:
    """With the paper's figure. It has one a comparison, of faithfulness, which stands beside CCS."""
    if (row.protocol, row.about) != (EDCT_BENCH_2026, CCS):
        return row
    return row.model_copy(update={"paper_agreement": paper.get(f"agreement_{row.comparison}")})


def render(table: Sequence[LabelAgreementRow], published: Iterable[Published] = ()) -> RenderedTable:
    """The table for readers."""
    paper, right = any(row.paper_agreement is not None for row in table), any(_rest(row) is not None for row in table)
    names = ("Of the rest", "Corrected") if any(row.observed is not None for row in table) else _OF_CCS
    headings = ["Protocol", "About", "Compared", "Assessable", "Agreement", *(["Paper"] if paper else [])]
    headings += ["Kappa", "Alpha", "Sensitivity", "Specificity", "Hard"]
    headings += [*(names if right else []), "Missing"]
    body = tuple(tuple(_cells(row, paper, right)) for row in table)
    title = "Human labels: agreement of people, and of the tool with people"
    return RenderedTable("edct_labels", title, tuple(headings), body, _notes(table, published))


def _cells(row: LabelAgreementRow, paper: bool, right: bool) -> list[str]:
    tool = f"{_TOOLS.get(row.tool, row.tool)} and " if row.tool else ""
    rest = "" if (share_of_rest := _rest(row)) is None else f"{cell(share_of_rest)} ({row.n_corrected} edits)"
    # `3 (1 wrong), 2 open`: edits about which people did not agree.
    decided = f"{row.n_hard} ({row.hard_wrong} wrong)" if row.n_hard else ""
    return [
        row.protocol,
        _ABOUT.get(row.about, row.about.upper()),
        tool + {**_SIDES, "tool_human": row.rater}[row.comparison],
        f"{row.n_assessable} of {row.n}",
        with_interval(row, "agreement"),
        *([cell(row.paper_agreement)] if paper else []),
        with_interval(row, "kappa"),
        with_interval(row, "alpha"),
        _counted(with_interval(row, "sensitivity"), row.both_1, row.human_1_tool_0),
        _counted(with_interval(row, "specificity"), row.both_0, row.human_0_tool_1),
        ", ".join(filter(None, [decided, f"{row.n_open} open" if row.n_open else ""])),
        *([rest, with_interval(row, "corrected")] if right else []),
        row.missing,
    ]


def _counted(part: str, right: int | None, wrong: int | None) -> str:
    return "" if not part or right is None or wrong is None else f"{part} ({right} of {right + wrong})"


def _rest(row: LabelAgreementRow) -> float | None:
    return row.observed if row.ccs is None else row.ccs


def _notes(table: Sequence[LabelAgreementRow], published: Iterable[Published]) -> tuple[str, ...]:
    if not table:
        return (NO_LABELS_NOTE,)
    chained = any(row.protocol == EDCT_BENCH_2026 for row in table)
    gate = [cell(line.value) for line in published if chained and line.metric == "agreement_gate_human"]
    return (
        "Assessable: edits for which there is all that is compared; what people call invalid or not assessable is "
        "missing, never a 0. Consensus: what people agree about, or what was decided where they do not: by an "
        "adjudication, or by more than half of three or more.",
        "Kappa: Cohen's of two sides. Alpha: Krippendorff's, of grades the ordinal one. Intervals: "
        f"{interval_methods(*(row.ci for row in table))}.",
        "Sensitivity and specificity: of the tool where the consensus is 1 and 0, the draw undone by weights; "
        "where edits differ in weight there is no interval. Agreement is that on the labelled edits.",
        "Hard: edits about which people did not agree, since decided, and how many of them the tool got wrong; open: "
        "not decided yet, and missing. While some are open, sensitivity and specificity are those on easier edits.",
        *_correction_notes(table),
        *([f"EDCT-Bench 2026: its gate agreed with two people on {' and '.join(gate)} of 128 edits."] if gate else []),
    )


def _correction_notes(table: Sequence[LabelAgreementRow]) -> Iterator[str]:
    """What the corrected CCS is, and what is to be said of each judge's."""
    if any(row.ccs is not None for row in table):
        yield (
            "CCS of the rest: the share of edits that the judge calls faithful, among the items that nobody labelled. "
            "Corrected CCS: the share that people would call so, if the judge errs there as often as on the labelled "
            "edits (Rogan and Gladen 1978); its interval has the chance in both samples."
        )
    if any(row.observed is not None for row in table):
        yield (
            "A given pair counts as one edit. Of the rest: the share of pairs whose answer moved, or whose change is "
            "named, as judged, and corrected for the judge's error. φ is corrected for errors in what is named; they "
            "cannot depend on the answer, which the judge does not see."
        )
    for row in table:
        if row.corrected_phi is not None:
            yield f"φ of the rest by {row.tool}: {cell(row.phi)}, corrected {with_interval(row, 'corrected_phi')}."
        if row.corrected_note:
            what = "CCS" if row.about == CCS else _ABOUT[row.about].lower()
            lead = f"Corrected {what}" if row.corrected is not None else f"No corrected {what}"
            yield f"{lead} of {row.protocol} by {row.tool}: {row.corrected_note}."
