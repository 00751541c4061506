"""The report of vce: the hypotheses as a figure, the tables, and every image under all classifiers.

One static HTML page without external resources, which works from the file system (DBVCE, Section 5).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out
from cfeval.core.files import write_text
from cfeval.core.told import StudyFile, read_told
from cfeval.report.bars import interval_bar
from cfeval.report.digits import two
from cfeval.report.gallery import gallery_of
from cfeval.report.images import Images
from cfeval.report.page import Progress, Row, not_used_of, page_of, sections_of
from cfeval.report.tables import p_cell
from cfeval.vce.asked import Conditions
from cfeval.vce.figures import FIGURES
from cfeval.vce.files import Results
from cfeval.vce.report.items import ENDINGS, items_of, views
from cfeval.vce.tables import TABLES

_BAR = 220.0
_MARKS = {"supported": "yes", "not supported": "no", "undecided": "open"}
_TONES = {"supported": "c-trust", "not supported": "c-do-not-trust"}
_CAPTION = (
    "A part of a hypothesis claims that a mean lies above or below a bar (dashed). Dot and band: the effect and its "
    "95 % interval, each part on a line of its own scale. Shaded: the claimed side, where the test tells it. p is "
    "adjusted by Holm over the parts."
)
_HEADINGS = (
    ("", "Hypothesis"),
    ("", "Verdict"),
    ("fitcol", "Effect, 95 % interval"),
    ("num", "p, Holm"),
    ("num", "Rests on"),
)
_READING = (
    ("Target class", "The class that a counterfactual should show."),
    ("Valid", "The classifier that is explained sees the target class, and so do most oracles."),
    ("Alone", "The classifier sees the target class and most oracles do not: perhaps an adversarial example."),
    ("Oracle", "A classifier that had no part in making the image and is asked what it shows."),
    ("Not measured", "Whether people see the target class, and whether the change is the smallest there is."),
)


def run(
    study: StudyFile,
    out: Out,
    results: Results = Path("results/vce"),
    per_condition: Annotated[int, typer.Option(min=1, help="At most so many images and target classes a view.")] = 120,
) -> None:
    """Write the report: the hypotheses, the tables, and every image under all classifiers, on one HTML page."""
    write(read_told(study, Conditions), out, results, per_condition)


def write(
    asked: Conditions, out: Path, results: Path, per_condition: int = 120, progress: Progress | None = None
) -> None:
    """Write the page of what a study's results hold; those of a run at work with its progress.

    Raises:
        InputError: a record file is missing or broken.
    """
    folders = (results / "tables", results / "figures")
    sections = list(sections_of("vce", (TABLES, FIGURES), list(TABLES), folders, out.parent))
    images = Images(out.parent)
    shown = (
        (view.as_json(), *items_of(view, results, asked.shards, images, per_condition))
        for view in views(asked.conditions)
    )
    parts = next((section.rows for section in sections if section.name == "hypotheses"), ())
    classifiers = len({one.classifier for one in asked.conditions})
    text = page_of(
        "study.html.j2",
        "vce.js",
        "Do visual counterfactuals show what a classifier looks for?",
        sections,
        gallery_of(shown, images, out),
        ENDINGS,
        progress,
        not_used_of(results / "images", (one.image_set for one in asked.conditions), asked.shards),
        kicker=" · ".join(
            (
                "Visual counterfactual explanations",
                f"{classifiers} classifier{'s' * (classifiers != 1)}",
                *dict.fromkeys(one.image_set for one in asked.conditions),
            )
        ),
        finding=finding(parts),
        caveat="",
        caption=_CAPTION,
        headings=_HEADINGS,
        rows=[_row(part, len({(one.image_set, one.denoiser) for one in parts}) > 1) for part in parts],
        about_items="A row is one image and target class with every classifier beside it; the method is the "
        "condition. Open one to compare original and counterfactual images: one slider moves all.",
        reading=_READING,
    )
    write_text(out, text)


def finding(parts: Sequence[Any]) -> str:
    """What was found, in two sentences made from the rows of the table of hypotheses."""
    if not parts:
        return "No hypothesis was tested: params.yaml names no base method (vce.roles), or it has no groups."
    overall: dict[str, str] = {}
    for part in parts:
        where = f" ({part.image_set}, {part.denoiser})" if len({one.image_set for one in parts}) > 1 else ""
        overall.setdefault(f"{part.hypothesis}{where}", part.overall)
    by = {word: [name for name, said in overall.items() if said == word] for word in _MARKS}
    told = [f"{word}: {', '.join(names)}" for word, names in by.items() if names]
    most = max(parts, key=lambda part: part.n_units)
    rest = f"No test rests on more than {most.n_units:,} units ({most.unit}s)"
    return f"{_first_up('; '.join(told))}. {rest}."


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(part: Any, several: bool) -> Row:
    """A part of a hypothesis on the first screen."""
    known = part.effect is not None and part.effect_lo is not None and part.effect_hi is not None
    found = (part.effect, part.effect_lo, part.effect_hi) if known else None
    where = f"{part.image_set}, {part.denoiser}: " if several else ""
    interval = f"{two(part.effect_lo)} to {two(part.effect_hi)}" if known else ""
    label = f"{part.hypothesis}, {part.part}: {f'{two(part.effect)}, {interval}' if known else 'no effect'}"
    rests = f"{part.n_scored:,} of {part.n:,}"
    return Row(
        name=part.hypothesis,
        among=f"{where}{part.part}",
        bar=_bar(part, found, f"{label}; bar {two(part.bar)}"),
        value=two(part.effect) if known else "",
        interval=interval,
        cells=(("p, Holm", p_cell(part.p_holm) or "none"), ("Rests on", rests)),
        said=_first_up(part.verdict),
        why=part.claim,
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
