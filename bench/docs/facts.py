"""Figures of README and pages, from the tables in `results/`: `python -m bench.docs.facts` writes them there."""

import csv
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

from cfeval.core.files import write_text

ROOT = Path(__file__).parents[2]
SHOWN = {
    "edct/tables/edct_table1": "docs/concepts/test-bed.md",
    "calibration/edct/tables/edct_bench": "docs/concepts/trust.md",
    "calibration/edct/tables/edct_instrument": "docs/concepts/trust.md",
    "calibration/edct/tables/edct_gate": "docs/concepts/trust.md",
    "vce/tables/vce_table3": "docs/guides/vce.md",
    "vce/tables/vce_hypotheses": "docs/guides/vce.md",
}
"""The tables that a page shows, and the page."""
ROWS: Mapping[str, str | tuple[str, ...]] = {
    "calibration/edct/tables/edct_instrument": "| edct-2025 | scene |",
    "calibration/edct/tables/edct_gate": "| flawed-gated-read |",
    "vce/tables/vce_table3": ("| TA ", "| P(oracles", "| OTA mean "),
    "vce/tables/vce_hypotheses": ("| H3 | cone", "| Planted "),
}
"""Of a long table, how the rows begin that a page shows."""
FAULTS = {
    "wrong_object": "a wrong object",
    "extra_object": "an extra object",
    "wrong_value": "a wrong value",
    "spill": "all else redrawn",
    "none_made": "only noise redrawn",
    "no_op": "only stored again",
}
"""What the editor that goes wrong does, in words."""
_WIDTH = 120


def facts(root: Path = ROOT) -> Mapping[str, str]:
    """A bullet of the README each, by its first word."""
    tested = _rows(root / "results/calibration/edct/tables/edct_test_models.csv")
    exact = [row for row in tested if row["judge"] == "grammar"]
    misled = {name: sum(name in row["misled"].split(", ") for row in exact) for name in ("CCS", "FIT")}
    gate = [row for row in _rows(root / "results/calibration/edct/tables/edct_gate.csv") if _gated(row)]
    bad = [row for row in gate if row["fault"] != "none"]
    good = [row for row in gate if row["fault"] == "none"]
    [controls] = [row for row in _rows(root / "results/edct/tables/edct_controls.csv") if row["vlm"] == "grounded"]
    page = (root / "docs/concepts/provenance.md").read_text(encoding="utf-8")
    [steps], [caption] = (
        re.findall(r"^### Of (\d+) steps", page, re.M),
        re.findall(r"^\| the caption.*? \| (\d+) \|", page, re.M),
    )
    return {
        "Calibration": f"on {len(exact)} test models whose faithfulness we know, CCS alone misleads about "
        f"{misled['CCS']}, FIT about {misled['FIT']}. [How we know that it works](docs/concepts/test-bed.md).",
        "Gate": "each edit is checked before it counts, retried once, else left out. On drawn scenes, "
        f"{_accepted(bad)} of {_edits(bad):,} faulty edits passed ({_faults(bad)}), and {_accepted(good):,} of "
        f"{_edits(good):,} good ones. Faint changes may pass. [Gate, controls and judges](docs/concepts/trust.md).",
        "Controls": "edits whose right outcome is known. When something was edited that the explanation does not name, "
        f"the faithful test model kept its answer in {_percent(controls['completeness'])} of cases. [The "
        "controls](docs/concepts/trust.md#does-it-move-by-itself-the-controls).",
        "Provenance": "the record next to each result names, by hash, what it was made from. If you edit a caption, "
        f"{caption} of {steps} steps run again; if you edit a comment, none does. [Why no table is "
        "outdated](docs/concepts/provenance.md).",
    }


def renewed(readme: str, root: Path = ROOT) -> str:
    """The README with the bullets as they are now."""
    for name, text in facts(root).items():
        bullet = textwrap.fill(
            f"- **{name}**: {text}", _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        readme = re.sub(rf"^- \*\*{name}\*\*:.*?(?=\n- |\n\n)", lambda _, text=bullet: text, readme, flags=re.M | re.S)
    return readme


def shown(name: str, root: Path = ROOT) -> str:
    """The page that shows a table, with the table as it is now.

    Raises:
        ValueError: no table of the page begins with the same heading.
    """
    page = (root / SHOWN[name]).read_text(encoding="utf-8").splitlines()
    text = (root / "results" / f"{name}.md").read_text(encoding="utf-8")
    whole = [line for line in text.splitlines() if line.startswith("|")]
    table = [*whole[:2], *(line for line in whole[2:] if line.startswith(ROWS.get(name, "|")))]
    heads = [number for number, line in enumerate(page) if line.split(" | ")[:2] == table[0].split(" | ")[:2]]
    if len(heads) != 1:
        raise ValueError(f"{SHOWN[name]} shows {len(heads)} tables with the heading {table[0]}")
    end = next((number for number in range(heads[0], len(page)) if not page[number].startswith("|")), len(page))
    return "\n".join([*page[: heads[0]], *table, *page[end:], ""])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _gated(row: Mapping[str, str]) -> bool:
    return row["editor"] == "flawed-gated-read"


def _faults(rows: list[dict[str, str]]) -> str:
    return ", ".join(words for fault, words in FAULTS.items() if fault in {row["fault"] for row in rows})


def _edits(rows: list[dict[str, str]]) -> int:
    return sum(int(row["n"]) for row in rows)


def _accepted(rows: list[dict[str, str]]) -> int:
    return sum(round(int(row["n"]) * float(row["accepted"])) for row in rows)


def _percent(share: str) -> str:
    return f"{float(share):.0%}"


if __name__ == "__main__":
    page = ROOT / "README.md"
    write_text(page, renewed(page.read_text(encoding="utf-8")))
    for name, where in SHOWN.items():
        write_text(ROOT / where, shown(name))
