"""The columns of every table as the docs show them, from the records of rows: `python -m bench.table_docs`."""

from collections.abc import Iterator, Mapping
from inspect import getdoc
from pathlib import Path

from cfeval.core.records import Record
from cfeval.cvqa.tables import TABLES as CVQA
from cfeval.edct.tables import TABLES as EDCT
from cfeval.report.columns import columns_of, headings_of, meanings
from cfeval.report.tables import Listed
from cfeval.vce.tables import TABLES as VCE

PAGES: Mapping[str, Mapping[str, Listed]] = {
    "docs/tables.md": EDCT,
    "docs/cvqa-tables.md": CVQA,
    "docs/vce-tables.md": VCE,
}
START, END = "<!-- made by `make table-docs` -->\n", "<!-- until here -->\n"
"""Between them stands what is printed; the rest of a page is written by hand."""


def main() -> None:
    """Write what the records say into the pages."""
    for page, tables in PAGES.items():
        path = Path(page)
        path.write_text(renewed(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


def renewed(page: str, tables: Mapping[str, Listed]) -> str:
    """A page with the columns as they are now; ValueError where it has no place for them."""
    before, _, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page lacks the lines {START.strip()} and {END.strip()}")
    return before + START + "\n".join(_lines(tables)) + "\n" + END + after


def _lines(tables: Mapping[str, Listed]) -> Iterator[str]:
    """A section for each record of rows, with the tables that have such rows."""
    names: dict[type[Record], list[str]] = {}
    for name, listed in tables.items():
        names.setdefault(listed.row(), []).append(f"`{name}`")
    for kind, of in names.items():
        base = next((other for other in names if other is not kind and issubclass(kind, other)), None)
        yield from (f"### {', '.join(of)}", "", getdoc(kind) or "", "")
        if base:
            yield from (f"The columns of {names[base][0]}, then:", "")
        yield from ("| column | over it for readers | meaning |", "|---|---|---|")
        yield from _rows(kind, base)
        yield ""


def _rows(kind: type[Record], base: type[Record] | None) -> Iterator[str]:
    headings, texts = headings_of(kind), meanings(kind)
    for name, columns in columns_of(kind).items():
        if base is None or name not in base.model_fields:
            heading = headings[name].text if name in headings else ""
            meaning = " ".join(texts[name].split()).replace("|", "\\|")
            yield f"| {', '.join(f'`{column}`' for column in columns)} | {heading} | {meaning} |"


if __name__ == "__main__":
    main()
