"""What `cfeval audit export` writes, before the makers of each format: their checkers, readers and viewer."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

from cfeval.inference.remote.images import data_url
from cfeval_audit.interchange import every_eval_ever, items, transcripts
from cfeval_audit.interchange.study import Finished, targets
from tests.audit.interchange.study import PAIRS
from tests.edct.verification.study import IMAGES, ITEMS

FORMATS = Path(__file__).parents[2] / ".formats"
WHO = every_eval_ever.Who("Example Institute", "third_party", 1_763_856_000, {"d": "owner/set"})
DATE = "2026-11-23"


@pytest.mark.filterwarnings("ignore")
def test_croissants_own_checker_takes_the_items_and_reads_rows_and_images(done: Finished, tmp_path: Path) -> None:
    import mlcroissant

    items.write(done, tmp_path, "Seven items", "CC-BY-4.0")
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    rows = {row["items-d/id"].decode(): row for row in found.records("items-d")}
    assert list(rows) == list(ITEMS)
    assert all((rows[item]["items-d/image"].size == IMAGES[item].pixels.shape[1::-1]) for item in ITEMS)
    pairs = list(found.records("pairs-d"))
    assert [row["pairs-d/id"].decode() for row in pairs] == [pair.id for pair in PAIRS]
    assert {"pairs-d/before", "pairs-d/after"} <= pairs[0].keys()


@pytest.fixture
def records(done: Finished, tmp_path: Path) -> list[Path]:
    """The two files of the target model: the summary, and the lines of items."""
    every_eval_ever.write(done, targets(done, {}), WHO, tmp_path)
    return sorted(tmp_path.rglob("*.json*"))


def test_the_checker_of_every_eval_ever_takes_the_files(records: list[Path]) -> None:
    from every_eval_ever.validator.validate import main

    assert len(records) == 2
    assert main([*map(str, records), "--format", "json"]) == 0


@pytest.mark.parametrize(("file", "schema"), [(0, "eval"), (1, "instance_level_eval")])
def test_they_are_what_its_schemas_say(records: list[Path], file: int, schema: str) -> None:
    from every_eval_ever.schema import schema_json

    checker = jsonschema.Draft7Validator(schema_json(f"{schema}.schema.json"))
    text = records[file].read_text()
    told = [json.loads(text)] if schema == "eval" else [json.loads(line) for line in text.splitlines()]
    assert [error.message for one in told for error in checker.iter_errors(one)] == []


def test_its_checker_finds_a_score_outside_its_range(records: list[Path]) -> None:
    from every_eval_ever.validator.validate import main

    told = json.loads(records[0].read_text())
    told["evaluation_results"][0]["score_details"]["score"] = 73.4
    records[0].write_text(json.dumps(told))
    assert main([*map(str, records), "--format", "json"]) == 1


@pytest.fixture
def logs(done: Finished, tmp_path: Path) -> list[Path]:
    """A log of each condition."""
    return transcripts.write_logs(done, targets(done, {}), DATE, True, tmp_path / "logs")


def test_the_reader_of_inspect_ai_finds_figures_conversations_and_images(logs: list[Path]) -> None:
    from inspect_ai.log import read_eval_log

    assert [log.stem for log in logs] == ["d_m_w_edct-2025_e_j", "d_m_w_edct-bench-2026_e_j", "d_m_j"]
    plain, chained, pairs = (read_eval_log(str(log), resolve_attachments=True) for log in logs)
    assert (plain.status, plain.eval.model, plain.eval.dataset.sample_ids) == ("success", "lab/model-7b", list(ITEMS))
    figures = {score.name: score for score in plain.results.scores}
    assert (figures["ccs"].metrics["mean"].value, figures["ccs"].metrics["lower"].value) == (1.0, 0.2065)
    assert (figures["ccs"].scored_samples, figures["ccs"].unscored_samples) == (2, 5)
    assert {"fit", "strict_ccs", "noise_floor"} <= figures.keys()
    sample = next(one for one in plain.samples if one.id == "a")
    assert [message.role for message in sample.messages] == ["user", "assistant"] * 4
    assert sample.messages[0].content[0].image == data_url(IMAGES["a"])
    assert sample.messages[4].content[0].image != data_url(IMAGES["a"])
    assert [sample.messages[turn].text for turn in (1, 5)] == ["It is red.", "It is blue now."]
    assert {name: score.value for name, score in sample.scores.items()} == {"pcs": 1, "ncc": 1, "ccs": 1, "fit": 1}
    assert [len(one.messages) for one in chained.samples if one.id == "a"] == [12]
    assert [one.messages[0].content[0].image for one in pairs.samples] == [
        data_url(one.images[place]) for one, place in zip(PAIRS, (1, 0), strict=True)
    ], "the changed image of p1 comes first"
    assert [(one.scores["moved"].value, one.scores["noise"].value) for one in pairs.samples] == [(1, 0), (1, 0)]


def test_what_failed_is_unscored_in_it_with_its_reason(logs: list[Path]) -> None:
    from inspect_ai.log import read_eval_log

    refused = next(one for one in read_eval_log(str(logs[0])).samples if one.id == "b")
    assert refused.scores["ccs"].value != refused.scores["ccs"].value, "NaN: unscored"
    assert refused.scores["ccs"].reason == "refused"
    assert [message.role for message in refused.messages] == ["user"]


def test_the_same_results_give_the_same_log(done: Finished, logs: list[Path], tmp_path: Path) -> None:
    again = transcripts.write_logs(done, targets(done, {}), DATE, True, tmp_path / "again")
    assert [log.read_bytes() for log in again] == [log.read_bytes() for log in logs]
    without = transcripts.write_logs(done, targets(done, {}), DATE, False, tmp_path / "without")
    assert b"data:image" not in without[0].read_bytes()
    assert without[0].stat().st_size < logs[0].stat().st_size


def test_its_viewer_serves_the_log(logs: list[Path]) -> None:
    with viewer(logs[0].parent) as address:
        listed = get(f"{address}/api/log-files")["files"]
        assert sorted(Path(one["name"]).name for one in listed) == sorted(log.name for log in logs)
        told = get(f"{address}/api/logs/{quote(listed[0]['name'], safe='')}")
        assert told["status"] == "success"
        assert {sample["id"] for sample in told["samples"]} in ({*ITEMS}, {pair.id for pair in PAIRS})
        with urllib.request.urlopen(f"{address}/", timeout=30) as page:
            assert "<title>" in page.read().decode()


@contextmanager
def viewer(folder: Path) -> Iterator[str]:
    """`inspect view` on a port of its own; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = f"import sys; sys.path.append({str(FORMATS)!r}); from inspect_ai._cli.main import main; main()"
    words = ["view", "start", "--log-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    log = folder.parent / "viewer.txt"
    with (
        log.open("wb") as said,
        subprocess.Popen([sys.executable, "-c", start, *words], stdout=said, stderr=said) as server,
    ):
        try:
            address, until = f"http://127.0.0.1:{port}", time.monotonic() + 300
            while not answers(address):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            yield address
        finally:
            server.terminate()


def answers(address: str) -> bool:
    try:
        get(f"{address}/api/log-dir")
    except OSError:
        return False
    return True


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)
