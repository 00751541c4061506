"""Every page of cfeval as users have it, in a real browser: nothing is cut off, and nobody is shut out.

The study of `edct` has photographs, texts of several paragraphs in many scripts, long names, and all that goes wrong.
"""

import base64
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cfeval import cli
from cfeval.report.gallery import gallery_of
from cfeval.report.html import Images
from cfeval.report.pack import pack
from cfeval.report.page import page_of, sections_of
from tests.browser.axe import violations
from tests.browser.chromium import Browser, browser
from tests.browser.test_report import OPEN, READY
from tests.cvqa.report import study as cvqa
from tests.edct.report import field
from tests.listed import FIGURES, TABLES
from tests.study.test_diff import project  # noqa: F401
from tests.vce.report import study as vce

WIDTHS = (1440, 820, 390)
NAMES = ("edct", "packed", "vce", "cvqa", "diff")
WIDE = """(() => { const wide = document.documentElement.clientWidth;
  return [...document.querySelectorAll("main *")].filter((one) => !one.closest(".scroll, .sr, details:not([open])")
    && one.getBoundingClientRect().right > wide + 1).map((one) => one.outerHTML.slice(0, 150)); })()"""
"""What is beyond the right edge of the screen, but for tables that have a scroll bar of their own."""
CUT = """[...document.querySelectorAll(".row.open *, table.main *, .card *, .panel *")].filter((one) =>
  !one.closest(".long, .sr, .stage, svg, .nopic") && getComputedStyle(one).overflow !== "visible"
  && getComputedStyle(one).clipPath === "none"
  && one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 150))"""

FOLDED = "[...document.querySelectorAll('.long')]"
SCROLLED = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth)"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Shown:
    """A page, and an item of it to open."""

    path: Path
    item: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """What stands behind its address: nothing, and the item."""
        return ("", f"#view=0&item={self.item}") if self.item else ("",)


