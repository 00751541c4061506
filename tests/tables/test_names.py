"""The tables and figures of each study by name."""

import subprocess
import sys

import pytest

from cfeval.names import load
from cfeval.report.figures import DRAWINGS
from cfeval.tables import NAMES, ROWS, row_of, table_of

TABLES = [(study, name) for study, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("study", "name"), TABLES)
def test_the_record_that_a_table_is_read_with_is_that_of_its_rows(study: str, name: str) -> None:
    assert row_of(study, name) is table_of(study, name).row


def test_every_table_has_a_record_and_every_figure_shows_a_table() -> None:
    assert {study: list(names) for study, names in ROWS.items()} == {study: list(of) for study, of in NAMES.items()}
    for study, figures in DRAWINGS.items():
        assert {figure.table for figure in figures.values()} <= set(NAMES[study])
        assert all(callable(load(figure.draw)) for figure in figures.values())


def test_a_table_imports_no_other_and_its_record_imports_none() -> None:
    code = """
import sys
from cfeval.tables import NAMES, row_of, table_of
told = {name.partition(":")[0] for of in NAMES.values() for name in of.values()}
row_of("edct", "table1")
assert not told & sys.modules.keys()
table_of("edct", "table1")
assert told & sys.modules.keys() == {NAMES["edct"]["table1"].partition(":")[0]}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
