"""Warnings where a run means nothing: each fires on the case that it is about, and not on a sound one."""

import pytest
from scipy import stats

from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import GroupScore, VceScore
from cfeval.vce.tables.classifiers import CHECKS, CheckRow, failed
from cfeval.vce.tables.group_scores import group_material
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
    return {row.check: row.about for row in CHECKS.rows(made_of(a_study(**how), ROLES)) if row.result == "fails"}


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
    found = CHECKS.rows(made_of(rows, ROLES))
    assert [(row.about, row.figure, row.result) for row in found] == [("blue circle", 0.0, "fails")]
    assert "blue circle: some oracle sees the target class in 0.000 of cases" in failed(found)[0]
    assert "| fails |" in markdown(CHECKS.render(found))


@pytest.mark.parametrize("classes", [2, 3, 4, 10])
def test_whoever_always_names_the_same_class_fails(classes: int) -> None:
    found = read_by([0.0, *[1.0] * (classes - 1)], 4)
    assert found.result == "fails"
    assert (found.bar or 0) >= 1 / classes
    assert found.advice


@pytest.mark.parametrize(
    ("wrong", "images", "result"),
    [([0.0, 0.0], 1, "open"), ([0.0, 0.0], 2, "passes"), ([0.0, 0.5], 4, "open"), ([0.5, 0.5], 40, "fails")],
)
def test_a_share_that_may_be_chance_is_open(wrong: list[float], images: int, result: str) -> None:
    found = read_by(wrong, images)
    assert found.result == result
    assert bool(failed([found])) == (result != "passes")
    share, images = 1 - sum(wrong) / len(wrong), images * len(wrong)
    expected = stats.binomtest(round(share * images), images).proportion_ci(method="wilson")
    assert found.interval == f"[{expected.low:.3f}, {expected.high:.3f}]"


def read_by(wrong: list[float], images: int) -> CheckRow:
    """The check of a classifier that misreads these shares of so many images of each class."""
    names = [f"class-{number}" for number in range(len(wrong))]
    groups, scores = [], []
    for name, share in zip(names, wrong, strict=True):
        groups.append(group("cnn", "base", {"ta": 0.9, "misread": share}, source=name))
        scores += [score(f"{name}-{number}", name) for number in range(images)]
    condition = groups[0].condition
    material = group_material(groups, {condition: scores}, roles=ROLES)
    [found] = [row for row in CHECKS.rows(material) if row.check == "originals are read rightly"]
    return found


def score(image: str, source: str) -> VceScore:
    return VceScore(
        id=f"{image}-to-blue-0",
        source_image=image,
        source=source,
        target="blue circle",
        pair="ideal",
        repeat=0,
        predicted="blue circle",
        before=source,
    )
