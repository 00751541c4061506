"""The hypotheses: what is found where it was put in, what is undecided, and what failed counterfactuals count."""

from collections.abc import Callable

import pytest

from cfeval.core.records import Status
from cfeval.report.tables import markdown
from cfeval.vce.config import Roles
from cfeval.vce.records import GroupScore, VceCondition, VceScore
from cfeval.vce.tables.hypotheses import HYPOTHESES, HypothesisRow
from tests.vce.tables.groups import ROLES, condition, group, made_of, of_the_paper

NETS = ("adv", "cnn", "vit", "noisy", "rand")
METHODS = ("base", "no-cone", "no-x0", "unguided")
MINE = Roles.model_validate(
    {
        **{"base": "base", "no_cone": "no-cone", "no_x0": "no-x0", "unguided": "unguided"},
        **{"robust": ["adv"], "noise_trained": ["noisy"], "random": ["rand"]},
        "tests": {"resamples": 1000},
    }
)
Chance = Callable[[str, str, str], float]
"""By classifier, method and pair: the share of images in which it holds."""


def as_in_the_paper(net: str, method: str, pair: str) -> float:
    if method == "unguided" or net == "rand":
        return 0.0
    return 0.25 if pair == "other" else 0.5 if method == "no-x0" and net in ("cnn", "vit") else 1.0


def oracles_as_in_the_paper(net: str, method: str, pair: str) -> float:
    if method == "unguided":
        return 0.0
    if pair == "other":
        return 0.1
    return 0.25 if net == "rand" and method != "no-cone" else 0.05 if method == "no-cone" and net != "adv" else 0.9


def scores(net: str, method: str, seen: Chance, agreed: Chance, images: int = 60) -> list[VceScore]:
    """The scores of a condition: the first share of images is seen as the target, by classifier and oracles."""
    found = []
    for pair, target in (("ideal", "near"), ("other", "far")):
        for n in range(images):
            hit, valid = n < seen(net, method, pair) * images, n < agreed(net, method, pair) * images
            said = {other: target if valid else "red" for other in NETS if other != net}
            found.append(
                VceScore.model_validate(
                    {
                        **{"id": f"{n}-{pair}", "source_image": f"i{n}", "source": "red", "target": target},
                        **{"pair": pair, "predicted": target if hit else "red", "oracles": said},
                        "distances": {"st_lpips": 0.2 + (0.1 if net == "adv" else 0) + n / 1000},
                    }
                )
            )
    return found


def study(
    seen: Chance = as_in_the_paper, agreed: Chance = oracles_as_in_the_paper
) -> dict[VceCondition, list[VceScore]]:
    return {condition(net, method): scores(net, method, seen, agreed) for net in NETS for method in METHODS}


def fitting_groups() -> list[GroupScore]:
    """A group for each condition, so that the tables know of it; realism by source class."""
    return [
        group(net, method, {"fd_enl0_40": 9.0 if net == "adv" else 5.0 + n / 10}, source=f"s{n}")
        for net in NETS
        for method in METHODS
        for n in range(6)
    ]


def verdicts_on(of: dict[VceCondition, list[VceScore]]) -> dict[str, HypothesisRow]:
    rows = HYPOTHESES.rows(made_of(fitting_groups(), MINE, of))
    return {row.part: row for row in rows}


def test_what_was_put_in_is_found() -> None:
    found = verdicts_on(study())
    verdicts = {part: row.verdict for part, row in found.items()}
    assert verdicts == {
        "valid": "supported",
        "no adversarial example": "supported",
        "close": "supported",
        "realistic": "undecided",
        "no meaningful change": "not supported",
        "cone projection": "supported",
        "x0-prediction": "supported",
        "more than where noise is known": "supported",
        "bad targets are worse": "supported",
        "bad targets fail": "supported",
        "never valid": "undecided",
        "robust unchanged": "undecided",
        "of those kept": "undecided",
        "less than the cone": "supported",
    }
    assert {row.hypothesis: row.overall for row in found.values()}["H4"] == "supported"
    assert found["cone projection"].effect == pytest.approx(0.85)
    assert found["no meaningful change"].effect == pytest.approx(0.25)
    assert found["close"].effect == pytest.approx(-0.1)
    assert (found["valid"].unit, found["valid"].n_units, found["valid"].n_scored) == ("source image", 60, 180)


@pytest.mark.slow
def test_an_effect_the_other_way_round_is_not_supported() -> None:
    def worse(net: str, method: str, pair: str) -> float:
        return 0.9 if method == "no-cone" else 0.1

    found = verdicts_on(study(agreed=worse))
    assert (found["cone projection"].verdict, found["cone projection"].overall) == ("not supported", "not supported")
    assert found["no adversarial example"].overall == "not supported"


def test_rejection_buys_what_the_oracles_see_more_of_in_those_that_the_classifier_sees() -> None:
    """Worked out by hand: of 60 images the classifier sees 30, of which the oracles see 24, and 6 of the others."""

    def seen(net: str, method: str, pair: str) -> float:
        return 0.5 if method == "no-cone" and net != "rand" else as_in_the_paper(net, method, pair)

    of = study(seen=seen)
    for one, rows in of.items():
        if one.method == "no-cone":
            said = [n % 60 < 24 or 30 <= n % 60 < 36 for n in range(len(rows))]
            of[one] = [
                row.model_copy(update={"oracles": dict.fromkeys(row.oracles, row.target if valid else "red")})
                for row, valid in zip(rows, said, strict=True)
            ]
    found = verdicts_on(of)
    kept, cone = found["of those kept"], found["less than the cone"]
    assert (kept.effect, kept.verdict) == (pytest.approx(24 / 30 - 30 / 60), "supported")
    assert cone.effect == pytest.approx(1 - 24 / 30)  # the cone's are the first 54 images
    assert (kept.n_scored, cone.n_scored) == (180, 90)


