"""The page as a file: what it shows, what it does not depend on, and that it is the same each time."""

import json
import re
import shutil
import tracemalloc
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import write_csv
from cfeval.edct import edit_cost
from cfeval.edct.asked import AskedReport
from cfeval.edct.edit_cost import costs, edits_of
from cfeval.edct.files import ConditionFiles
from cfeval.edct.tables.calibration import CalibrationRow
from cfeval.inference.remote.images import origin
from cfeval.report.pack import pack
from tests.conftest import Run
from tests.edct.report import study
from tests.edct.report.conftest import make_report
from tests.edct.report.study import CONDITIONS, ROWS, write_study
from tests.listed import OF_CONDITIONS
from tests.listed import OF_EDITS as DRAWN
from tests.told import told


class Links(HTMLParser):
    """Collects what a page links to, and the tags that are open at its end."""

    VOID = ("meta", "img", "input", "link", "br", "path", "use")

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text())
    return found


def shown(folder: Path) -> list[object]:
    """The options of the page of the made-up study in a folder, with whatever tables and figures are there."""
    asked = told(folder, AskedReport(conditions=CONDITIONS, tables=OF_CONDITIONS))
    return ["--study", asked, "--results", folder / "edct"]


def test_every_tag_is_closed_and_every_link_stays_on_this_machine(report_page: Path) -> None:
    found = parsed(report_page)
    assert found.open == []
    assert found.links
    images = [link for link in found.links if not link.startswith("#")]
    assert all((report_page.parent / unquote(link)).is_file() for link in images)
    assert {tuple(link.split("/")[:3]) for link in images} == {
        ("..", "edct", folder) for folder in ("items", "counterfactuals", "tables", "figures")
    }


def test_tables_figures_and_the_notice_of_the_test_world_are_there(report_page: Path) -> None:
    html = report_page.read_text()
    shown: tuple[str, ...] = (
        "EDCT, Table 1",
        "EDCT, Table 2",
        "EDCT-Bench 2026",
        "Trust card:",
        "Faithfulness:",
        "Controls:",
    )
    shown += ("Calibration:", "Test models:", "The instrument:")
    for text in (*shown, "Targets compared", "Where the variance", "stand for no real model", "no_image 4"):
        assert text in html
    assert "Agreement of judges" not in html  # one judge: that table has no row
    places = [html.index(f"<h3>{text}") for text in shown]
    assert places == sorted(places)
    assert html.count("<figure><svg") == 4
    assert "#1b2430" not in html.split("<figure>")[1].split("</figure>")[0]


def test_a_calibration_without_targets_has_no_section(cfeval: Run, report_page: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "edct" / "tables" / "edct_calibration.csv", CalibrationRow, [])
    assert cfeval("edct", "report", *shown(tmp_path), "--out", report_page)[0] == 0
    assert report_page.read_text().count("<figure><svg") == 3
    assert "Calibration: what" not in report_page.read_text()


def test_a_table_without_its_figure_stands_alone(cfeval: Run, report_page: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "edct" / "figures")
    assert cfeval("edct", "report", *shown(tmp_path), "--out", report_page)[0] == 0
    assert "<figure>" not in report_page.read_text()
    assert "EDCT, Table 1" in report_page.read_text()


@pytest.mark.slow
def test_neither_time_nor_place_stands_in_the_page_and_a_run_in_shards_agrees_but_for_the_places_of_images(
    finished: Path, tmp_path: Path
) -> None:
    first, second = finished / "report" / "index.html", make_report(tmp_path, shards=7)
    assert re.sub(r"/00[0-6]/", "/", second.read_text()) == first.read_text()
    assert str(finished) not in first.read_text()
    assert not re.search(r"20\d\d-\d\d-\d\d", first.read_text())
    for name in (f"edct/figures/edct_{figure}.{ending}" for figure in DRAWN for ending in ("png", "svg", "pdf")):
        assert (finished / name).read_bytes() == (tmp_path / name).read_bytes()


