"""Sets of questions: sizes, lengths, what can be scored without an image (C-VQA, Section 3.4); how often each
answer is right (Figure 3); and of built sets what became of every draft, and who verified what entered (Section 3.2).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from cfeval.cvqa.records import LETTERS, REAL, SIDES, SYNTHETIC, CvqaBuild, Fate
from cfeval.cvqa.tables.items import ALL, QuestionSet, Type, arrow, counted
from cfeval.cvqa.tables.replies import Counts, CvqaTableData, count
from cfeval.report.tables import Figure, Figures, Heading, Lines, TableRow, cell, table
from cfeval.stats.intervals import rounded

_NO_SET = "Empty: there is no set."
_SHOWN = 6
"""Answers a group that readers see; the CSV has them all."""


def words_cell(row: Any) -> str:
    """Mean numbers of words: `9.41 → 15.02`."""
    if row.words_original is None:
        return f"not asked → {row.words_counterfactual:.2f}"
    return f"{row.words_original:.2f} → {row.words_counterfactual:.2f}"


def _majority_cell(row: Any) -> str:
    if row.majority_original is None:
        return f"not asked → {cell(row.majority_counterfactual)}"
    return arrow(row.majority_original, row.majority_counterfactual)


def letters_cell(row: Any) -> str:
    """Shares of the letters, one after the other."""
    letters = (arrow(getattr(row, f"{x}_original"), getattr(row, f"{x}_counterfactual")) for x in "abcd")
    return "; ".join(text for text in letters if text)


class StatisticsRow(TableRow):
    """A group of a set in figures."""

    set: QuestionSet
    type: Type
    n: Annotated[int, Heading("Pairs")]
    """Pairs."""
    images: Annotated[int, Heading("Images")]
    """Different images."""
    words_original: Annotated[Figure, Heading("Words", words_cell)] = None
    """Mean number of words."""
    words_counterfactual: Figure = None
    """The same of counterfactual questions."""
    if_inside: int = 0
    """Counterfactual questions with ` if ` in them, in small or capital letters."""
    if_first: int = 0
    """Those that begin with `If`."""
    unchanged: Annotated[int, Heading("Unchanged")] = 0
    """Pairs whose answer the presupposition does not change."""
    majority_original: Annotated[Figure, Heading("Majority", _majority_cell)] = None
    """Share of the commonest right answer: what always saying it would score."""
    majority_original_answer: str = ""
    """Which one it is."""
    majority_counterfactual: Figure = None
    """The same of counterfactual questions."""
    majority_counterfactual_answer: str = ""
    """Which one it is."""
    negate: Annotated[Figure, Heading("Negate")] = None
    """Share of counterfactual answers that are the opposite of the original's; yes and no only."""
    yes_original: Annotated[Figure, Heading("Yes", lambda row: arrow(row.yes_original, row.yes_counterfactual))] = None
    """Share of `yes`; of questions that have yes or no."""
    yes_counterfactual: Figure = None
    """The same of counterfactual questions."""
    a_original: Annotated[Figure, Heading("A B C D", letters_cell)] = None
    """Share of the letter A; of questions with options."""
    b_original: Figure = None
    """Of B."""
    c_original: Figure = None
    """Of C."""
    d_original: Figure = None
    """Of D."""
    a_counterfactual: Figure = None
    """Share of the letter A among the counterfactual answers."""
    b_counterfactual: Figure = None
    """Of B."""
    c_counterfactual: Figure = None
    """Of C."""
    d_counterfactual: Figure = None
    """Of D."""


def statistics_rows(material: CvqaTableData) -> list[StatisticsRow]:
    """A row for each set and type, then `all` its types."""
    return [
        _statistics_row(name, kind, counts)
        for name, pairs in material.pairs.items()
        for kind, counts in count(pairs).items()
        if counts.n
    ]


def _statistics_row(name: str, kind: str, counts: Counts) -> StatisticsRow:
    figures: Figures = {"set": name, "type": kind, "n": counts.n, "images": len(counts.images)}
    figures |= {"if_inside": counts.if_inside, "if_first": counts.if_first, "unchanged": counts.unchanged}
    for side in SIDES:
        if not counts.questions_of(side):
            continue
        answer, share = counts.majority(side)
        figures |= {f"words_{side}": rounded(counts.mean_words(side)), f"majority_{side}": rounded(share)}
        figures[f"majority_{side}_answer"] = answer
        if counts.booleans == counts.n:
            figures[f"yes_{side}"] = rounded(counts.share(side, "yes"))
        elif counts.choices == counts.n:
            figures |= {f"{letter.lower()}_{side}": rounded(counts.share(side, letter)) for letter in LETTERS}
    if counts.booleans == counts.n == counts.questions_of("original"):
        figures["negate"] = rounded(counts.negated / counts.n)
    return StatisticsRow.model_validate(figures)


STATISTICS = table(
    "cvqa_statistics",
    "Sets of questions",
    StatisticsRow,
    statistics_rows,
    lambda _: (
        "Original → counterfactual. Majority: the share of the commonest right answer, which always saying it would "
        "score; negate: the share of counterfactual answers that are the opposite of the original one.",
    ),
    _NO_SET,
)


class AnswersRow(TableRow):
    """How often an answer is right in a group. Readers see the commonest answers of each group in one row."""

    set: str
    """Whose questions."""
    type: str
    """The group of questions."""
    side: str
    """`original` or `counterfactual`."""
    answer: str
    """A right answer."""
    count: int
    """How often it is right."""
    share: float
    """Of the group's questions on that side."""


