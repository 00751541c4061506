"""The page of vce: how counterfactuals end, the hypotheses as a figure, and files that another machine opens."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.config import Params
from cfeval.report.pack import pack
from cfeval.study.summary import outcomes
from cfeval.vce.asked import AskedReport
from cfeval.vce.report.page import NO_ANSWER, finding, write
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


def test_claims_with_data_stand_after_the_tables_each_before_its_name(page: Path) -> None:
    html = page.read_text()
    said = (
        "Of 3 claims that this study has data for, 1 is supported, 1 is not supported, 1 is undecided; no test rests "
        "on more than 6 units (source images)."
    )
    assert finding(PARTS[:3]) == said
    assert html.index('id="tables"') < html.index('id="hypotheses"') < html.index(said) < html.index('id="items"')
    assert re.findall(r'class="claim">([^<]*)<i>([^<]*)</i>', html) == [
        ("Valid is so", "H1, valid"),
        ("No change is so", "H2, no change"),
        ("Cone is so", "H3, cone"),
    ]
    assert re.findall(r'class="verdict">.*?<b>([^<]*)</b>', html) == ["Supported", "Not supported", "Undecided"]
    assert 'aria-label="H1, valid: 0.90, 0.80 to 1.00; bar 0.50"' in html
    shaded = re.findall(r'<rect class="good" x="([\d.]+)"', html)
    assert shaded == ["110.0", "6.0"], "above the bar where that is supported, below it where it is not"


def test_the_page_opens_with_the_sentence_of_the_command_line_and_examples_of_it(page: Path) -> None:
    html = page.read_text()
    [params] = [Params.model_construct(edct=None, vce=object(), cvqa=None)]
    [console, *_] = outcomes(params, str(page.parents[2]))
    [first] = re.findall(r'<p class="finding">(.*?)</p>', html)
    assert first == (
        "Of 6 counterfactuals for 2 classifiers by base, 2 are valid (the classifier and most oracles see the target "
        "class), 0 are seen by the classifier alone (adversarial), 2 are not valid and 2 have no result."
    )
    assert console.startswith(first)
    found = parsed(page)
    examples = re.findall(r'<li>\s*<p class="o">.*?<b>([^<]*)</b>', html)
    assert examples == ["Valid", "Valid", "Not valid", "Not valid"]
    assert html.index('class="shots"') < html.index('class="ends"') < html.index('id="tables"')
    assert html.count('alt="before: ') == html.count('alt="after: ') == html.count('alt="change: ') == 4
    assert found.open == []


def test_without_a_score_the_page_says_so(tmp_path: Path) -> None:
    write(AskedReport(), tmp_path / "report/index.html", tmp_path)
    html = (tmp_path / "report/index.html").read_text()
    assert f'<p class="finding">{NO_ANSWER}</p>' in html
    assert 'class="shots"' not in html
    assert 'id="hypotheses"' not in html


def test_every_tag_is_closed_no_text_becomes_markup_and_the_pack_needs_nothing_beside(
    page: Path, tmp_path: Path
) -> None:
    found = parsed(page)
    assert found.open == []
    drawn = {link for link in found.links if link.startswith("data:")}
    links = [link for link in found.links if not link.startswith("#") and link not in drawn]
    assert links
    assert all((page.parent / link).is_file() for link in links)
    assert "<img src=x" not in page.read_text()
    images = json.loads(re.findall(r'id="about">(.*?)</script>', page.read_text())[0])["images"]
    assert pack(page, tmp_path / "out.zip") == len(images) + len(drawn)
    assert len(images) == SOURCES + (SOURCES - 1) * 4
