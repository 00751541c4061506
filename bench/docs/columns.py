"""The columns of every table, from the records of its rows."""

from collections.abc import Iterator, Mapping
from inspect import getdoc

from cfeval.core.records import Record
from cfeval.cvqa.tables import TABLES as CVQA
from cfeval.edct.tables import TABLES as EDCT
from cfeval.report.tables import Listed, columns_of, headings_of, meanings
from cfeval.vce.tables import TABLES as VCE

PAGES: Mapping[str, Mapping[str, Listed]] = {
    "reference/tables.md": EDCT,
    "reference/cvqa-tables.md": CVQA,
    "reference/vce-tables.md": VCE,
}
"""The page of each evaluation's tables; the columns come below what is written there by hand."""
_HEADING = "## Columns"


def with_columns(page: str, tables: Mapping[str, Listed]) -> str:
    """A page with the columns as they are now, below the text that its section of columns begins with."""
    above, heading, section = page.partition(f"\n{_HEADING}\n")
    introduction = section.partition("\n### ")[0].rstrip("\n")
    return f"{above}{heading}{introduction}\n\n{columns(tables).rstrip()}\n"


def columns(tables: Mapping[str, Listed]) -> str:
    """A section for each kind of row: its tables, what a row is, and its columns."""
    return "\n".join(_lines(tables)) + "\n"


def _lines(tables: Mapping[str, Listed]) -> Iterator[str]:
    names: dict[type[Record], list[str]] = {}
    for name, listed in tables.items():
        names.setdefault(listed.row(), []).append(f"`{name}`")
    for kind, of in names.items():
        base = next((other for other in names if other is not kind and issubclass(kind, other)), None)
        yield from (f"### {', '.join(of)}", "", getdoc(kind) or "", "")
        if base:
            yield from (f"The columns of {names[base][0]}, then:", "")
        yield from ("| column | heading | meaning |", "|---|---|---|")
        yield from _rows(kind, base)
        yield ""


def _rows(kind: type[Record], base: type[Record] | None) -> Iterator[str]:
    headings, texts = headings_of(kind), meanings(kind)
    for name, columns in columns_of(kind).items():
        if base is None or name not in base.model_fields:
            heading = headings[name].text if name in headings else ""
            meaning = " ".join(texts[name].split()).replace("|", "\\|")
            yield f"| {', '.join(f'`{column}`' for column in columns)} | {heading} | {meaning} |"
