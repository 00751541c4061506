"""Warnings where a run means nothing: each fires on the case that it is about, and not on a sound one."""

import pytest

from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import GroupScore
from cfeval.vce.tables import checks
from tests.vce.tables.groups import group, made_of

ROLES = Roles.model_validate({"base": "base", "unguided": "unguided", "random": ["rand"]})


def a_study(oa: float = 0.9, misread: float = 0.0, ota: float = 0.8) -> list[GroupScore]:
    said = {"ta": 0.9, "misread": misread, "ota_vit": ota, "ota_mean": ota, "ota_rand": 1.0}
    return [
        group("cnn", "base", said),
        group("rand", "base", {"ta": 0.0, "misread": 1.0, "ota_vit": 0.1}),
        group("cnn", "unguided", {"ta": 0.0, "oa": oa, "misread": misread, "ota_vit": 0.0}),
    ]


def failing(**how: float) -> dict[str, str]:
    return {row.check: row.about for row in checks.rows(made_of(a_study(**how), ROLES)) if row.result == "fails"}


def test_a_sound_run_passes_though_a_random_classifier_reads_nothing() -> None:
    assert failing() == {}


@pytest.mark.parametrize(
    ("how", "check", "about"),
    [
        ({"oa": 0.1}, "unguided images keep their class", "ddpm"),
        ({"misread": 0.98}, "originals are read rightly", "cnn"),
    ],
)
def test_what_makes_a_run_mean_nothing_is_told(how: dict[str, float], check: str, about: str) -> None:
    assert failing(**how) == {check: about}


def test_a_target_that_no_oracle_ever_sees_is_told() -> None:
    rows = [group("cnn", "base", {"ta": 0.9, "ota_vit": 0.0, "ota_cnn": 0.9, "ota_rand": 0.7})]
    found = checks.rows(made_of(rows, ROLES))
    assert [(row.about, row.figure, row.result) for row in found] == [("blue circle", 0.0, "fails")]
    assert "blue circle: some oracle sees the target class in 0.000 of cases" in checks.failed(found)[0]
    assert "| fails |" in markdown(checks.render(found))
