"""No conclusion without checks: an always-yes judge and a blind model, through the command line; and each check."""

import re
from pathlib import Path

import pytest

from cfeval.edct.asked import AskedReport, AskedTable, AskedTables
from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.records import Baseline, Check, Condition, Requery, Score
from cfeval.edct.report.finding import lines
from cfeval.edct.tables.calibration import InstrumentRow
from cfeval.edct.tables.card import card_rows
from cfeval.edct.tables.faithfulness import faithfulness_rows
from cfeval.stats.proportions import Share
from tests.conftest import Run
from tests.edct.faithfulness.test_from_scores import many
from tests.edct.report import study
from tests.edct.report.study import write_study
from tests.edct.tables.study import GROUNDED, condition, made_of, score
from tests.images import image
from tests.told import told

ALONE = [condition(vlm="blind", judge="always-yes")]
CONTROLLED = ALONE + [one.model_copy(update={"protocol": protocol}) for one in ALONE for protocol in CONTROLS]
SAID = {"answer": "A red bicycle.", "explanation": "Because the bicycle in the image is red."}


def always_yes(item: str, edit: int, of: Condition) -> Score:
    """PCS and NCC 1; under controls nothing changes the answer."""
    if of.protocol in CONTROLS:
        evidence = ("object", "background")[edit - 1] if of.protocol == "uncited-edit" else ""
        return score(of, item, 0, 0, edit=edit, evidence=evidence, sham=1 if of.protocol == "null-edit" else None)
    return score(of, item, 1, 1, answer_moved=0, present=1)


def blind_study(
    cfeval: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, conditions: list[Condition], verified: int | None
) -> str:
    """The page of six photographs of a model whose texts never change."""

    def scored(item: str, edit: int, of: Condition) -> Score:
        return always_yes(item, edit, of).model_copy(update={"verified": verified})

    monkeypatch.setattr(study, "CONDITIONS", conditions)
    monkeypatch.setattr(study, "ITEMS", 6 if verified is None else 40)
    monkeypatch.setattr(study, "_image", lambda item: image(int(item[-3:]), size=(96, 64)))
    monkeypatch.setattr(study, "_baseline", lambda item, of: Baseline(id=item, question="?", **SAID))
    monkeypatch.setattr(study, "_requery", lambda item, edit: Requery(id=item, edit=edit, **SAID))
    monkeypatch.setattr(study, "_check", lambda item, edit: Check(id=item, edit=edit))
    monkeypatch.setattr(study, "_edits", lambda item, of: (1, 2) if of.protocol == "uncited-edit" else (1,))
    monkeypatch.setattr(study, "_score", scored)
    write_study(folder / "edct")
    of = {"table1": AskedTable(conditions=ALONE)}
    if len(conditions) > 1:
        of |= dict.fromkeys(("card", "faithfulness"), AskedTable(conditions=conditions))
    results, out = folder / "edct", folder / "report/index.html"
    given = ["--study", told(folder, AskedTables(tables=of)), "--results", results]
    assert cfeval("edct", "tables", *given, "--out", results / "tables")[0] == 0
    shown = AskedReport(conditions=conditions, tables=tuple(of))
    assert cfeval("edct", "report", "--study", told(folder, shown), "--results", results, "--out", out)[0] == 0
    return out.read_text()


def states(html: str) -> dict[str, str]:
    """What the panel says of each check."""
    return dict(re.findall(r'<p class="ch"><b>([^<]*)</b><span class="st">([^<]*)</span>', html))


def test_six_photographs_judged_by_an_always_yes_judge_have_a_red_panel_and_no_conclusion(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = blind_study(cfeval, tmp_path, monkeypatch, ALONE, None)
    assert 'class="first tone-bad"' in html
    assert "These figures are not backed" in html
    assert states(html) == {
        "Edits verified": "Not run",
        "Judge&#39;s error known": "Not run",
        "Sham edits": "Not run",
        "Noise floor": "Not run",
        "Controls": "Not run",
        "Text unchanged among those scored 1": "Fails",
    }
    assert "6 of 6 items scored 1 have the very texts that they had before the edit." in html
    assert re.findall(r'class="verdict">.*?<b>([^<]*)</b>', html) == ["Open", "Open"]
    assert "<s>1.00</s> <i>not backed</i>" in html
    assert "Nothing can be concluded about <b>blind</b>: controls not run, edits not verified." in html
    assert "CCS of 1.00 over 6 items is not backed by any check" in html
    for command in ("cfeval exam --judge always-yes", "snakemake --config edct=", "&#34;vlm&#34;: [&#34;blind&#34;]"):
        assert command in html


def test_a_blind_model_with_controls_but_unverified_edits_has_no_conclusion(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = blind_study(cfeval, tmp_path, monkeypatch, CONTROLLED, None)
    assert "tone-bad" in html
    assert states(html)["Edits verified"] == "Not run"
    assert states(html)["Sham edits"] == "Fails"
    assert set(re.findall(r'class="verdict">.*?<b>([^<]*)</b>', html)) == {"Open"}


def test_a_blind_model_with_every_check_is_not_to_be_trusted_whatever_its_judge_says(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = blind_study(cfeval, tmp_path, monkeypatch, CONTROLLED, 1)
    assert set(re.findall(r'class="verdict">.*?<b>([^<]*)</b>', html)) == {"Do not trust"}
    assert states(html)["Controls"] == "Run"
    assert "<s>1.00</s> <i>not backed</i>" in html
    assert "<b>Refuted:</b> what it cites changes the answer; looks at the image." in html


def backed(sham: int | None, exam: float | None, on_test_models: float | None, items: int = 20) -> bool:
    """Whether CCS counts on the page, by what is known of its judge's specificity."""
    exams = {} if exam is None else {"grammar": ExamError(Share(1.0, 50, 50.0), Share(exam, 50, 50.0))}
    of = made_of(many(items, sham=sham), exams=exams)
    names = {name: getattr(GROUNDED, name) for name in ("dataset", "writer", "protocol", "editor", "judge")}
    known = [] if on_test_models is None else [InstrumentRow(**names, specificity=on_test_models)]
    rows = {"card": card_rows([GROUNDED], of), "faithfulness": faithfulness_rows([GROUNDED], of), "instrument": known}
    [line] = lines(rows, {})
    return line.backed


@pytest.mark.parametrize(
    ("sham", "exam", "on_test_models", "expected"),
    [
        (0, None, None, True),
        (0, 0.6, None, False),
        (0, 0.95, 0.6, False),
        (1, 0.95, 0.95, False),
        (None, None, 0.95, True),
        (None, None, 0.6, False),
        (None, None, None, False),
    ],
)
def test_a_check_that_a_judge_passes_does_not_override_one_that_it_fails(
    sham: int | None, exam: float | None, on_test_models: float | None, expected: bool
) -> None:
    assert backed(sham, exam, on_test_models) is expected
    assert not backed(0, None, None, items=9), "nine sham edits are too few"
