"""The labelling sheet in a real browser: labelled with the keyboard, saved, loaded again, imported."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.edct.labelling.records import KeyRow, Label
from tests.browser.chromium import Browser, browser
from tests.conftest import Run
from tests.edct.labelling.test_sheet import make_sheet


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "profile") as found:
        found.download_to(tmp_path / "saved")
        yield found


@pytest.fixture
def sheet(cfeval: Run, tmp_path: Path) -> Path:
    return make_sheet(cfeval, tmp_path, "--items", 3)


def begin(tab: Browser, sheet: Path, rater: str = "Äda") -> None:
    tab.open(Path(f"{sheet}.html"))
    tab.press(*rater, "Enter")
    tab.until("!document.querySelector('main').hidden")


def text(tab: Browser, name: str) -> str:
    return str(tab.value(f"document.getElementById('{name}').textContent"))


def saved(tab: Browser, folder: Path) -> Path:
    """Save with the keyboard; returns the file, which the browser may still be writing when it says so."""
    tab.press("s")
    tab.until("document.getElementById('save').classList.contains('attention') === false")
    for _ in range(500):
        if found := list(folder.glob("saved/*.json")):
            return found[0]
        tab.value("new Promise((done) => setTimeout(done, 20))")
    raise AssertionError("nothing was saved")


def label_all(tab: Browser, sheet: Path) -> None:
    """Valid with scores, invalid, and valid with what cannot be assessed."""
    first, _, third = (row.asks.split()[1:] for row in read_csv(Path(f"{sheet}.key.csv"), KeyRow))
    tab.press("1", *"103"[: len(first)], "Enter", "0", "Enter", "1", *"nnn"[: len(third)])


def test_three_items_are_labelled_with_the_keyboard_saved_loaded_and_imported(
    cfeval: Run, tab: Browser, sheet: Path, tmp_path: Path
) -> None:
    begin(tab, sheet)
    tab.press("c", *"why </script>", "Escape")
    label_all(tab, sheet)
    assert text(tab, "count") == "3 of 3 labelled"
    assert "Save the file" in text(tab, "done")
    file = saved(tab, tmp_path)
    assert file.name.startswith("labels-da-")
    content = json.loads(file.read_text())
    assert (content["rater"], content["labels"][0]["comment"]) == ("Äda", "why </script>")
    assert content["labels"][1] == {"item": 2, "edit_valid": "invalid"}

    tab.open(Path(f"{sheet}.html"))
    tab.value("localStorage.clear()")
    tab.choose_file("#load", file)
    tab.until("!document.querySelector('main').hidden")
    assert text(tab, "count") == "3 of 3 labelled"
    assert tab.value("document.getElementById('comment').value") == "why </script>"

    out = tmp_path / "labels.csv"
    given = ("--key", f"{sheet}.key.csv", "--out", out)
    assert cfeval("edct", "labels", file, *given) == (0, "Äda: 3 of 3 edits\n", "")
    first, second, third = read_csv(out, Label)
    assert (first.edit_valid, second.edit_valid, third.edit_valid) == ("valid", "invalid", "valid")
    assert first.comment == "why </script>"
    assert {*third.answered().values()} - {"valid"} == {"not_assessable"}
    assert second.answered() == {"edit_valid": "invalid"}


def test_what_the_model_said_is_shown_only_once_the_edit_is_labelled(tab: Browser, sheet: Path) -> None:
    begin(tab, sheet)
    assert text(tab, "new-answer") == ""
    assert tab.value("document.querySelectorAll('fieldset').length") == 1
    tab.press("1")
    assert text(tab, "new-answer").startswith("new q")
    assert tab.value("document.querySelectorAll('fieldset').length") > 1
    tab.press("Delete")
    tab.value("document.querySelector('[value=invalid]').click()")
    assert text(tab, "new-answer") == ""
    assert tab.value("[...document.querySelectorAll('fieldset')].slice(1).every((one) => one.disabled)")


def test_no_text_of_a_model_ran_or_became_markup(cfeval: Run, tab: Browser, tmp_path: Path) -> None:
    everything = make_sheet(cfeval, tmp_path)
    begin(tab, everything)
    for _ in read_csv(Path(f"{everything}.key.csv"), KeyRow):
        tab.press("1", "Tab")
        tab.value("document.getElementById('next').click()")
    assert tab.value("document.title") == "Labelling sheet"
    assert tab.value("document.querySelectorAll('img[onerror], article script').length") == 0


def test_the_browser_keeps_each_persons_labels_apart(tab: Browser, sheet: Path) -> None:
    begin(tab, sheet, "one")
    tab.press("0")
    begin(tab, sheet, "two")
    assert text(tab, "count") == "0 of 3 labelled"
    begin(tab, sheet, "ONE")
    assert text(tab, "count") == "1 of 3 labelled"
    assert text(tab, "kept") == "kept in this browser"


def test_it_works_where_the_browser_keeps_nothing(tab: Browser, sheet: Path, tmp_path: Path) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    tab("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    begin(tab, sheet)
    tab.press("0")
    assert "keeps nothing" in text(tab, "kept")
    assert len(json.loads(saved(tab, tmp_path).read_text())["labels"]) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sheet": "0" * 64}, "another sheet"),
        ({"format": "something"}, "no file of saved labels"),
        ({"labels": [{"item": 9}]}, "an item that is not on this sheet"),
        ({"rater": " "}, "whose labels"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_words(
    tab: Browser, sheet: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    [first, *_] = read_csv(Path(f"{sheet}.key.csv"), KeyRow)
    content = {"format": "cfeval-labels-1", "sheet": first.sheet, "rater": "x", "labels": []}
    (tmp_path / "x.json").write_text(json.dumps({**content, **change}))
    tab.open(Path(f"{sheet}.html"))
    tab.choose_file("#load", tmp_path / "x.json")
    tab.until("!document.getElementById('fault').hidden")
    assert said in text(tab, "fault")
    assert tab.value("document.querySelector('main').hidden")


def test_images_are_enlarged_and_flipped_in_place(tab: Browser, sheet: Path) -> None:
    begin(tab, sheet)
    tab.press("z")
    edited = tab.value("document.getElementById('large').src")
    tab.press(" ")
    assert tab.value("document.getElementById('large').src") != edited
    assert text(tab, "shown") == "Original"
    tab.press("+", "+")
    assert text(tab, "scale") == "4 ×"
    tab.press("Escape")
    assert not tab.value("document.getElementById('zoom').open")
    assert text(tab, "count") == "0 of 3 labelled"


def test_keys_do_nothing_in_a_comment_or_once_they_are_switched_off(tab: Browser, sheet: Path) -> None:
    begin(tab, sheet)
    tab.press("c", *"10ns")
    assert text(tab, "count") == "0 of 3 labelled"
    tab.press("Escape")
    tab.value("document.getElementById('keys').click()")
    tab.press("0")
    assert text(tab, "count") == "0 of 3 labelled"
    tab.press(" ", "ArrowRight")
    assert text(tab, "count") == "1 of 3 labelled", "the browser's own keys still answer: valid, then invalid"
