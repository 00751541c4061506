"""The report of vce: how counterfactuals end, examples of it, where they change; tables, hypotheses, every image.

One static HTML page without external resources, which works from the file system (DBVCE, Section 5).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out, StudyFile, read_study_params
from cfeval.core.files import write_text
from cfeval.report.bars import counts_bar, interval_bar
from cfeval.report.digits import two
from cfeval.report.gallery import Item, gallery_of
from cfeval.report.html import Images
from cfeval.report.page import Progress, Row, Section, not_used_of, page_of, sections_of
from cfeval.report.tables import p_cell
from cfeval.vce.asked import AskedReport
from cfeval.vce.files import Results
from cfeval.vce.records import VceCondition
from cfeval.vce.report.examples import CAPTION, MOST, Places, Regions, chosen, example, regions
from cfeval.vce.report.items import SIGNS, items_of, made_for, views
from cfeval.vce.tables import FIGURES, TABLES
from cfeval.vce.tables.answer import AnswerRow, ConceptRow, concept_sentences, headline, sentences
from cfeval.vce.tables.classifiers import failed
from cfeval.vce.tables.group_scores import setting_of, several_settings

NO_ANSWER = "No counterfactual towards an ideal target has a score yet."
_BAR, _COUNTS = 220.0, 260.0
"""Pixels: the width of the drawings."""
_MARKS = {"supported": "yes", "not supported": "no", "undecided": "open"}
_TONES = {"supported": "c-trust", "not supported": "c-do-not-trust"}
_PARTS = (
    ("valid", "valid", "valid"),
    ("alone", "alone", "classifier alone"),
    ("taken", "taken", "seen by the classifier"),
    ("not_valid", "not", "not valid"),
    ("misread", "misread", "misread before"),
    ("no_result", "missing", "no result"),
)
"""Of a row of the answer: the count, its class in the style sheet, and what it is called."""
_CAPTION = (
    "Each claims that a mean lies above or below a bar (dashed). Dot and band: the effect and its 95 % interval, on a "
    "line of its own scale. Shaded: the claimed side, where the test tells it. p is adjusted by Holm over all."
)
_WHERE = (
    "Stronger: more of the change, over counterfactuals in which the classifier sees the target class{}. A region of "
    "3 × 3 is named if its share clearly exceeds that of noise alone (where no unguided images were made: of the "
    "area). It is where the answer was moved, no proof that nothing else is used."
)
_READING = (
    ("Target class", "The class that a counterfactual should show."),
    ("Valid", "The classifier that is explained sees the target class, and so do most oracles."),
    ("Alone", "The classifier sees the target class and most oracles do not: perhaps an adversarial example."),
    ("Misread", "The classifier puts the original into another class, so its change explains nothing."),
    ("Oracle", "A classifier that had no part in making the image and is asked what it shows."),
    ("Not measured", "Whether people see the target class, and whether the change is the smallest there is."),
)


@dataclass(frozen=True)
class Explained:
    """A classifier on the first screen.

    Attributes:
        name: the classifier.
        about: what it is.
        ends: by method, how its counterfactuals end: method, drawing, counts in words.
        where: where they change.
        concepts: what concept edits show, in sentences.
    """

    name: str
    about: str
    ends: Sequence[tuple[str, Markup, str]]
    where: Regions | None
    concepts: Sequence[str]


def run(
    study: StudyFile,
    out: Out,
    results: Results = Path("results/vce"),
    per_condition: Annotated[int, typer.Option(min=1, help="At most so many images and target classes a view.")] = 120,
) -> None:
    """Write the report on one HTML page: the answer with examples, tables, and every image under all classifiers."""
    write(read_study_params(study, AskedReport), out, results, per_condition)


def write(
    asked: AskedReport, out: Path, results: Path, per_condition: int = 120, progress: Progress | None = None
) -> None:
    """Write the page of what a study's results hold; those of a run at work with its progress.

    Raises:
        InputError: a record file is missing or broken.
    """
    folders = (results / "tables", results / "figures")
    sections = list(sections_of("vce", (TABLES, FIGURES), list(TABLES), folders, out.parent))
    rows = {section.name: section.rows for section in sections}
    answer: Sequence[AnswerRow] = rows.get("answer", ())
    images = Images(out.parent)
    shown = [
        (view.as_json(), *items_of(view, results, asked, images, per_condition)) for view in views(asked.conditions)
    ]
    headlines, places = headline(answer), _places(asked, shown)
    on_top = [row for first in headlines for row in _compared(first, answer)]
    made = made_for(map(_condition, headlines), results, asked)
    tested = [part for part in rows.get("hypotheses", ()) if part.effect is not None]
    many = any(row.flipped > MOST for row in on_top)
    answer_sentences = sentences(answer) or [NO_ANSWER]
    text = page_of(
        "vce.html.j2",
        "vce.js",
        "Do visual counterfactuals show what a classifier looks for?",
        [_with_data(section) for section in sections if section.name != "hypotheses"],
        gallery_of(shown, images, out),
        SIGNS,
        progress,
        not_used=not_used_of(results / "images", (one.image_set for one in asked.conditions), asked.shards),
        style="vce.css",
        kicker=_kicker(asked),
        finding=answer_sentences[0],
        caveats=[
            *answer_sentences[1:],
            *_test_bed(headlines),
            *(f"Check first: {line}." for line in failed(rows.get("checks", ()))),
        ],
        examples=[example(one, asked.roles, images, places) for one in chosen(made, asked.roles)],
        examples_caption=CAPTION,
        classifiers=list(_explained(answer, headlines, results, asked, rows.get("concepts", ()))),
        legend=[(style, word) for name, style, word in _PARTS if any(getattr(row, name) for row in on_top)],
        where_caption=_WHERE.format(f", {MOST} of a classifier at most, evenly spaced" if many else ""),
        finding_of_hypotheses=finding(tested),
        caption=_CAPTION,
        hypotheses=[_row(part, several_settings(tested)) for part in tested],
        hypotheses_files=next((section.files for section in sections if section.name == "hypotheses"), ()),
        reading=_READING,
    )
    write_text(out, text)


def _places(asked: AskedReport, shown: Sequence[tuple[Item, Sequence[Item], int]]) -> Places:
    """The number of the view that shows an item, by image set, denoiser, method and item."""
    return {
        (view.image_set, view.denoiser, view.method, row["id"]): number
        for number, (view, (_, rows, _)) in enumerate(zip(views(asked.conditions), shown, strict=True))
        for row in rows
    }


def _kicker(asked: AskedReport) -> str:
    number = len({one.classifier for one in asked.conditions})
    sets = dict.fromkeys(one.image_set for one in asked.conditions)
    return " · ".join(("Visual counterfactual explanations", f"{number} classifier{'s' * (number != 1)}", *sets))


def _condition(row: AnswerRow) -> VceCondition:
    return VceCondition(image_set=row.image_set, denoiser=row.denoiser, classifier=row.classifier, method=row.method)


def _test_bed(chosen: Sequence[AnswerRow]) -> Iterator[str]:
    """Who the classifiers of the test bed are, where the answer is about them."""
    names = list(dict.fromkeys(row.classifier for row in chosen if row.test_world))
    if not names:
        return
    flawed = [f"{name} ({row.defect})" for row in chosen if row.defect and (name := row.classifier) in names]
    planted = f"; a defect is planted in {', '.join(dict.fromkeys(flawed))}" if flawed else ""
    networks = "a small built-in network" if len(names) == 1 else "small built-in networks"
    stand = "stands" if len(names) == 1 else "stand"
    yield f"{', '.join(names)}: {networks} of drawn scenes, which {stand} for no real model{planted}."


def _with_data(section: Section) -> Section:
    """A table without the figure that would say that nothing can be drawn."""
    drawn = {
        "methods": lambda row: row.metric == "ota" and row.mean is not None,
        "cost": lambda row: row.ota is not None,
    }
    empty = section.name in drawn and not any(map(drawn[section.name], section.rows))
    return replace(section, figure="") if empty else section


def _explained(
    answer: Sequence[AnswerRow],
    chosen: Sequence[AnswerRow],
    results: Path,
    asked: AskedReport,
    edits: Sequence[ConceptRow],
) -> Iterator[Explained]:
    """The classifiers of the answer, each with the base and, where it has that, the method without the cone."""
    several = several_settings(chosen)
    for row in chosen:
        setting, methods = setting_of(row), _compared(row, answer)
        noise = [one for one in answer if (*setting_of(one), one.role) == (*setting, "unguided")][:1]
        where = regions(
            made_for([_condition(methods[-1])], results, asked),
            made_for(map(_condition, noise), results, asked),
            asked.roles.tests,
            f"{row.classifier}, {methods[-1].method}: where counterfactuals change",
        )
        about = [*([", ".join(setting)] if several else []), row.kind, row.defect]
        said = tuple(concept_sentences(edits, *setting, row.classifier))
        yield Explained(row.classifier, ": ".join(filter(None, about)), [_ends(one) for one in methods], where, said)


def _compared(row: AnswerRow, answer: Sequence[AnswerRow]) -> list[AnswerRow]:
    """A row of the answer, and the same classifier's without the cone, which lends it the robust one's gradient."""
    names = (*setting_of(row), row.classifier, "no cone")
    without = [one for one in answer if (*setting_of(one), one.classifier, one.role) == names]
    return [row, *without] if row.role != "no cone" else [row]


def _ends(row: AnswerRow) -> tuple[str, Markup, str]:
    """How the counterfactuals of a condition end: method, drawing, counts in words."""
    counts = [(style, getattr(row, name), word) for name, style, word in _PARTS]
    words = ", ".join(f"{count:,} {word}" for _, count, word in counts if count)
    bar = counts_bar(
        [(style, count) for style, count, _ in counts], f"{row.classifier}, {row.method}: {words}", _COUNTS
    )
    return row.method, bar, words


def finding(parts: Sequence[Any]) -> str:
    """How many claims that a study has data for are supported; of no rows nothing."""
    if not parts:
        return ""
    verdicts = Counter(part.verdict for part in parts)
    counts = ", ".join(
        f"{verdicts[word]} {'is' if verdicts[word] == 1 else 'are'} {word}" for word in _MARKS if verdicts[word]
    )
    most = max(parts, key=lambda part: part.n_units)
    number = f"{len(parts)} claim{'s' * (len(parts) != 1)}"
    rest = f"no test rests on more than {most.n_units:,} units ({most.unit}s)"
    return f"Of {number} that this study has data for, {counts}; {rest}."


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(part: Any, several: bool) -> Row:
    """A part of a hypothesis on the first screen."""
    known = part.effect is not None and part.effect_lo is not None and part.effect_hi is not None
    effect = (part.effect, part.effect_lo, part.effect_hi) if known else None
    where = f"{part.image_set}, {part.denoiser}: " if several else ""
    interval = f"{two(part.effect_lo)} to {two(part.effect_hi)}" if known else ""
    label = f"{part.hypothesis}, {part.part}: {f'{two(part.effect)}, {interval}' if known else 'no effect'}"
    rests = f"{part.n_scored:,} of {part.n:,}"
    return Row(
        name=_first_up(part.claim),
        among=f"{where}{part.hypothesis}, {part.part}",
        bar=_bar(part, effect, f"{label}; bar {two(part.bar)}"),
        value=two(part.effect) if known else "",
        interval=interval,
        cells=(("p, Holm", p_cell(part.p_holm) or "none"), ("Rests on", rests)),
        said=_first_up(part.verdict),
        why="; ".join(text for text in part.note.split("; ") if not text.startswith("no variation")),
        mark=_MARKS[part.verdict],
        tone=_TONES.get(part.verdict, ""),
    )


def _bar(part: Any, found: tuple[float, float, float] | None, label: str) -> Markup:
    """The effect against its bar, on a scale of its own."""
    ends = (part.bar, *(found or ()))
    low, high = (0.0, 1.0) if min(ends) >= 0 and max(ends) <= 1 else (min(ends), max(ends))
    room = 0.0 if (low, high) == (0.0, 1.0) else 0.12 * ((high - low) or 1.0)
    span = (low - room, high + room)
    return interval_bar(found, part.bar, _claimed(part, found, span), label, _BAR, span)


def _claimed(
    part: Any, found: tuple[float, float, float] | None, span: tuple[float, float]
) -> tuple[float, float] | None:
    """The claimed side of the bar: the effect's where the part is supported, the other where it is not."""
    if found is None or part.verdict == "undecided":
        return None
    above = (found[0] > part.bar) == (part.verdict == "supported")
    return (part.bar, span[1]) if above else (span[0], part.bar)
