"""The packed report: one archive that needs nothing beside it."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.inference.remote.credentials import origin
from cfeval.report.pack import pack


def packed(page: Path, full: bool = False) -> tuple[str, list[str]]:
    """The page in the archive, and the archive's names."""
    out = page.parent / "out.zip"
    pack(page, out, full)
    with zipfile.ZipFile(out) as archive:
        return archive.read("report.html").decode(), archive.namelist()


def images(html: str) -> set[str]:
    """Every image that a page shows at once, or may show."""
    found = re.search(r'id="about">(.*?)</script>', html)
    assert found
    return {*json.loads(found[1])["images"], *re.findall(r'<img src="([^"]+)"', html)}


def test_a_packed_report_has_its_images_within_and_its_tables_beside(report_page: Path) -> None:
    html, names = packed(report_page)
    assert all(image.startswith("data:image/png;base64,") for image in images(html))
    assert set(re.findall(r'href="([^#"]+)"', html)) == set(names) - {"report.html"}
    assert "tables/edct_card.csv" in names
    assert '"../' not in html


def test_images_at_full_size_are_the_very_files_and_edited_ones_say_so(report_page: Path) -> None:
    html, names = packed(report_page, full=True)
    assert images(html) == {name for name in names if name.startswith("images/")}
    with zipfile.ZipFile(report_page.parent / "out.zip") as archive:
        first = archive.read("images/000000.png")
        sources = [origin(archive.read(name)) for name in names if name.startswith("images/")]
    assert first == (report_page.parents[1] / "edct/items/world/item-000.png").read_bytes()
    assert {"digital_source_type": "compositeSynthetic"} in sources
    assert {} in sources


def test_the_same_report_packs_to_the_same_bytes(report_page: Path) -> None:
    packed(report_page)
    first = (report_page.parent / "out.zip").read_bytes()
    packed(report_page)
    assert (report_page.parent / "out.zip").read_bytes() == first


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda page: page.write_text("<p>"), "not a report of cfeval"),
        (lambda page: (page.parents[1] / "edct/items/world/item-003.png").unlink(), "cannot be read"),
        (lambda page: (page.parents[1] / "edct/items/world/item-003.png").write_text("x"), "not an image"),
        (lambda page: (page.parents[1] / "edct/tables/edct_card.csv").unlink(), "cannot be read"),
    ],
)
def test_what_cannot_be_packed_is_one_line_and_leaves_no_archive(report_page: Path, spoil: object, said: str) -> None:
    spoil(report_page)  # type: ignore[operator]
    with pytest.raises(InputError, match=said) as told:
        pack(report_page, report_page.parent / "out.zip")
    assert "\n" not in str(told.value)
    assert not (report_page.parent / "out.zip").exists()