def run(*arguments: object) -> tuple[int, str, str]:
    """The command line in this process."""
    return cli.run([str(one) for one in arguments]), "", ""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, project: Path) -> dict[str, Shown]:  # noqa: F811
    """The pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    edct = field.make_report(folder / "study")
    pack(edct, folder / "out.zip")
    with zipfile.ZipFile(folder / "out.zip") as archive:
        archive.extractall(folder / "elsewhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert run("diff", "one", "two", "--page", folder / "diff.html")[0] == 0
    return {
        "edct": Shown(edct, field.names()[0]),
        "packed": Shown(folder / "elsewhere/report.html", field.names()[5]),
        "vce": Shown(vce.make_report(run, folder), "cat-0001+to+fox"),
        "cvqa": Shown(cvqa.make_report(run, folder), "pair-3"),
        "diff": Shown(folder / "diff.html"),
    }


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def show(tab: Browser, page: Path, state: str = "", width: int = 1440, **media: str) -> None:
    """Open a page in a window of so many by 900 pixels; `media` names features of CSS, as `prefers_color_scheme`."""
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
    tab("Emulation.setEmulatedMedia", media="", features=features)
    tab("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    tab("Page.navigate", url="about:blank")
    tab.until("location.protocol === 'about:'")
    tab("Page.navigate", url=page.as_uri() + state)
    ready = f"({READY} || !document.querySelector('#gallery'))"
    tab.until(f"location.protocol === 'file:' && document.readyState === 'complete' && {ready}")
    tab.value("document.querySelectorAll('.row.open details').forEach((one) => { one.open = true; })")


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_in_the_light_or_the_dark_on_a_desk_or_a_phone(
    tab: Browser, pages: dict[str, Shown], name: str
) -> None:
    for scheme in ("light", "dark"):
        for width in (1440, 390):
            show(tab, pages[name].path, pages[name].states[-1], width, prefers_color_scheme=scheme)
            assert violations(tab) == [], (scheme, width)


def test_axe_finds_what_is_wrong(tab: Browser, tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><html><body style='background: #fff'><main><img src='x.png'><p style='color: #ccc'>gray"
    )
    tab("Page.navigate", url=page.as_uri())
    tab.until("location.protocol === 'file:' && document.readyState === 'complete'")
    assert {one.split(":")[0] for one in violations(tab)} >= {
        "color-contrast",
        "document-title",
        "html-has-lang",
        "image-alt",
    }


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_or_beyond_the_edge(tab: Browser, pages: dict[str, Shown], name: str) -> None:
    for state in pages[name].states:
        for width in WIDTHS:
            show(tab, pages[name].path, state, width)
            assert tab.value(WIDE) == [], (state, width)
            assert tab.value(CUT) == [], (state, width)
            assert tab.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("name", NAMES)
def test_sentences_in_tables_are_not_set_a_word_a_line_on_a_phone(
    tab: Browser, pages: dict[str, Shown], name: str
) -> None:
    show(tab, pages[name].path, width=390)
    told = "one.innerText.slice(0, 60)"
    narrow = f"""[...document.querySelectorAll('.figures td, .figures caption')].filter((one) =>
      one.innerText.length > 40 && one.clientWidth < 150).map((one) => {told})"""
    assert tab.value(narrow) == []
    beyond = f"""[...document.querySelectorAll('.figures caption')].filter((one) =>
      one.getBoundingClientRect().right > document.documentElement.clientWidth).map((one) => {told})"""
    assert tab.value(beyond) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_table_on_a_desk_needs_a_scroll_bar(tab: Browser, pages: dict[str, Shown], name: str) -> None:
    show(tab, pages[name].path)
    assert tab.value(f"{SCROLLED}.map((one) => one.ariaLabel)") == []


@pytest.mark.parametrize("study", TABLES)
def test_no_table_of_the_default_study_needs_one_either(tab: Browser, tmp_path: Path, study: str) -> None:
    folders = (ROOT / f"results/{study}/tables", None)
    sections = list(sections_of(study, (TABLES[study], FIGURES[study]), list(TABLES[study]), folders, tmp_path))
    empty = dict.fromkeys(("kicker", "finding", "caveat", "caption", "about_items"), "")
    gallery, of = gallery_of([], Images(tmp_path), tmp_path / "page.html"), {"headings": (), "rows": (), "reading": ()}
    html = page_of("study.html.j2", "item.js", "Tables", sections, gallery, {}, **empty, **of)
    (tmp_path / "page.html").write_text(html)
    show(tab, tmp_path / "page.html")
    assert tab.value("document.querySelectorAll('.scroll').length") == len(sections) > 1
    assert tab.value(f"{SCROLLED}.map((one) => one.ariaLabel)") == []


@pytest.mark.parametrize("name", ["edct", "cvqa"])
def test_the_first_number_is_on_the_first_screen(tab: Browser, pages: dict[str, Shown], name: str) -> None:
    show(tab, pages[name].path)
    first = tab.value(
        "[...document.querySelectorAll('table.main .n b')].map((one) => one.getBoundingClientRect().bottom)"
    )
    assert first
    assert first[0] < 900


def test_paragraphs_lists_and_scripts_of_an_explanation_are_kept(tab: Browser, pages: dict[str, Shown]) -> None:
    show(tab, pages["edct"].path, f"#view=0&item={field.names()[0]}")
    said = f"{OPEN}.querySelector('.mod .exp')"
    assert tab.value(f"{said}.textContent") == field.LONG
    assert tab.value(f"{said}.innerText.split('\\n').length") == len(field.LONG.split("\n"))
    show(tab, pages["edct"].path, f"#view=0&item={field.names()[2]}")
    assert tab.value(f"getComputedStyle({said}).direction") == "rtl"
    show(tab, pages["edct"].path, f"#view=0&item={field.names()[4]}")
    assert tab.value(f"{said}.textContent") == field.TEXTS[4]
    assert tab.value(f"{said}.querySelectorAll('img, a, b').length") == 0


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (3, "refused: baselines: I'm sorry"),
        (5, "truncated: baselines: the reply reached max_tokens"),
        (7, "no image: counterfactuals: the gate rejected 2 attempts"),
        (8, "moderated: counterfactuals: the provider's filter"),
        (10, "unparsable: verdicts: no verdict in the reply"),
        (11, "Not in the image: tram rails in the paving"),
    ],
)
def test_what_went_wrong_is_said_where_the_score_would_be(
    tab: Browser, pages: dict[str, Shown], number: int, said: str
) -> None:
    show(tab, pages["edct"].path, f"#view=0&item={field.names()[number]}")
    assert said in tab.value(f"[...{OPEN}.querySelectorAll('.mod')].map((one) => one.innerText).join('\\n')")


def test_in_print_pages_hold_every_table_and_opened_texts_whole(tab: Browser, pages: dict[str, Shown]) -> None:
    for name, shown in pages.items():
        show(tab, shown.path, shown.states[-1])
        tab("Emulation.setEmulatedMedia", media="print")
        tab("Emulation.setDeviceMetricsOverride", width=688, height=1000, deviceScaleFactor=1, mobile=False)  # A4
        assert tab.value(WIDE.replace(".scroll, ", "")) == [], name
        assert tab.value(f"{FOLDED}.filter((one) => one.scrollHeight > one.clientHeight + 1).length") == 0
    show(tab, pages["edct"].path, pages["edct"].states[-1])
    pdf = base64.b64decode(tab("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert {tuple(map(round, map(float, box.split()[2:]))) for box in re.findall(rb"/MediaBox \[([^\]]*)\]", pdf)} == {
        (595, 842)
    }


@pytest.mark.parametrize(("width", "most"), [(1440, 900), (390, 1800)])
def test_the_answer_and_four_examples_of_it_are_on_the_first_screens_of_vce(
    tab: Browser, pages: dict[str, Shown], width: int, most: int
) -> None:
    show(tab, pages["vce"].path, width=width)
    assert tab.value("document.querySelector('.finding').getBoundingClientRect().bottom") < 900
    tops = tab.value("[...document.querySelectorAll('.shots img')].map((one) => one.getBoundingClientRect().top)")
    assert len(tops) == 12
    assert tops[0] < 900
    assert max(tops) < most
    tab.value("document.querySelector('.shots a').click()")
    tab.until("document.querySelector('.row.open')")
