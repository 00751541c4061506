"""The report in a real browser, as `make test-browser` runs it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.edct.report.conftest import finished, report_page  # noqa: F401

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def dom(page: Path, state: str = "") -> str:
    """The document after its scripts ran, opened from the file system."""
    assert CHROMIUM, "this test needs Chromium: apt-get install chromium, or the like"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom")
    done = subprocess.run(
        [CHROMIUM, *options, page.as_uri() + state], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def shown(text: str) -> list[str]:
    """The ids of the cards on the page."""
    return re.findall(r'<article class="card" data-id="([^"]+)"', text)


def test_the_gallery_shows_its_first_page_and_no_text_of_a_model_ran(report_page: Path) -> None:  # noqa: F811
    text = dom(report_page)
    assert len(shown(text)) == 24
    assert "300 of 300 items, page 1 of 13" in text
    assert "<title>cfeval report</title>" in text
    assert "pwned'&lt;/script&gt;" in text
    assert '<img src="x"' not in text


@pytest.mark.parametrize(
    ("state", "count"),
    [
        ("#vlm=grounded", 220),
        ("#protocol=edct-bench-2026", 60),
        ("#verdict=1", 88),
        ("#verdict=moved", 12),
        ("#verdict=stood", 96),
        ("#vlm=prior&verdict=0", 36),
        ("#status=no_image", 32),
        ("#verdict=none&vlm=grounded", 24),
        ("#kind=shape", 80),
        ("#words=ZEBRA", 8),
        ("#words=zebra+item-005&vlm=prior", 1),
        ("#words=onerror&kind=shape&verdict=1", 24),
        ("#words=nothing+like+it", 0),
        ("#vlm=unknown", 300),
    ],
)
def test_filters_in_the_address_select_the_items(report_page: Path, state: str, count: int) -> None:  # noqa: F811
    assert f"{count} of 300 items" in dom(report_page, state)


def test_pages_beyond_the_last_show_the_last(report_page: Path) -> None:  # noqa: F811
    text = dom(report_page, "#vlm=grounded&page=99")
    assert "page 10 of 10" in text
    assert len(shown(text)) == 4


def test_all_that_was_done_with_an_item_stands_side_by_side(report_page: Path) -> None:  # noqa: F811
    assert shown(dom(report_page))[:15] == ["item-000"] * 7 + ["item-001"] * 8


@pytest.mark.parametrize(
    ("protocol", "chips"),
    [
        ("edct-2025", ["holds CCS 1", "holds PCS 1", "holds NCC 1"]),
        ("edct-bench-2026", ["holds CCS 1", "holds AC 1", "holds EF 1", "plain graded 0.75"] * 2),
        ("null-edit", ["fails answer moved", "holds explanation stood"]),
    ],
)
def test_a_card_shows_the_scores_of_its_protocol(report_page: Path, protocol: str, chips: list[str]) -> None:  # noqa: F811
    text = dom(report_page, f"#words=item-001&vlm=grounded&protocol={protocol}").split('<div id="cards"')[1]
    found = re.findall(r'<span class="chip (\w+)">([^<]*)</span>', text.split("<script")[0])
    assert [" ".join(chip) for chip in found] == chips


def test_pictures_load_from_the_file_system_and_small_ones_stay_sharp(report_page: Path) -> None:  # noqa: F811
    images = re.findall(r"<img [^>]*>", dom(report_page))
    assert any('class="small"' in image for image in images)
