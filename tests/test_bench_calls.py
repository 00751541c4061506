"""The benchmarks of calls: what their tables say of given measurements, and how processes are measured."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from bench import calls, judge, orchestration, rate_limits, resume
from bench.processes import Ran, run
from bench.subjects import CFEVAL, TWO_TURNS, Subject, lay_out
from bench.table import Table

PEER = TWO_TURNS[-1]


def cells(table: Table) -> dict[str, dict[str, str]]:
    """A table's figures by row and column; every row is as wide as the head."""
    assert all(len(row) == len(table.columns) for row in table.rows)
    return {row[0]: dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


def measured(
    seconds: float, cpu: float = 2.0, peak: float = 60.0, status: int = 0, said: str = "", summed: float = 0.0
) -> orchestration.Measured:
    return orchestration.Measured(seconds, summed, Ran(status, seconds + 1, cpu, peak, said))


def test_orchestration_shows_medians_and_the_ratio_to_the_ideal() -> None:
    found = {CFEVAL: [measured(9.0), measured(7.5), measured(7.8)]}
    row = cells(orchestration.table(found, {CFEVAL: Ran(0, 1, 1.0, 50)}))["**cfeval**"]
    assert row["calls, s"] == "7.80"
    assert row["over the ideal"] == "1.040"
    assert row["whole process, s"] == "8.80"
    assert row["CPU a call, ms"] == "4.2"
    assert row["peak, MiB"] == "60"


def test_rate_limits_show_the_median_over_the_ideal_and_why_a_run_failed() -> None:
    well, failed = Ran(0, 1, 1, 50), Ran(1, 1, 1, 50, "299 of 300 answered")
    found = {
        CFEVAL: {share: [(1.3, well), (1.1, well), (1.05, well)] for share in rate_limits.SHARES},
        PEER: {share: [(1.3, well), (0.0, failed)] for share in rate_limits.SHARES},
    }
    shown = cells(rate_limits.table("0.5 s a call", found))
    assert set(shown["**cfeval**"].values()) == {"1.10"}
    assert set(shown[PEER.name].values()) == {"299 of 300 answered"}


def test_under_a_true_limit_time_counts_against_what_the_limit_allows_and_lost_calls_are_named() -> None:
    ran = rate_limits.Limited
    found = {
        CFEVAL: [ran(33.0, 60, 40), ran(30.0, 60, 50), ran(31.5, 60, 60)],
        PEER: [ran(20.0, 30, 500), ran(20.0, 30, 400, "429"), ran(20.0, 30, 600)],
    }
    shown = cells(rate_limits.table_of_limit(found))
    assert shown["**cfeval**"] == {"over the ideal": "1.05", "calls lost": "0", "refused on the way": "50"}
    assert shown[PEER.name] == {"over the ideal": "429", "calls lost": "30", "refused on the way": "500"}


def test_where_calls_take_unlike_times_each_has_an_ideal_of_its_own() -> None:
    runs = [measured(11.0, summed=160.0), measured(12.0, summed=192.0), measured(15.0, summed=192.0)]
    rows = cells(orchestration.table_of_uneven({CFEVAL: runs, PEER: [measured(0, status=1, said="broken")]}))
    assert rows["**cfeval**"] == {"calls, s": "12.0", "over the ideal": "1.100"}
    assert rows[PEER.name]["calls, s"] == "broken"


def test_the_ideal_is_that_of_the_calls_at_once() -> None:
    assert orchestration.IDEAL == 7.5


def test_a_peer_that_does_not_run_is_told_of_beside_those_that_do() -> None:
    broken = measured(0, status=1, said="ModuleNotFoundError: No module named 'inspect_ai'")
    found = {CFEVAL: [measured(7.5)], PEER: [broken]}
    rows = cells(orchestration.table(found, dict.fromkeys(found, Ran(0, 1, 1, 50))))
    assert rows[PEER.name]["calls, s"] == "ModuleNotFoundError: No module named 'inspect_ai'"
    assert rows["**cfeval**"]["over the ideal"] == "1.000"


def test_a_peer_without_its_environment_names_the_target_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.subjects.PEERS", Path("nowhere"))
    assert "make peers" in PEER.missing()
    assert CFEVAL.missing() == ""


def test_resume_counts_what_is_sent_again_beside_what_was_in_flight() -> None:
    found = {CFEVAL: resume.Killed(128, 16, 15, equal=True), PEER: resume.Killed(failed="not installed")}
    rows = cells(resume.table(found))
    assert list(rows["**cfeval**"].values()) == ["128", "16", "15", "equal"]
    assert list(rows[PEER.name].values()) == ["not installed", "", "", ""]


def test_results_that_a_kill_changed_stand_out() -> None:
    assert cells(resume.table({PEER: resume.Killed(128, 16, 20)}))[PEER.name][resume.COLUMNS[-1]] == "DIFFERENT"


def test_a_changed_judge_shows_who_was_asked() -> None:
    before = judge.Sent({"vlm": 480, "writer": 120, "judge": 120}, 60)
    rows = cells(judge.table({"a": (before, judge.Sent({"judge": 120}, 9)), "b": (None, judge.Sent({}, 2))}))
    assert list(rows["a"].values()) == ["720", "60.0", "120 (120 judge)", "9.0"]
    assert list(rows["b"].values()) == ["", "", "0", "2.0"]


def test_a_peer_that_fails_in_the_second_run_is_told_of() -> None:
    rows = cells(judge.table({"a": (judge.Sent({"vlm": 1}, 1), judge.Sent({}, 1, "it broke"))}))
    assert rows["a"][judge.COLUMNS[1]] == "it broke"


def test_faults_count_recovered_recorded_and_silently_bad() -> None:
    met = calls.Met({"http_500": 20, "refused": 10}, passing=2, recovered=2, standing=1, recorded=1)
    ours, bare = calls.Ends(499, Counter(refused=1), 0), calls.Ends(490, {}, 10)
    table = calls.table(met, ours, bare)
    assert "30 of them (2%)" in table.title
    rows = cells(table)
    assert rows["passing faults recovered"]["**cfeval**"] == "2 of 2"
    assert rows["failed, with a status or an exception"]["**cfeval**"] == "1 (1 refused)"
    assert rows["silently bad"] == {"**cfeval**": "0", "bare `openai` client, 2 retries": "10"}


def test_the_bill_is_beside_what_the_cache_says_of_it() -> None:
    row = cells(calls.table_of_money(calls.Money(1.0, 0.98, 0.98, 0.5)))["**cfeval**"]
    assert row["server charged"] == "1.000000"
    assert row["paid over what came whole"] == "1.0000"
    assert row["charged is within paid and may"] == "yes"
    short = cells(calls.table_of_money(calls.Money(1.0, 0.98, 0.9, 0.05)))["**cfeval**"]
    assert short["charged is within paid and may"] == "NO"


def test_a_process_is_measured_from_outside(tmp_path: Path) -> None:
    hungry = "import sys; b = bytearray(200 << 20); print('well', file=sys.stderr); sys.exit(3)"
    ran = run([sys.executable, "-c", hungry], os.environ, tmp_path)
    assert ran.status == 3
    assert ran.said == "well"
    assert 150 < ran.peak < 1000
    assert 0 < ran.cpu < 60


def test_every_tool_is_given_the_same_items(tmp_path: Path) -> None:
    lay_out(tmp_path, 2)
    command = Subject("plain", "plain.py").command("turns", "http://127.0.0.1:1/v1", tmp_path, "out.jsonl")
    assert str(tmp_path / "items.jsonl") in command
    assert str(tmp_path / "samples.jsonl") in CFEVAL.command("turns", "http://127.0.0.1:1/v1", tmp_path, "out.jsonl")
    assert (tmp_path / "items.jsonl").read_text().count("i1.png") == 1
    assert (tmp_path / "samples.jsonl").read_text().count("i1.png") == 1
