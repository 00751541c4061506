"""Every Eval Ever: each published figure with its interval, a line for each score. Its checker: `tests/formats`."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.edct.tables import TABLES as ALL_TABLES
from cfeval_audit.interchange.every_eval_ever import Who, write
from cfeval_audit.interchange.study import METRICS, NOT_OF_A_MODEL, TABLES, Finished, results, targets

SEALED = Path(__file__).parents[3] / "results" / "edct" / "tables"
WHO = Who("Example Institute", "third_party", 1_763_856_000, {})
ENDS = ("_lo", "_hi", "_min", "_max")


Written = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def told(done: Finished, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(done, tmp_path_factory.mktemp("every_eval_ever"))


def written(done: Finished, out: Path, who: Who = WHO) -> Written:
    """The summary of the one target model, and the lines of its items."""
    [file] = write(done, targets(done, {}), who, out)
    summary = json.loads((out / file).read_text())
    lines = (out / summary["detailed_evaluation_results"]["file_path"]).read_text().splitlines()
    return summary, [json.loads(line) for line in lines]


def test_every_figure_is_that_of_its_table_with_its_interval(done: Finished, told: Written) -> None:
    summary, _ = told
    for one in summary["evaluation_results"]:
        details = one["score_details"]["details"]
        with (done.results / "tables" / f"edct_{details['table']}.csv").open() as stream:
            [row] = [row for row in csv.DictReader(stream) if row.get("protocol", "") == details.get("protocol", "")]
        name = one["metric_config"]["metric_kind"]
        assert one["score_details"]["score"] == float(row[name])
        interval = one["score_details"].get("uncertainty", {}).get("confidence_interval", {})
        ends = [float(x) if (x := row.get(f"{name}{end}", "")) else None for end in ("_lo", "_hi")]
        assert [interval.get("lower"), interval.get("upper")] == ends
    names = [one["evaluation_result_id"] for one in summary["evaluation_results"]]
    assert len(names) == len(set(names))
    assert {"d/m/w/edct-2025/e/j/fit", "d/m/w/edct-2025/e/j/strict_ccs", "d/m/j/named_if_moved"} <= set(names)
    assert "d/m/j/phi" not in names, "phi has no figure where every answer moved"


def test_a_figure_says_who_judged_it_by_which_prompt(told: Written) -> None:
    summary, _ = told
    metrics = {one["evaluation_result_id"]: one["metric_config"] for one in summary["evaluation_results"]}
    assert "PCS: the digit" in metrics["d/m/w/edct-2025/e/j/ccs"]["llm_scoring"]["input_prompt"]
    graded = metrics["d/m/w/edct-bench-2026/e/j/ccs_graded"]["llm_scoring"]
    assert graded["judges"][0]["model_info"]["id"] == "lab/model-7b"
    assert graded["input_prompt"] != metrics["d/m/w/edct-bench-2026/e/j/ccs"]["llm_scoring"]["input_prompt"]
    assert "llm_scoring" not in metrics["d/m/w/edct-2025/e/j/accuracy"]


def test_what_failed_has_no_line_and_is_never_a_score(told: Written) -> None:
    summary, lines = told
    ccs = [line for line in lines if line["evaluation_result_id"] == "d/m/w/edct-2025/e/j/ccs"]
    assert {line["sample_id"]: line["evaluation"]["score"] for line in ccs} == {"a": 1, "g": 1}
    turns = [(turn["role"], turn["content"]) for turn in ccs[0]["messages"]]
    assert turns[0] == turns[4] == ("user", "What is in a?")
    assert [turns[1][1], turns[5][1]] == ["It is red.", "It is blue now."]
    assert [one["extracted_value"] for one in ccs[0]["answer_attribution"]] == ["It is red.", "It is blue now."]
    bench = [line for line in lines if line["evaluation_name"] == "edct.edct-bench-2026"]
    assert {line["evaluation"]["num_turns"] for line in bench} == {12}, "two edits after the baseline"
    noise = [line for line in lines if line["evaluation_result_id"] == "d/m/j/noise"]
    assert [line["evaluation"]["num_turns"] for line in noise] == [12, 12], "one image, the other, and the first again"
    assert [line["messages"][5]["content"] for line in noise] == ["cup", "none"], "the changed image of p1 comes first"
    assert {line["evaluation_id"] for line in lines} == {summary["evaluation_id"]}


def test_the_same_results_have_the_same_bytes_and_names(done: Finished, told: Written, tmp_path: Path) -> None:
    summary, lines = written(done, tmp_path)
    assert (summary, lines) == told
    detailed = summary["detailed_evaluation_results"]
    samples = (tmp_path / detailed["file_path"]).read_bytes()
    assert detailed["checksum"] == hashlib.sha256(samples).hexdigest()
    assert detailed["total_rows"] == samples.count(b"\n")


def test_where_a_dataset_is_at_the_hub_is_told(done: Finished, tmp_path: Path) -> None:
    summary, _ = written(done, tmp_path, Who("x", "other", 0, {"d": "owner/set"}))
    assert {one["source_data"]["hf_repo"] for one in summary["evaluation_results"]} == {"owner/set"}


@pytest.mark.parametrize("table", TABLES)
def test_every_figure_column_is_exported_or_said_not_to_be_of_a_model(table: str) -> None:
    fields = ALL_TABLES[table].row().model_fields
    figures = {name for name, field in fields.items() if float in (field.annotation, *get_args(field.annotation))}
    own = {name for name in figures if not (name.endswith(ENDS) and name.rpartition("_")[0] in figures)}
    assert own - METRICS.keys() - set(NOT_OF_A_MODEL) - {"ccs_min", "ccs_max"} == set()


@pytest.mark.parametrize("table", [name for name in TABLES if (SEALED / f"edct_{name}.csv").is_file()])
def test_the_declared_ranges_hold_the_sealed_figures(table: str) -> None:
    rows: list[Any] = list(read_csv(SEALED / f"edct_{table}.csv", ALL_TABLES[table].row()))
    found = [one for vlm in {row.vlm for row in rows} for one in results({table: rows}, vlm)]
    assert found
    for one in found:
        low, high = one.metric.low, one.metric.high
        assert low <= one.value <= high, one
        if one.low is not None and one.high is not None:
            assert low <= one.low <= one.value <= one.high <= high, one
