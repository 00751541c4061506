"""The report of a study that has given pairs alone: phi of every target, the table and its figure, and every pair.

One static HTML page without external resources, which works from the file system. A study that also has edits has the
page of `cfeval.edct.report.page`, with the table of given pairs among its tables.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from cfeval.edct.asked import AskedReport
from cfeval.edct.pairs.table import NAMES, PairRow
from cfeval.edct.report.pair_items import ENDINGS, pair_items, pair_views
from cfeval.inference.remote.totals import CallsTotal, calls_total
from cfeval.report.bars import Estimated, interval_bar
from cfeval.report.digits import percent, two
from cfeval.report.gallery import gallery_of
from cfeval.report.html import Images
from cfeval.report.page import Progress, Row, Section, not_used_of, page_of
from cfeval.report.tables import limits, varying

_BAR = 220.0
_TITLE = "Does the explanation name what moved the answer?"
_CAPTION = (
    "φ: correlation of two facts about a pair, that the answer moved and that an explanation names the changed thing, "
    "with its 95 % interval on the line from −1 to 1. 1: what moves answers is named and nothing else is; 0: what is "
    "named has nothing to do with it. There is no φ where one of the two never varies. Named: the share of pairs, "
    "where the answer moved and where it stayed. The change was given, so this is another estimand than CCS."
)
_HEADINGS = (
    ("", "Model"),
    ("fitcol", "φ, 95 % interval"),
    ("num", "Moved"),
    ("num", "Named, moved"),
    ("num", "Named, stayed"),
    ("num", "Noise"),
    ("num", "Sham"),
    ("num", "Scored"),
)
_READING = (
    ("Moved", "The answers to both images differ in substance."),
    ("Named", "Either explanation names the changed thing, as it is in either image, as a reason."),
    ("Noise", "Answers that moved though the image was only encoded again: what moves without a change."),
    ("Sham", "Pairs of which either explanation is said to name what was changed in another pair."),
    ("Scored", "A pair whose conversation or ruling failed is missing, never a 0; the table has the bounds."),
    ("Not measured", "What else the two images differ in, and whether a public pair was in the training data."),
)


def pairs_page(
    asked: AskedReport,
    results: Path,
    sections: Sequence[Section],
    calls: Path | None,
    out: Path,
    most: int,
    progress: Progress | None,
) -> str:
    """The page of given pairs alone: phi of every target, table, figure and every pair.

    Args:
        asked: what it shows.
        results: the folder of the study's results.
        sections: its table and figure.
        calls: the archive of the calls, for what they cost.
        out: the file of the page.
        most: at most so many pairs of each set in the gallery.
        progress: how far the run is; None where it has ended.
    """
    rows = [row for section in sections for row in section.rows if not row.kind]
    images, views = Images(out.parent), pair_views(asked.pairs)
    shown = [(view.as_json(), *pair_items(view, results, asked.shards, images, most)) for view in views]
    return page_of(
        "study.html.j2",
        "pairs.js",
        _TITLE,
        sections,
        gallery_of(shown, images, out),
        ENDINGS,
        progress,
        not_used_of(results / "pair_items", (one.pair_set for one in asked.pairs), asked.shards),
        kicker=_kicker(rows, calls_total(calls) if calls else None),
        finding=finding(rows),
        caveat=_caveat(rows),
        caption=_CAPTION,
        headings=_HEADINGS,
        rows=[_row(row, [name for name in varying(rows, NAMES) if name != "vlm"]) for row in rows],
        about_items="A row is one pair and its question with every model beside it. Open one to compare the images "
        "and to read answers, explanations and rulings.",
        reading=_READING,
    )


def finding(rows: Sequence[PairRow]) -> Markup:
    """What was found, made from the rows: of which targets phi is above 0 with its whole interval, and of which not."""
    told = [row for row in rows if _estimate(row) is not None]
    above = [row for row in told if (limits(row, "phi")[0] or 0) > 0]
    rest = [row for row in told if row not in above]
    without = [row for row in rows if row not in told and not row.natural]
    natural = [row for row in rows if row.natural]
    said = []
    if above:
        said.append(
            Markup("Explanations name what moves the answer more often than other changes: {}.").format(_each(above))
        )
    if rest:
        said.append(Markup("That is not shown of {}.").format(_each(rest)))
    if without:
        said.append(
            Markup("Nothing can be told of {}: its answer, or what it names, never varies.").format(_each(without))
        )
    if natural:
        said.append(Markup("Natural pairs tell of answers only: {}.").format(_answers(natural)))
    return Markup(" ").join(said) or Markup("No pair has an outcome.")


def _each(rows: Iterable[PairRow]) -> Markup:
    """Names with phi: `grounded (φ 0.99, 0.98 to 1.00)`."""
    names = []
    for row in rows:
        found = _estimate(row)
        figures = f" (φ {two(found[0])}, {_interval(found)})" if found else ""
        names.append(Markup("<b>{}</b>").format(row.vlm) + escape(figures))
    return Markup(", ").join(dict.fromkeys(names))


def _answers(rows: Iterable[PairRow]) -> Markup:
    told = (
        Markup("<b>{}</b> right about both images of {}").format(
            row.vlm, "no known pair" if row.pair_accuracy is None else percent(row.pair_accuracy)
        )
        for row in rows
    )
    return Markup(", ").join(dict.fromkeys(told))


def _estimate(row: PairRow) -> Estimated | None:
    """Phi and its interval; None where it has no figure."""
    low, high = limits(row, "phi")
    return None if row.phi is None or low is None or high is None else (row.phi, low, high)


def _interval(found: Estimated) -> str:
    return f"{two(found[1])} to {two(found[2])}"


def _kicker(rows: Sequence[PairRow], total: CallsTotal | None) -> str:
    """What was tested, on what, at what cost, and when where a reply says so."""
    models, sizes = len({row.vlm for row in rows}), {row.pair_set: row.n for row in rows}
    parts = ["Given pairs (pairs-2026)", f"{models:,} model{'s' * (models != 1)}"]
    parts += [f"{name}: {n:,} pairs" for name, n in sizes.items()]
    return " · ".join(part for part in (*parts, *((total.text, total.when) if total else ())) if part)


def _caveat(rows: Iterable[PairRow]) -> str:
    tested = ", ".join(dict.fromkeys(row.vlm for row in rows if row.test_world))
    return f"{tested}: built-in test models, which stand for no real model." if tested else ""


def _row(row: PairRow, names: Sequence[str]) -> Row:
    """A condition on the first screen."""
    found = _estimate(row)
    label = f"φ of {row.vlm}: {f'{two(found[0])}, {_interval(found)}' if found else 'none'}"
    shares = (row.moved, row.named_if_moved, row.named_if_unmoved, row.noise, row.sham)
    cells = [*("none" if share is None else percent(share) for share in shares), f"{row.n_scored:,} of {row.n:,}"]
    return Row(
        name=row.vlm,
        among=", ".join(str(getattr(row, name)) for name in names),
        bar=interval_bar(found, 0.0, None, label, _BAR, (-1.0, 1.0)),
        value=two(found[0]) if found else "",
        interval=_interval(found) if found else "",
        cells=tuple(zip((heading for _, heading in _HEADINGS[2:]), cells, strict=True)),
    )