def answers_rows(material: CvqaTableData) -> list[AnswersRow]:
    """A row for each set, type, side and answer: numbers ascending, else the alphabet."""
    return [
        AnswersRow(
            set=name, type=kind, side=side, answer=answer, count=n, share=rounded(n / counts.questions_of(side)) or 0.0
        )
        for name, pairs in material.pairs.items()
        for kind, counts in count(pairs).items()
        if kind != "all"
        for side in SIDES
        for answer, n in sorted(counts.answers[side].items(), key=lambda entry: _rank(entry[0]))
    ]


def _answers_lines(rows: Sequence[AnswersRow]) -> Lines:
    groups: dict[tuple[str, ...], list[AnswersRow]] = {}
    for row in rows:
        groups.setdefault((row.set, row.type, row.side), []).append(row)
    body = []
    for names, some in groups.items():
        commonest = sorted(some, key=lambda row: (-row.count, _rank(row.answer)))[:_SHOWN]
        body.append((*names, ", ".join(f"{row.answer} ({cell(row.share)})" for row in commonest)))
    return ("Set", "Type", "Side", "Answers and their shares"), tuple(body)


def _rank(answer: str) -> tuple[int, str]:
    return (int(answer), "") if answer.isdigit() else (-1, answer)


ANSWERS = table(
    "cvqa_answers",
    "Right answers",
    AnswersRow,
    answers_rows,
    lambda _: (f"The {_SHOWN} commonest answers of each group; the CSV has them all.",),
    _NO_SET,
    lines=_answers_lines,
)


class BuildsRow(TableRow):
    """How a built set came about: what became of its drafts."""

    set: Annotated[str, Heading("Set")]
    """The built set."""
    type: Type
    n: Annotated[int, Heading("Drafts")]
    """Drafts that were asked for."""
    n_written: Annotated[int, Heading("Written")] = 0
    """Those that could be read; the others are missing."""
    missing: Annotated[str, Heading("Missing", after="accepted")] = ""
    """Why others could not, with counts."""
    n_wrong_sum: Annotated[int, Heading("Wrong sum")] = 0
    """Drafts left out because the second step's sum does not give the stated answer."""
    n_no_sum: Annotated[int, Heading("No sum")] = 0
    """Because the second step of a direct draft states no sum that can be recomputed."""
    n_inconsistent: Annotated[int, Heading("Inconsistent")] = 0
    """Because the steps name other numbers, or another answer, than the question."""
    n_not_related: Annotated[int, Heading("Not related")] = 0
    """Because the second model says that the question is not about the image."""
    n_not_reasonable: Annotated[int, Heading("Not reasonable")] = 0
    """Because the second model says that the answer is not right."""
    n_not_reviewed: Annotated[int, Heading("Not reviewed")] = 0
    """Because the second model failed or said nothing that can be read."""
    n_rejected: Annotated[int, Heading("People: no")] = 0
    """Because a person said no."""
    n_undecided: Annotated[int, Heading("undecided")] = 0
    """Because a person must accept it and has not."""
    n_accepted: Annotated[int, Heading("Accepted")] = 0
    """Pairs of the set."""
    n_by_people: Annotated[int, Heading("by people")] = 0
    """Those of them that a person accepted."""
    n_corrected: Annotated[int, Heading("corrected")] = 0
    """Those of them whose question or answer a person changed."""
    accepted: Annotated[Figure, Heading("Share")] = None
    """Share of the written drafts."""


# The column that counts each fate of a draft that was written.
_LEFT_OUT: dict[Fate, str] = {
    "wrong sum": "n_wrong_sum",
    "no sum": "n_no_sum",
    "inconsistent": "n_inconsistent",
    "not reviewed": "n_not_reviewed",
    "not related": "n_not_related",
    "not reasonable": "n_not_reasonable",
    "rejected": "n_rejected",
    "undecided": "n_undecided",
}


def builds_rows(material: CvqaTableData) -> list[BuildsRow]:
    """A row for each built set and type, in the paper's order; `all` where there are several."""
    rows = []
    for name, fates in material.built.items():
        counts: dict[str, Counter[str]] = {}
        for build in fates:
            for kind in (build.type, ALL):
                counts.setdefault(kind, Counter()).update(_columns_of(build))
        kinds = [kind for kind in (*REAL, *SYNTHETIC) if kind in counts]
        for kind in kinds if len(kinds) == 1 else (*kinds, ALL):
            rows.append(_builds_row(name, kind, counts.get(kind, Counter())))
    return rows


def _columns_of(build: CvqaBuild) -> list[str]:
    if build.fate == "not written":
        return ["n", f"missing {build.reason.split(':')[0]}"]
    if build.fate != "accepted":
        return ["n", "n_written", _LEFT_OUT[build.fate]]
    by_people = ["n_by_people"] if build.by == "person" else []
    return ["n", "n_written", "n_accepted", *by_people, *(["n_corrected"] if build.corrected else [])]


def _builds_row(name: str, kind: str, counts: Counter[str]) -> BuildsRow:
    written = counts["n_written"]
    missing = Counter({key.removeprefix("missing "): n for key, n in counts.items() if key.startswith("missing ")})
    figures = {key: n for key, n in counts.items() if key in BuildsRow.model_fields} | {"n": counts["n"]}
    share = rounded(counts["n_accepted"] / written) if written else None
    return BuildsRow.model_validate(
        {"set": name, "type": kind, **figures, "missing": counted(missing), "accepted": share}
    )


BUILDS = table(
    "cvqa_builds",
    "Building a set",
    BuildsRow,
    builds_rows,
    lambda _: (
        "Left out: the first reason that holds. Wrong sum: the second step's sum gives another number than the stated "
        "answer, or begins with another than the original's. No sum: a number was worked out in words alone. "
        "Inconsistent: the steps name other numbers or another answer than the question. Not related, not reasonable: "
        "what the second model says. Nothing enters the set unverified.",
    ),
    "Empty: no set was built from source questions.",
)
