"""The page of vce: how counterfactuals end, the hypotheses as a figure, and files that another machine opens."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.report.pack import pack
from cfeval.vce.report.page import finding
from tests.conftest import Run
from tests.edct.report.test_page import parsed
from tests.vce.report.study import CLASSIFIERS, PARTS, SEEN, SOURCES, make_report


def rows(html: str, view: int = 0) -> list[dict[str, Any]]:
    """The rows of a view."""
    chunks = re.findall(rf'class="rows" data-view="{view}">(.*?)</script>', html)
    return [row for chunk in chunks for row in json.loads(chunk)]


@pytest.fixture
def page(cfeval: Run, tmp_path: Path) -> Path:
    return make_report(cfeval, tmp_path)


def test_an_item_has_every_classifier_and_says_how_its_counterfactual_ends(page: Path) -> None:
    found = rows(page.read_text())
    assert [row["id"] for row in found] == [f"cat-{number:04d} to fox" for number in range(SOURCES)]
    assert all(tuple(row["m"]) == CLASSIFIERS for row in found)
    assert [row["m"]["plain"]["o"] for row in found] == ["valid", "alone", "not", "taken", "missing", "valid"]
    assert found[4]["m"]["plain"]["t"] == [
        {"status": "no image", "stage": "counterfactuals", "why": "the sampler diverged"}
    ]
    [turn] = found[1]["m"]["robust"]["t"]
    assert (turn["says"], turn["before"], turn["pt"], turn["d"]) == ("fox", "cat", 0.75, {"lpips": 0.125})
    assert list(turn["oracles"].values()) == list(SEEN[1][1])


def test_a_view_is_a_method_and_its_rows_do_not_depend_on_the_sharding(cfeval: Run, page: Path, tmp_path: Path) -> None:
    html = page.read_text()
    about = json.loads(re.findall(r'id="about">(.*?)</script>', html)[0])
    assert [view["title"] for view in about["views"]] == ["photos · ddpm · base", "photos · ddpm · no-cone"]
    cut = rows(make_report(cfeval, tmp_path / "cut", shards=3).read_text())
    without_images = [re.sub(r'"img": \d+', "", json.dumps(found)) for found in (rows(html), cut)]
    assert without_images[0] == without_images[1]


def test_hypotheses_are_a_figure_each_with_its_bar_and_verdict(page: Path) -> None:
    html = page.read_text()
    assert finding(PARTS) == (
        "Supported: H1; not supported: H2; undecided: H3. No test rests on more than 6 units (source images)."
    )
    assert finding(PARTS) in html
    assert re.findall(r'class="verdict">.*?<b>([^<]*)</b>', html) == ["Supported", "Not supported", "Undecided"]
    assert 'aria-label="H1, valid: 0.90, 0.80 to 1.00; bar 0.50"' in html
    shaded = re.findall(r'<rect class="good" x="([\d.]+)"', html)
    assert shaded == ["110.0", "6.0"], "above the bar where that is supported, below it where it is not"


def test_without_a_test_the_page_says_so() -> None:
    assert finding([]).startswith("No hypothesis was tested: params.yaml names no base method")


def test_every_tag_is_closed_no_text_becomes_markup_and_the_pack_needs_nothing_beside(
    page: Path, tmp_path: Path
) -> None:
    found = parsed(page)
    assert found.open == []
    links = [link for link in found.links if not link.startswith("#")]
    assert links
    assert all((page.parent / link).is_file() for link in links)
    assert "<img src=x" not in page.read_text()
    images = json.loads(re.findall(r'id="about">(.*?)</script>', page.read_text())[0])["images"]
    assert pack(page, tmp_path / "out.zip") == len(images) == SOURCES + (SOURCES - 1) * 4