def test_what_the_gallery_leaves_out_is_said(cfeval: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "edct")
    out = tmp_path / "report.html"
    assert cfeval("edct", "report", *shown(tmp_path), "--per-condition", 10, "--out", out)[0] == 0
    assert f"{ROWS - 2 * 10} further items" in out.read_text()
    assert "Table 1" not in out.read_text().split("<h2>How to read this")[0]
    assert "<h2>Models" not in out.read_text()


@pytest.mark.slow
def test_what_the_gallery_leaves_out_is_not_kept_in_memory(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "CONDITIONS", CONDITIONS[:1])
    peaks, pages = [], []
    for items in (39, 40, 240):  # the first time things are loaded that stay
        monkeypatch.setattr(study, "ITEMS", items)
        write_study(tmp_path / f"{items}", shards=2)
        asked = told(tmp_path, AskedReport(conditions=CONDITIONS[:1], shards=2))
        given = ["--study", asked, "--results", tmp_path / f"{items}", "--per-condition", 10]
        tracemalloc.start()
        assert cfeval("edct", "report", *given, "--out", tmp_path / "report" / "index.html")[0] == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        pages.append((tmp_path / "report" / "index.html").stat().st_size)
    assert peaks[2] - peaks[1] < 200 * 1000
    assert abs(pages[2] - pages[1]) < 1000


def test_a_missing_file_is_one_line(cfeval: Run, tmp_path: Path) -> None:
    out = tmp_path / "index.html"
    status, _, err = cfeval("edct", "report", *shown(tmp_path), "--out", out)
    assert (status, err.count("\n"), out.exists()) == (2, 1, False)
    assert "no such file" in err


def test_what_a_verified_edit_cost_is_on_the_page(cfeval: Run, finished: Path, tmp_path: Path) -> None:
    """Every image took 2 s at 1.8 USD an hour, and costs are those of the command; without times nothing is said."""
    results, out, times = finished / "edct", tmp_path / "index.html", tmp_path / "times.jsonl"
    asked = AskedReport(conditions=CONDITIONS[:1])
    assert cfeval("edct", "report", "--study", told(tmp_path, asked), "--results", results, "--out", out)[0] == 0
    assert "What a verified edit cost" not in out.read_text()
    made = [
        json.loads(line)
        for file in (results / "counterfactuals").rglob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    images = {record["image"]["sha256"] for record in made if record["image"]}
    times.write_text("".join(f'{{"image": "{sha256}", "seconds": 2.0}}\n' for sha256 in sorted(images)))
    asked = asked.model_copy(update={"edit_times": str(times), "usd_per_gpu_hour": 1.8})
    priced = ["--study", told(tmp_path, asked), "--results", results, "--out", out]
    assert cfeval("edct", "report", *priced)[0] == 0
    page = out.read_text()
    files = {CONDITIONS[0]: ConditionFiles(results, CONDITIONS[0], 1)}
    (cost,) = costs(edits_of(files), edit_cost.noted_times(times), lambda keys: 0.0, 1.8)
    assert cost.seconds_each is not None
    assert cost.usd_each == pytest.approx(cost.seconds_each / 2000)
    said = f"{cost.verified} of {cost.edits} edits verified"
    assert f"<b>{cost.editor}</b>: {said}" in page
    assert f"each cost <b>{cost.seconds_each:.3g} s, {cost.gpu_hours_each:.2g} GPU-hours" in page
    assert f"and {cost.usd_each:.3g} USD</b>" in page
    assert cfeval("edct", "report", *priced)[0] == 0
    assert out.read_text() == page
    times.write_text('{"image": 3}\n')
    status, _, error = cfeval("edct", "report", *priced)
    assert status == 2
    assert "times.jsonl: line 1 is no time of an image" in error
    assert out.read_text() == page


# The packed report: one archive that needs nothing beside it.


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
