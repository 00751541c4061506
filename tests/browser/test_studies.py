"""The pages of vce and cvqa in a real browser, as `make test-browser` runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, browser
from tests.browser.test_report import COUNT, IDS, OPEN, show
from tests.conftest import Run
from tests.cvqa.report import study as cvqa
from tests.edct.report.study import HOSTILE
from tests.vce.report import study as vce


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened("Runtime.enable")
        opened("Log.enable")
        yield opened


def faults(tab: Browser) -> list[str]:
    """What the console and the policy complained of."""
    return [one["method"] for one in tab.events if one["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]


def test_one_slider_compares_an_image_under_all_classifiers(cfeval: Run, tab: Browser, tmp_path: Path) -> None:
    page = vce.make_report(cfeval, tmp_path)
    tab.events.clear()
    show(tab, page, "#view=0&item=cat-0001+to+fox")
    assert tab.value(f"[...{OPEN}.querySelectorAll('.mod')].map((one) => one.ariaLabel)") == ["plain", "robust"]
    tab.value(f"{OPEN}.querySelector('input[type=range]').focus()")
    tab.press("ArrowRight")
    clipped = f"[...{OPEN}.querySelectorAll('.over')].map((one) => one.style.clipPath)"
    assert tab.value(clipped) == ["inset(0px 0px 0px 51%)"] * 2
    show(tab, page, "#view=0&show=alone")
    assert tab.value(COUNT) == "1 of 6 items"
    show(tab, page, "#view=0&pair=other&split=1")
    assert tab.value(IDS) == ["cat-0001 to fox", "cat-0005 to fox"]
    assert faults(tab) == []


def test_wrong_answers_come_first_with_replies_as_text_and_programs(cfeval: Run, tab: Browser, tmp_path: Path) -> None:
    page = cvqa.make_report(cfeval, tmp_path)
    tab.events.clear()
    show(tab, page, "#view=0&item=pair-3")
    assert tab.value(IDS)[:2] == ["pair-3", "pair-1"]
    assert tab.value(f"{OPEN}.querySelector('.mod .exp').textContent") == HOSTILE
    said = tab.value(f"{OPEN}.querySelector('.prog summary').textContent")
    assert said == "Program, failed: line 2: it took too long"
    assert tab.value(f"{OPEN}.querySelectorAll('.prog')[0].querySelectorAll('li').length") == 21
    assert tab.value(f"{OPEN}.querySelector('.ask ins').textContent") == "would be"
    show(tab, page, "#view=0&side=original")
    assert tab.value(IDS) == ["pair-3", "pair-2"]
    assert tab.value("document.title") == "Are the answers still right if something were different? · cfeval report"
    assert faults(tab) == []


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_neither_page_is_wider_than_the_screen(cfeval: Run, tab: Browser, tmp_path: Path, width: int) -> None:
    tab("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    for page, item in (
        (vce.make_report(cfeval, tmp_path), "cat-0000+to+fox"),
        (cvqa.make_report(cfeval, tmp_path), "pair-3"),
    ):
        show(tab, page, f"#view=0&item={item}")
        assert tab.value("document.documentElement.scrollWidth") <= width
