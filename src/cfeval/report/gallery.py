"""The items of a page: as many as a page can hold, and the others in files beside it, which it loads when asked.

A page from the file system may not read files. So a file beside it is a page too, which hands its items to the one that
frames it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from cfeval.core.files import write_text
from cfeval.core.images import folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import BESIDE
from cfeval.core.shards import shard_files
from cfeval.report.html import ImageNumber, Images, rendered, script_json

CHUNK = 100
"""Items in one script element or file: the page is usable before the last one is read."""
PAGE_BYTES = 12_000_000
"""Of items, and of links to their images or of these images themselves, that a page holds at most."""
FILE_BYTES = 4_000_000
"""Likewise a file beside it, unless a single item is larger."""
Item = dict[str, Any]
"""A row of the gallery, or what the page's script knows of a view, as JSON."""


def records_at(place: Path, kind: type[Any], shards: int) -> Iterator[tuple[Any, Path]]:
    """The records of a stage, each with the folder of its images.

    Args:
        place: that folder; the record file has its name.
        kind: the record.
        shards: into how many files the stage is cut.

    Raises:
        InputError: a file is missing or broken.
    """
    for file in shard_files(place.with_name(f"{place.name}.jsonl"), shards):
        for record in read_jsonl(file, kind):
            yield record, folder_of(file)


@dataclass(frozen=True)
class Gallery:
    """The items of a page: views, their rows as JSON in chunks, and how many further items there are."""

    views: Sequence[Item]
    chunks: Sequence[tuple[int, Markup]]
    """The number of a view, and some of its rows."""
    images: Sequence[str]
    """A link each, by number; empty: of an item beside the page."""
    left_out: int
    """Items that are neither on the page nor beside it."""
    shown: int
    beside: int
    """Items on the page, and in files beside it."""


@dataclass(frozen=True)
class _Row:
    """A row as JSON, the images that it shows, and what it is like."""

    text: str
    images: frozenset[int]
    kind: tuple[str, ...]

    def size(self, links: Sequence[str]) -> int:
        """Its bytes and those of the links to its images."""
        return len(self.text) + sum(len(links[number]) for number in self.images)


@dataclass
class _View:
    about: Item
    rows: list[_Row]
    left_out: int
    kept: list[int] = field(default_factory=list)
    """The places of the rows on the page."""


def gallery_of(views: Iterable[tuple[Item, Sequence[Item], int]], images: Images, page: Path) -> Gallery:
    """The gallery of some views; writes what the page cannot hold beside it.

    Args:
        views: what the script knows of each, its rows, and how many further rows it has. Taken one at a time, so that
            no more than the text of a row is held.
        images: those that rows show.
        page: the file of the page.
    """
    full = [_View({**about, "more": others}, [_row(item) for item in rows], others) for about, rows, others in views]
    _share(full, images.links)
    folder = page.with_suffix(BESIDE)
    for file in folder.glob("[0-9]*-[0-9]*.html"):
        file.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    on_page = {image for view in full for place in view.kept for image in view.rows[place].images}
    for number, view in enumerate(full):
        if files := list(_write_files(number, view, images.links, on_page, page)):
            view.about |= {"beside": files, "items": len(view.rows)}
    chunks = [
        (number, _json([view.rows[place] for place in view.kept[start : start + CHUNK]]))
        for number, view in enumerate(full)
        for start in range(0, len(view.kept), CHUNK)
    ]
    shown, items = sum(len(view.kept) for view in full), sum(len(view.rows) for view in full)
    links = images.links if shown == items else [link * (place in on_page) for place, link in enumerate(images.links)]
    return Gallery(
        [view.about for view in full], chunks, links, sum(view.left_out for view in full), shown, items - shown
    )


def _row(item: Item) -> _Row:
    endings = [str(cell.get("o", "")) for cell in item.get("m", {}).values()]
    return _Row(str(script_json(item)), frozenset(_numbers(item)), (str(item.get("kind", "")), *endings))


def _numbers(content: Any) -> Iterator[int]:
    """The numbers of images in some JSON."""
    if isinstance(content, ImageNumber):
        yield int(content)
    elif isinstance(content, Mapping):
        for value in content.values():
            yield from _numbers(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _numbers(value)


def _json(rows: Iterable[_Row]) -> Markup:
    return Markup(f"[{','.join(row.text for row in rows)}]")


def _share(views: Sequence[_View], links: Sequence[str]) -> None:
    """Select the rows on the page: all, or of each view an equal share; what a small view leaves goes to the others."""
    left = PAGE_BYTES
    sizes = {number: [row.size(links) for row in view.rows] for number, view in enumerate(views)}
    for done, number in enumerate(sorted(sizes, key=lambda number: sum(sizes[number]))):
        views[number].kept = _drawn(views[number].rows, sizes[number], left // (len(views) - done))
        left -= sum(sizes[number][place] for place in views[number].kept)


def _drawn(rows: Sequence[_Row], sizes: Sequence[int], most: int) -> list[int]:
    """The places of as many rows as have the bytes: of each kind and outcome its share, by a systematic sample."""
    if sum(sizes) <= most:
        return list(range(len(rows)))
    order = sorted(range(len(rows)), key=lambda place: (rows[place].kind, place))
    wanted = len(rows) * most // sum(sizes)
    while wanted:
        places = [order[(2 * turn + 1) * len(order) // (2 * wanted)] for turn in range(wanted)]
        if sum(sizes[place] for place in places) <= most:
            return sorted(places)
        wanted = min(wanted - 1, wanted * 9 // 10)
    return []


def _write_files(number: int, view: _View, links: Sequence[str], on_page: set[int], page: Path) -> Iterator[str]:
    """Write the rows that are not on the page; yields the links to the files."""
    kept = set(view.kept)
    places = iter([place for place in range(len(view.rows)) if place not in kept])
    for part, chunk in enumerate(_parts([row for place, row in enumerate(view.rows) if place not in kept], links)):
        needed = sorted({image for row in chunk for image in row.images} - on_page)
        content = Markup('{{"places":{},"images":{},"rows":{}}}').format(
            script_json(list(islice(places, len(chunk)))),
            script_json({str(image): links[image] for image in needed}),
            _json(chunk),
        )
        file = page.with_suffix(BESIDE) / f"{number:03d}-{part:03d}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, rendered("items.html.j2", [], ["items.js"], rows=content, items=len(chunk)))
        yield f"{quote(file.parent.name)}/{file.name}"


def _parts(rows: Iterable[_Row], links: Sequence[str]) -> Iterator[list[_Row]]:
    """Rows in files of no more than `CHUNK` and `FILE_BYTES`."""
    part, filled = list[_Row](), 0
    for row in rows:
        size = row.size(links)
        if part and (len(part) == CHUNK or filled + size > FILE_BYTES):
            yield part
            part, filled = [], 0
        part.append(row)
        filled += size
    if part:
        yield part
