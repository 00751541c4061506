"""The tables and figures of each study by name."""

import subprocess
import sys

import pytest

from cfeval.core.extras import load
from tests.listed import FIGURES as DRAWN
from tests.listed import TABLES as LISTED

TABLES = [(study, name) for study, names in LISTED.items() for name in names]


@pytest.mark.parametrize(("study", "name"), TABLES)
def test_the_record_that_a_table_is_read_with_is_that_of_its_rows(study: str, name: str) -> None:
    assert LISTED[study][name].row() is LISTED[study][name].load().row


def test_every_figure_shows_a_table() -> None:
    for study, figures in DRAWN.items():
        assert {figure.table for figure in figures.values()} <= set(LISTED[study])
        assert all(callable(load(figure.draw)) for figure in figures.values())


@pytest.mark.slow
def test_a_list_of_tables_imports_none() -> None:
    code = """
import sys
from tests.listed import TABLES
told = {name.partition(":")[0] for of in TABLES.values() for listed in of.values() for name in listed}
assert not told & sys.modules.keys()
TABLES["edct"]["controls"].load()
assert "cfeval.edct.tables.reliability" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
