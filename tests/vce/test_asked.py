"""What the steps of a vce study are told, and the plugins that they run."""

from typing import Any

import pytest

from cfeval.core.errors import ParamsError
from cfeval.vce.asked import AskedTables, asked_tables, makers, measures, resources
from cfeval.vce.config import Vce
from tests.vce.test_config import GOOD


def study(**changes: Any) -> Vce:
    return Vce.model_validate({**GOOD, **changes})


def test_tables_are_told_every_condition_and_what_is_told_comes_back_from_its_file() -> None:
    asked = asked_tables(study(), 3)
    assert asked.conditions == tuple(study().all_conditions())
    assert set(asked.cost) == set(study().methods)
    assert AskedTables.model_validate_json(asked.as_json()) == asked


@pytest.mark.parametrize(("projection", "classifiers"), [("cone", 2), ("none", 1)])
def test_a_robust_classifier_takes_part_where_there_is_a_cone(projection: str, classifiers: int) -> None:
    method = {"preset": "dbvce", "projection": projection}
    coned = study(methods=dict.fromkeys(GOOD["methods"], method))
    families = [family for family, _ in makers(coned, coned.all_conditions()[0])]
    assert families.count("classifiers") == classifiers


def test_plugins_of_one_job_share_a_gpu_of_one_model() -> None:
    plain = {"plugin": "random", "device": "cuda"}
    asked = measures(study(), study().all_conditions()[0])
    assert resources(asked) == {"gpu": 0, "gpu_model": "", "api_slots": 0}
    several = study(classifiers={name: {**plain, "gpu_model": name} for name in GOOD["classifiers"]})
    names = ", ".join(sorted(GOOD["classifiers"]))
    with pytest.raises(ParamsError, match=rf"plugins of one job want different GPUs \({names}\); set one gpu_model"):
        resources([("classifiers", spec) for spec in several.classifiers.values()])
    one = study(classifiers={name: {**plain, "gpu_model": "h100"} for name in GOOD["classifiers"]})
    found = resources([("classifiers", spec) for spec in one.classifiers.values()])
    assert found == {"gpu": 1, "gpu_model": "h100", "api_slots": 0}
