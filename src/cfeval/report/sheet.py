"""The labelling sheet: one HTML page that works offline, and a CSV of the same items for those who prefer that.

Neither says which arm an item comes from, nor what the tool made of it.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cfeval.io.labels import CONTEXT
from cfeval.io.pictures import Picture
from cfeval.records.labels import ASKED
from cfeval.report.asks import ASKS
from cfeval.report.data_url import data_url
from cfeval.report.payload import script_json
from cfeval.report.templating import rendered

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Change:
    """An instruction: what it changes, what to do, what must not remain."""

    concept: str
    positive: str
    negative: str


@dataclass(frozen=True)
class SheetItem:
    """What people see of an edit, and what they are asked.

    `changes` are all that the edited picture has been through, the one in question last; `pictures` are the original,
    in a chain what came of each edit before, and the edited one, each named by the SHA-256 of its file.
    """

    asks: tuple[str, ...]
    question: str
    changes: tuple[Change, ...]
    pictures: tuple[str, ...]
    answer: str
    explanation: str
    new_answer: str = ""
    new_explanation: str = ""


def sheet_hash(items: Sequence[SheetItem]) -> str:
    """The SHA-256 of all that people see and are asked; labels name it, so that they cannot meet another sheet."""
    content = {"asks": _asks(items), "items": [asdict(item) for item in items]}
    text = json.dumps(content, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sheet_page(items: Sequence[SheetItem], open_picture: Callable[[str], Picture]) -> str:
    """The page; each picture stands in it once. The same arguments give the same text."""
    places: dict[str, int] = {}
    shown = [{**asdict(item), "pictures": [places.setdefault(p, len(places)) for p in item.pictures]} for item in items]
    content = {
        "sheet": sheet_hash(items),
        "asks": _asks(items),
        "pictures": [data_url(open_picture(sha256)) for sha256 in places],
        "items": shown,
    }
    return rendered(
        "sheet/page.html.j2",
        styles=["palette.css", "sheet/page.css"],
        scripts=["sheet/labels.js", "sheet/zoom.js", "sheet/page.js"],
        data=script_json(content),
        items=len(items),
    )


def sheet_csv(items: Sequence[SheetItem]) -> str:
    """RFC 4180 with LF: a row an item, its texts, and empty columns for the answers.

    A text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    asks = list(_asks(items))
    writer.writerow(["sheet", "item", "rater", *CONTEXT, *asks, "comment"])
    for number, item in enumerate(items, start=1):
        said = {**asdict(item), "changes": "\n".join(map(_told, item.changes))}
        writer.writerow(
            [sheet_hash(items), number, "", *(_cell(said[name]) for name in CONTEXT), *[""] * len(asks), ""]
        )
    return text.getvalue()


def _asks(items: Sequence[SheetItem]) -> dict[str, dict[str, Any]]:
    """The questions of the sheet, by name, in their order."""
    return {name: asdict(ASKS[name]) for name in ASKED if any(name in item.asks for item in items)}


def _told(change: Change) -> str:
    return change.positive + (f" (must not remain: {change.negative})" if change.negative else "")


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
