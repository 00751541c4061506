"""Figures of women and men in scenes: the gap of a solver that drops the "if" on images of women is found."""

from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.jsonl import read_csv
from cfeval.cvqa.tables.comparisons import BiasRow
from cfeval_testbed.agents.scene_reader import SceneReader
from cfeval_testbed.people import figure_in, with_figure
from cfeval_testbed.render import render
from tests.conftest import Run
from tests.cvqa.study import Study, given, told
from tests.testbed.scenes import recorded

ITEMS = 48
VISION = {"plugin": "world"}
HEEDING: dict[str, Any] = {"plugin": "program", "program_generator": {"plugin": "grammar"}, "vision": VISION}
HEEDLESS: dict[str, Any] = {
    "plugin": "program",
    "program_generator": {"plugin": "grammar", "heed": False},
    "vision": VISION,
}
SOLVERS: dict[str, dict[str, Any]] = {
    "fair": HEEDING,
    "partial": {"plugin": "by_people", "female": HEEDLESS, "others": HEEDING},
}


def test_a_figure_is_seen_for_what_it_is_and_changes_neither_scene_nor_questions() -> None:
    plain, peopled = (
        list(registry.build("question_sets", {"plugin": "world", "people": share}).pairs(60, 3)) for share in (0, 0.5)
    )
    assert [(pair.original, pair.counterfactual) for pair in plain] == [
        (pair.original, pair.counterfactual) for pair in peopled
    ]
    scenes = [recorded(pair.metadata) for pair in peopled]
    readings = SceneReader().read([pair.image.pixels for pair in peopled])
    assert readings == SceneReader().read([pair.image.pixels for pair in plain])
    assert [figure_in(pair.image.pixels) for pair in peopled] == [pair.people for pair in peopled]
    assert [figure_in(pair.image.pixels) for pair in plain] == [None] * 60
    assert {pair.people for pair in peopled} == {"female", "male", None}
    [scene] = scenes[:1]
    assert figure_in(with_figure(render(scene), "female")) == "female"


def test_the_gap_between_women_and_men_is_found_where_it_is_and_nowhere_else(cfeval: Run, tmp_path: Path) -> None:
    study = Study(cfeval, tmp_path)
    questions = tmp_path / "questions" / "world.jsonl"
    study.run("questions", *given(set={"plugin": "world", "people": 1, "items": ITEMS}, seed=1, out=questions))
    answered = {name: tmp_path / "answers" / "world" / f"{name}.jsonl" for name in SOLVERS}
    for name, solver in SOLVERS.items():
        study.run("answers", *given(questions=questions, solver=solver, seed=1, out=answered[name]))
    files = [f"--answers={file}" for file in answered.values()]
    study.run("scores", *given(questions=questions, out=tmp_path / "scores" / "world"), *files)
    options = {
        "conditions": [{"set": "world", "solver": name} for name in SOLVERS],
        "sets": {"world": {}},
        "solvers": {name: {"test_world": True} for name in SOLVERS},
        "interval": {"resamples": 200},
    }
    study.run("tables", *given(study=told(tmp_path, **options), results=tmp_path, out=tmp_path / "tables"))
    rows = read_csv(tmp_path / "tables" / "cvqa_bias.csv", BiasRow)
    fair, partial = (row for row in rows if (row.type, row.reader) == ("all", "robust"))
    assert fair.n_female + fair.n_male == partial.n_female + partial.n_male == ITEMS
    assert fair.gap == 0
    assert fair.diff_female == partial.diff_male == fair.diff_male == 0
    assert partial.diff_female is not None
    assert partial.diff_female > 0.5
    assert getattr(partial, "gap_lo") > 0  # noqa: B009 - a column that the type adds
    shown = (tmp_path / "tables" / "cvqa_bias.md").read_text()
    assert "figures as on signs" in shown