def test_rejection_buys_nothing_where_the_oracles_see_as_much_in_what_it_drops() -> None:
    of = study(seen=lambda net, method, pair: 0.5, agreed=lambda *_: 1.0)
    row = verdicts_on(of)["of those kept"]
    assert (row.effect, row.verdict) == (0, "undecided")


def test_the_error_of_rejections_gain_is_that_of_drawing_images_anew() -> None:
    import numpy as np

    from cfeval.vce.tables.claims import Reading, gain_of_part
    from cfeval.vce.tables.group_scores import Cell

    random = np.random.default_rng(1)
    seen, valid = random.random(400) < 0.4, random.random(400) < 0.5
    valid |= seen  # the oracles follow the classifier
    cells = [Cell(f"i{n}", "near") for n in range(400)]
    values = gain_of_part(
        Reading(dict(zip(cells, valid.astype(float), strict=True))),
        Reading({cell: float(valid[n]) for n, cell in enumerate(cells) if seen[n]}),
    ).values
    of = np.array(list(values.values()))
    drawn = random.integers(0, 400, (2000, 400))
    gains = [valid[some][seen[some]].mean() - valid[some].mean() for some in drawn]
    assert of.mean() == pytest.approx(valid[seen].mean() - valid.mean())
    assert of.std() / 20 == pytest.approx(np.std(gains), rel=0.1)


def test_no_effect_is_undecided() -> None:
    found = verdicts_on(study(seen=lambda *_: 0.5, agreed=lambda *_: 0.5))
    assert {found[part].verdict for part in ("valid", "cone projection", "x0-prediction")} == {"undecided"}


def test_the_robust_classifier_and_the_random_one_are_no_witnesses() -> None:
    of = study()
    lying = {
        one: [s.model_copy(update={"oracles": {**s.oracles, "adv": s.target, "rand": s.target}}) for s in rows]
        for one, rows in of.items()
        if one.classifier not in ("adv", "rand")
    }
    assert verdicts_on(of | lying)["cone projection"].effect == verdicts_on(of)["cone projection"].effect


@pytest.mark.parametrize("by_image", [True, False])
def test_those_who_are_oracles_only_are_witnesses_too(by_image: bool) -> None:
    found = [group("cnn", "base", {"ta": 1.0, "ota_vit": 1.0, "ota_mean": 0.0}, source=f"s{n}") for n in range(3)]
    of = {condition("cnn", "base"): scores("cnn", "base", as_in_the_paper, oracles_as_in_the_paper)} if by_image else {}
    rows = {row.part: row for row in HYPOTHESES.rows(made_of(found, MINE, of))}
    assert rows["no adversarial example"].effect == pytest.approx(0.9 if by_image else 1.0)


def test_a_failure_is_never_a_score_and_pairs_need_both_sides() -> None:
    of = study()
    gone = {"status": Status.REJECTED, "predicted": None, "oracles": {}, "distances": {}}
    rows = of[condition("cnn", "no-cone")]
    of[condition("cnn", "no-cone")] = [row.model_copy(update=gone) for row in rows[:10]] + rows[10:]
    row = verdicts_on(of)["cone projection"]
    assert (row.n, row.n_scored, row.missing) == (180, 170, "rejected 10")


def test_without_scores_of_images_the_papers_groups_point_the_papers_way_but_six_classes_decide_nothing() -> None:
    rows = HYPOTHESES.rows(made_of(of_the_paper(), ROLES))
    effects = {row.part: row.effect or 0 for row in rows}
    assert effects["valid"] > 0.5 > effects["no adversarial example"]
    assert min(effects["cone projection"], effects["x0-prediction"], effects["bad targets are worse"]) > 0.2
    assert effects["no meaningful change"] == pytest.approx(0.1917, abs=1e-3)
    assert effects["never valid"] == effects["robust unchanged"] == 0
    assert {row.unit for row in rows} == {"source class"}
    assert {row.verdict for row in rows} == {"undecided"}
    assert min(row.p or 1 for row in rows) == pytest.approx(2 / 64, abs=1e-4)


def test_a_part_without_its_condition_is_undecided_and_says_so() -> None:
    only = {one: rows for one, rows in study().items() if one.method == "base"}
    groups = [one for one in fitting_groups() if one.condition.method == "base"]
    rows = HYPOTHESES.rows(made_of(groups, MINE, only))
    found = {row.part: row for row in rows}
    assert found["cone projection"].note == "no condition, or no figure, to test it on"
    assert (found["cone projection"].verdict, found["cone projection"].effect) == ("undecided", None)
    assert found["no meaningful change"].note.startswith("no unguided condition")


def test_p_is_adjusted_over_the_whole_table_and_readers_see_every_verdict() -> None:
    rows = HYPOTHESES.rows(made_of(fitting_groups(), MINE, study()))
    assert all(row.p_holm >= row.p for row in rows if row.p is not None and row.p_holm is not None)
    text = markdown(HYPOTHESES.render(rows))
    assert "H4 supported" in text
    assert text.count("\n| H") == 1 + 10
