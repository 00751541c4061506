"""The test models that `calibrate: true` adds to a study, whose faithfulness is known."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from cfeval.edct.config import with_tables

FILE = "test_models.yaml"


def calibrated(content: Any) -> Any:
    """The section `edct`, with test models of known faithfulness, judged by their own judge and by the study's.

    What the study itself defines under one of their names stays as it is.
    """
    if not isinstance(content, Mapping):
        return content
    whole = with_tables(content)
    added = yaml.safe_load(files("cfeval.edct").joinpath(FILE).read_text(encoding="utf-8"))
    judges = list(dict.fromkeys([*added["judges"], *(whole.get("judges") or {})]))
    sections = {name: {**its, **(whole.get(name) or {})} for name, its in added.items() if isinstance(its, Mapping)}
    blocks = [{**block, "judge": judges} for block in added["calibration"]]
    tables = {"calibration": blocks, **{name: its for name, its in (whole.get("tables") or {}).items() if its}}
    return {**whole, **sections, "tables": tables, "judge_error": whole.get("judge_error") or added["judge_error"]}
