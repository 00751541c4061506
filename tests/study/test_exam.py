"""`cfeval exam`: the judge exam for a judge of the parameter file."""

from pathlib import Path

import pytest
import typer

from cfeval.core.errors import InputError
from cfeval.study.exam import run


def test_a_judge_of_the_parameters_is_found_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"edct\.judges of params\.yaml has no 'gramar'; did you mean 'grammar'\?"):
        run(tmp_path / "exam", judge="gramar")
    with pytest.raises(typer.Exit):
        run(tmp_path / "exam", judge="grammar")
    assert "unparsable 177" in (tmp_path / "exam.md").read_text()
