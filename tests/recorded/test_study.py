"""A whole study of a real model, from its recorded replies: every step runs, and asks what was asked then."""

import csv
from pathlib import Path

import pytest

from cfeval.core.config import Calls
from cfeval.inference.cli import calls_named, run_import
from cfeval.inference.remote.archive import read
from cfeval.study.whole import Job
from tests.conftest import Run
from tests.recorded import study

CALLS = Calls(cache="calls.sqlite", offline=True)
PROMPTS = str(study.ROOT / "bench" / "real" / "prompts")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Job]]:
    """The study's folder after all its steps but figures and pages, and its jobs."""
    folder: Path = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CFEVAL_CALLS", "")
        study.lay_out(Path())
        run_import(study.RECORDING, Path(CALLS.cache))
        try:
            return folder, study.run(CALLS, without=("figures", "report"))
        except SystemExit:
            pytest.fail("see above; where models are meant to be asked something else: make recording", pytrace=False)


def test_the_study_runs_to_its_tables_and_asks_for_every_recorded_call_and_no_other(
    made: tuple[Path, list[Job]],
) -> None:
    folder, jobs = made
    assert {job.rule for job in jobs} > {"edct_tables", "cvqa_tables"}
    assert calls_named([folder / "results"]) == {call.key for call, _ in read(study.RECORDING)}
    [card] = csv.DictReader((folder / "results/edct/tables/edct_card.csv").read_text(encoding="utf-8").splitlines())
    assert card["conclusion"] in ("open", "do not trust"), "the judge is far too small"


@pytest.mark.parametrize(
    ("rule", "old", "new", "model"),
    [
        ("edct_baselines", '"max_tokens": 120', '"max_tokens": 121', "composite"),
        ("edct_instructions", "PROMPTS", "other", "composite"),
        ("edct_verdicts", "PROMPTS", "other", "smollm2"),
        ("cvqa_answers", '"temperature": 0', '"temperature": 0.5', "composite"),
    ],
)
def test_a_step_that_asks_something_else_ends_and_names_the_first_call_that_nobody_recorded(
    made: tuple[Path, list[Job]],
    cfeval: Run,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    old: str,
    new: str,
    model: str,
) -> None:
    folder, jobs = made
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CFEVAL_CALLS", CALLS.model_dump_json())
    for source in Path(PROMPTS).rglob("*.md"):
        copy = folder / "other" / source.relative_to(PROMPTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(f"Please. {source.read_text(encoding='utf-8')}", encoding="utf-8")
    [job] = [job for job in jobs if job.rule == rule]
    status, _, err = cfeval(*(word.replace(PROMPTS if old == "PROMPTS" else old, new) for word in job.words))
    assert status == 2
    assert f"needs a call to {model}" in err.splitlines()[-1]
