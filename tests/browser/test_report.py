"""The report in a real browser, as `make test-browser` runs it."""

import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfeval.report.pack import pack
from tests.browser.chromium import Browser, browser
from tests.edct.report.conftest import finished, make_report, report_page  # noqa: F401
from tests.edct.report.study import HOSTILE

READY = "document.documentElement && document.documentElement.dataset.ready === '1'"
COUNT = "document.querySelector('.count').textContent"
IDS = "[...document.querySelectorAll('article.row')].map((row) => row.dataset.id)"
OPEN = "document.querySelector('.row.open')"


@pytest.fixture(scope="module")
def page(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The page, away from the others that tests write to."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this module."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened("Runtime.enable")
        opened("Log.enable")
        yield opened


def show(tab: Browser, page: Path, state: str = "") -> None:
    """Open the page anew, with what stands behind its address."""
    tab("Page.navigate", url="about:blank")
    tab.until("location.protocol === 'about:'")
    tab("Page.navigate", url=page.as_uri() + state)
    tab.until(f"location.protocol === 'file:' && document.readyState === 'complete' && {READY}")


def test_no_text_of_a_model_ran_and_nothing_was_asked_of_another_host(tab: Browser, page: Path) -> None:
    tab.events.clear()
    show(tab, page, "#view=0&item=item-001")
    said = [one for one in tab.events if one["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert said == []
    assert tab.value("document.title") == "Do three models use what they say they use? · cfeval report"
    assert HOSTILE in tab.value(f"{OPEN}.querySelector('.exp').textContent")
    sources = tab.value("[...document.querySelectorAll('[src], link')].map((one) => one.src || one.href)")
    assert {source.split(":")[0] for source in sources} == {"file"}
    refused = "new Promise((told) => { addEventListener('securitypolicyviolation', (event) => told(event.blockedURI)); "
    assert tab.value(refused + "fetch('https://elsewhere.test/x').catch(() => 0); })") == "https://elsewhere.test/x"


@pytest.mark.parametrize(
    ("state", "count"),
    [
        ("", "40 of 40"),
        ("#view=1", "40 of 40"),
        ("#view=0&model=grounded&show=one", "36 of 40"),
        ("#view=0&model=prior&score=0", "36 of 40"),
        ("#view=0&show=missing", "4 of 40"),
        ("#view=0&ok=1", "40 of 40"),
        ("#view=0&ok=0", "0 of 40"),
        ("#view=0&words=ZEBRA", "1 of 40"),
        ("#view=0&words=zebra+item-006", "0 of 40"),
        ("#view=0&split=1", "0 of 40"),
        ("#view=0&model=nobody", "40 of 40"),
        ("#view=9", "40 of 40"),
    ],
)
def test_filters_in_the_address_select_the_items(tab: Browser, page: Path, state: str, count: str) -> None:
    show(tab, page, state)
    assert tab.value(COUNT) == f"{count} items"


def test_filters_search_and_sort_by_hand_are_kept_in_the_address(tab: Browser, page: Path) -> None:
    show(tab, page)
    for name, value in (("model", "grounded"), ("sort", "spread")):
        field = f"document.querySelector('select[name={name}]')"
        tab.value(f"{field}.value = '{value}'; {field}.dispatchEvent(new Event('change'))")
    tab.value("document.querySelector('input[type=search]').focus()")
    tab.press(*"zebra")
    assert tab.value(COUNT) == "1 of 40 items"
    assert tab.value("location.hash") == "#view=0&model=grounded&sort=spread&words=zebra"


def test_items_that_models_answer_differently_can_come_first(tab: Browser, page: Path) -> None:
    show(tab, page, "#view=0&sort=spread")
    assert tab.value(IDS)[-4:] == ["item-007", "item-017", "item-027", "item-037"]


def test_a_link_opens_its_item_with_every_model_its_verdicts_and_controls(tab: Browser, page: Path) -> None:
    show(tab, page, "#view=0&item=item-011")
    assert tab.value(f"{OPEN}.dataset.id") == "item-011"
    assert tab.value(f"[...{OPEN}.querySelectorAll('.mod h4')].map((head) => head.firstChild.data)") == [
        "grounded",
        "prior",
        "confabulating",
    ]
    assert tab.value(f"{OPEN}.querySelector('.jd').innerText.split('\\n')[0].split('\\t')") == [
        "Judge",
        "PCS",
        "NCC",
    ]
    assert tab.value(f"{OPEN}.querySelector('.jd .why .exp').textContent") == f"Because {HOSTILE}"
    assert tab.value(f"{OPEN}.querySelectorAll('.ctl li').length") == 4
    assert "Edit verified" in tab.value(f"{OPEN}.querySelector('.meta').textContent")


def test_the_slider_shows_more_or_less_of_the_counterfactual_image(tab: Browser, page: Path) -> None:
    show(tab, page, "#view=0&item=item-002")
    tab.value(f"{OPEN}.querySelector('input[type=range]').focus()")
    before = tab.value(f"{OPEN}.querySelector('.over').style.clipPath")
    tab.press("ArrowRight")
    after = tab.value(f"{OPEN}.querySelector('.over').style.clipPath")
    assert (before, after) == ("inset(0px 0px 0px 50%)", "inset(0px 0px 0px 51%)")


def test_words_that_changed_and_words_of_the_cited_concept_are_marked(tab: Browser, page: Path) -> None:
    show(tab, page)
    changed = tab.value("changedWords('it is a red star', 'it is a blue star')")
    cited = tab.value("citedWords('the red color of the star', ['red color of the star'])")
    assert changed == [False, False, False, True, False]
    assert cited == [False, True, True, False, False, True]


def test_the_keyboard_walks_opens_enlarges_and_searches(tab: Browser, page: Path) -> None:
    show(tab, page)
    tab.press("j", "j", "Enter")
    assert tab.value(f"{OPEN}.dataset.id") == "item-001"
    tab.press("l")
    assert tab.value("document.querySelector('#box').open")
    tab.press("Escape")
    tab.press("Escape")
    assert tab.value(f"{OPEN}") is None
    tab.press("/")
    assert tab.value("document.activeElement.type") == "search"
    tab.press("Escape", "?")
    assert tab.value("document.querySelector('#keys').open")


def test_every_image_loads_and_small_ones_stay_sharp(tab: Browser, page: Path) -> None:
    show(tab, page, "#view=0&item=item-000")
    tab.until("[...document.images].filter((image) => image.closest('.open')).every((image) => image.naturalWidth > 0)")
    assert tab.value("document.querySelectorAll('img.small').length")


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_the_page_is_no_wider_than_the_screen(tab: Browser, page: Path, width: int) -> None:
    tab("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    show(tab, page, "#view=0&item=item-001")
    assert tab.value("document.documentElement.scrollWidth") <= width
    tab("Emulation.setDeviceMetricsOverride", width=1366, height=768, deviceScaleFactor=1, mobile=False)


def test_print_has_no_sideways_scroll_and_no_controls(tab: Browser, page: Path) -> None:
    show(tab, page)
    tab("Emulation.setEmulatedMedia", media="print")
    tab("Emulation.setDeviceMetricsOverride", width=688, height=1000, deviceScaleFactor=1, mobile=False)  # A4 in pixels
    assert tab.value("document.documentElement.scrollWidth") <= 688
    assert tab.value("getComputedStyle(document.querySelector('.filters')).display") == "none"
    tab("Emulation.setEmulatedMedia", media="")
    tab("Emulation.setDeviceMetricsOverride", width=1366, height=768, deviceScaleFactor=1, mobile=False)


def test_a_packed_copy_elsewhere_has_no_broken_image_and_compares_pixels(
    tab: Browser, page: Path, tmp_path: Path
) -> None:
    pack(page, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extractall(tmp_path / "elsewhere")
    show(tab, tmp_path / "elsewhere/report.html", "#view=0&item=item-004")
    tab.value("[...document.images].forEach((image) => { image.loading = 'eager'; })")
    tab.until("[...document.images].every((image) => image.complete)")
    assert tab.value("[...document.images].filter((image) => !image.naturalWidth).length") == 0
    tab.value(f"[...{OPEN}.querySelectorAll('.modes button')].find((one) => one.textContent === 'Difference').click()")
    tab.until(f"{OPEN}.querySelector('canvas')")
    assert tab.value(f"{OPEN}.querySelector('.cmp .cap').textContent") == "0.0 % of the pixels changed"


def many(page: Path, times: int) -> str:
    """The page with so many times its first view's items."""
    html = page.read_text()
    [chunk, *_] = re.findall(r'<script type="application/json" class="rows" data-view="0">.*?</script>', html)
    copies = [re.sub(r'"id":"item-', f'"id":"{n}-', chunk) for n in range(times)]
    return html.replace(chunk, "\n".join(copies))


def test_of_five_thousand_items_the_first_screen_is_small_and_few_are_drawn(tab: Browser, page: Path) -> None:
    whole = page.with_name("many.html")
    whole.write_text(many(page, 125))
    assert whole.read_bytes().index(b'id="about"') < 1_000_000  # the items come after it
    show(tab, whole)
    assert tab.value(COUNT) == "5000 of 5000 items"
    assert 0 < tab.value("document.querySelectorAll('article.row').length") <= 180
    tab.value("state.words = 'zebra'; changed()")
    assert tab.value(COUNT) == "125 of 5000 items"


@pytest.fixture(scope="module")
def partial(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that holds a part of its items."""
    folder = tmp_path_factory.mktemp("partial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cfeval.report.gallery.PAGE_BYTES", 60_000)
        patch.setattr("cfeval.report.gallery.FILE_BYTES", 20_000)
        return make_report(folder)


HELD = "Number(document.querySelector('.count').textContent.split('(')[1].split(' ')[0])"
MORE = "document.querySelector('button.more')"


def test_items_beside_the_page_are_loaded_when_asked_for(tab: Browser, partial: Path) -> None:
    tab.events.clear()
    show(tab, partial)
    held = tab.value(HELD)
    assert 0 < held < 40
    assert tab.value(f"{MORE}.textContent") == f"Load {40 - held} more"
    tab.value(f"{MORE}.click()")
    tab.until(f"{COUNT} === '40 of 40 items'")
    assert tab.value(MORE) is None
    tab.value("window.scrollTo(0, 1e6)")
    tab.until("document.querySelectorAll('article.row').length === 40")
    assert tab.value(IDS) == [f"item-{number:03d}" for number in range(40)]
    tab.until("[...document.querySelectorAll('article.row img')].every((one) => one.getAttribute('src'))")
    said = [one for one in tab.events if one["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert said == []


def test_a_link_to_an_item_beside_the_page_opens_it(tab: Browser, partial: Path) -> None:
    show(tab, partial)
    here = set(tab.value(IDS))
    item = next(f"item-{number:03d}" for number in range(40) if f"item-{number:03d}" not in here)
    show(tab, partial, f"#view=0&item={item}")
    tab.until(f"{OPEN} !== null")
    assert tab.value(f"{OPEN}.dataset.id") == item


def test_a_packed_report_loads_the_items_beside_it(tab: Browser, partial: Path, tmp_path: Path) -> None:
    pack(partial, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extractall(tmp_path)
    show(tab, tmp_path / "report.html")
    tab.value(f"{MORE}.click()")
    tab.until(f"{COUNT} === '40 of 40 items'")


def test_items_that_are_missing_are_told_of(tab: Browser, partial: Path, tmp_path: Path) -> None:
    lonely = tmp_path / "index.html"
    lonely.write_text(partial.read_text())
    show(tab, lonely)
    tab.value(f"{MORE}.click()")
    tab.until(f"{MORE}.textContent.includes('must lie beside this page')")
