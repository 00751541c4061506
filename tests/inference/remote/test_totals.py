"""What the calls behind a study came to."""

import json
import zipfile
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.inference.remote.archive import calls_total


def archive(folder: Path, *calls: tuple[float | None, object]) -> Path:
    """An archive of calls, each with its cost in USD and the server's own reply."""
    usage = {"input_tokens": 1000, "output_tokens": 10, "images": 0}
    lines = [json.dumps({"reply": json.dumps({"usage": {**usage, "cost_usd": usd}, "raw": raw})}) for usd, raw in calls]
    path = folder / "calls.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("calls.jsonl", "".join(f"{line}\n" for line in lines))
    return path


def test_calls_tokens_costs_and_days_are_summed(tmp_path: Path) -> None:
    found = calls_total(
        archive(tmp_path, (0.5, {"created": 1772452800}), (None, {"created": 1772625600}), (0.25, None))
    )
    assert found.text == "3 model calls, 3,000 tokens read, 30 written, 0.75 USD for 2 of them"
    assert found.when == "2026-03-02 to 2026-03-04"


def test_a_study_without_calls_cost_nothing_and_names_no_day(tmp_path: Path) -> None:
    found = calls_total(archive(tmp_path))
    assert (found.text, found.when) == ("no call to a hosted model, 0 USD", "")


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no")
    for name in ("x.zip", "missing.zip"):
        with pytest.raises(InputError, match="not an archive of calls"):
            calls_total(tmp_path / name)
