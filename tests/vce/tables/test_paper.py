"""Tables 2 to 6 of DBVCE, from the groups that its authors published; and what is missing."""

import pytest

from cfeval.core.errors import InputError
from cfeval.report.tables import csv_text, markdown
from cfeval.vce.config import Roles
from cfeval.vce.tables import paper
from cfeval.vce.tables.group_scores import shown
from cfeval.vce.tables.methods import METHODS
from cfeval.vce.tables.metrics import label, ordered
from cfeval.vce.tables.paper import DifferenceRow, SummaryRow
from tests.listed import TABLES as LISTED
from tests.vce.tables.groups import PAPER, ROLES, group, made_of, of_the_paper, published

SCALE = {"d1_batch": 1e6, "d1_5_batch": 1e3, "d2_batch": 1e3}
HALF_OF_THE_LAST_DECIMAL = 0.00501
SMALL = Roles.model_validate(
    {**{"base": "base", "no_cone": "no-cone", "unguided": "unguided"}, "robust": ["adv"], "random": ["rand"]}
)


def cells(rows: list[SummaryRow] | list[DifferenceRow]) -> dict[tuple[str, str], SummaryRow | DifferenceRow]:
    return {(row.classifier, row.metric): row for row in rows}


@pytest.mark.parametrize(("table", "cells_of_the_paper"), [(2, 121), (3, 51), (4, 51), (5, 51), (6, 51)])
def test_every_cell_of_the_paper_follows_from_the_authors_groups(table: int, cells_of_the_paper: int) -> None:
    rows = LISTED["vce"][f"table{table}"].load().rows(made_of(of_the_paper()))
    beside = [row for row in rows if row.paper_mean is not None]
    assert len(beside) == cells_of_the_paper
    for row in beside:
        tolerance = HALF_OF_THE_LAST_DECIMAL * SCALE.get(row.metric, 1)
        assert (row.mean, row.sd) == pytest.approx((row.paper_mean, row.paper_sd), abs=tolerance), row


def test_the_base_to_three_decimals_and_what_changes_without_cone_or_x0() -> None:
    made = made_of(of_the_paper())
    base = cells(paper.TABLE3.rows(made))
    names = PAPER[:6]
    assert [base[name, "ta"].mean for name in names] == pytest.approx([0.84, 0.993, 0.993, 0.953, 0.9, 0.45], abs=5e-4)
    spreads = [base[name, "ta"].sd for name in names]
    assert spreads == pytest.approx([0.105, 0.015, 0.009, 0.036, 0.076, 0.288], abs=5e-4)
    without = {4: [0.84, 0.983, 0.957, 0.833, 0.713, 0.573], 5: [0.84, 0.913, 0.997, 0.37, 0.353, 0.003]}
    for table, means in without.items():
        changed = cells(LISTED["vce"][f"table{table}"].load().rows(made))
        found = [base[name, "ta"].mean + changed[name, "ta"].mean for name in names]  # type: ignore[operator]
        assert found == pytest.approx(means, abs=1e-3)
    drops = [cells(paper.TABLE4.rows(made))[name, "ota_Madry"].mean for name in PAPER[1:5]]
    assert drops == pytest.approx([0.027 - 0.317, 0.053 - 0.36, 0.013 - 0.283, 0.013 - 0.303], abs=1e-3)


def test_a_classifier_is_no_oracle_of_itself_and_a_random_one_none_in_table_3() -> None:
    made = made_of(of_the_paper())
    every, minimal = cells(paper.TABLE2.rows(made)), cells(paper.TABLE3.rows(made))
    assert not [(name, metric) for name, metric in every if metric in (f"os_{name}", f"ota_{name}")]
    assert ("Madry", "ota_RandomNet") in every
    assert not [metric for _, metric in minimal if metric in ("ota_RandomNet", "ota_SIMCLR", "oa", "d2_batch")]
    line = next(
        line for line in markdown(paper.TABLE3.render(paper.TABLE3.rows(made))).splitlines() if "OTA Madry" in line
    )
    assert line.split("|")[2].strip() == ""


def test_the_spread_is_the_populations_in_table_3_and_the_samples_in_table_4() -> None:
    two = [group(figures={"ta": value}, source=name) for name, value in (("a", 0.2), ("b", 0.6))]
    apart = [group(method="no-cone", figures={"ta": value}, source=name) for name, value in (("a", 0.1), ("b", 0.9))]
    (base,), (changed,) = paper.TABLE3.rows(made_of(two, SMALL)), paper.TABLE4.rows(made_of([*two, *apart], SMALL))
    assert (base.mean, base.sd, base.n, base.n_groups) == (0.4, 0.2, 8, 2)
    assert (changed.mean, changed.sd) == (0.1, pytest.approx((0.8 - 0.4) / 2**0.5, abs=1e-4))
    assert (changed.base_mean, changed.other_mean) == (0.4, 0.5)


def test_one_group_has_no_spread_of_a_sample() -> None:
    one = [group(figures={"ta": 0.5}), group(method="no-cone", figures={"ta": 0.25})]
    assert [(row.mean, row.sd) for row in paper.TABLE4.rows(made_of(one, SMALL))] == [(-0.25, None)]


def test_what_is_missing_is_counted_and_never_a_score() -> None:
    full = group(figures={"ta": 1.0, "lpips": 0.3}, source="a")
    part = group(figures={"ta": 1.0}, source="b", missing={"rejected": 2, "no_image": 1})
    none = group(source="c", missing={"rejected": 4})
    found = cells(paper.TABLE3.rows(made_of([full, part, none], SMALL)))
    ta, distance = found["cnn", "ta"], found["cnn", "lpips"]
    assert (ta.mean, ta.n, ta.n_scored, ta.n_groups, ta.n_groups_missing) == (1.0, 12, 5, 2, 1)
    assert ta.missing == "rejected 6, no_image 1"
    assert (distance.mean, distance.n_groups, distance.n_groups_missing) == (0.3, 1, 2)


def test_a_group_that_one_side_lacks_is_left_out_of_the_difference_and_counted() -> None:
    base = [group(figures={"ta": 0.8}, source="a"), group(figures={"ta": 0.2}, source="b")]
    other = [group(method="no-cone", figures={"ta": 0.5}, source="a")]
    (row,) = paper.TABLE4.rows(made_of([*base, *other], SMALL))
    assert (row.mean, row.n_groups, row.n_base_groups, row.n_groups_missing) == (-0.3, 1, 1, 2)


def test_other_targets_are_held_against_the_ideal_ones_of_the_base() -> None:
    groups = [group(figures={"ta": 0.9})]
    groups += [group(figures={"ta": value}, target=name, pair="other") for name, value in (("x", 0.1), ("y", 0.3))]
    (row,) = paper.TABLE6.rows(made_of(groups, SMALL))
    assert (row.mean, row.base_mean, row.n, row.n_base) == (-0.7, 0.9, 8, 4)


def test_the_papers_cells_stand_only_beside_the_classifier_and_figure_they_are_of() -> None:
    mapped = SMALL.model_copy(update={"paper": {"adv": "Madry", "cnn": "AlexNet"}})
    figures = {"ta": 0.9, "st_lpips": 0.2, "ota_cnn": 0.5, "ota_vit": 0.5}
    found = cells(
        paper.TABLE3.rows(made_of([group("adv", figures=figures), group("vit", figures={"ta": 0.1})], mapped))
    )
    assert found["adv", "ta"].paper_mean == 0.84
    assert found["adv", "ota_cnn"].paper_mean == 0.72
    assert found["adv", "st_lpips"].paper_mean is None
    assert found["adv", "ota_vit"].paper_mean is None
    assert found["vit", "ta"].paper_mean is None


def test_methods_average_ota_over_the_trained_oracles_but_the_classifier() -> None:
    figures = {"ta": 1.0, "ota_adv": 0.4, "ota_vit": 0.8, "ota_rand": 0.0, "ota_cnn": 1.0}
    found = cells(METHODS.rows(made_of([group(figures=figures)], SMALL)))
    assert found["cnn", "ota"].mean == pytest.approx(0.6)
    assert ("cnn", "ota_adv") not in found


def test_methods_show_calls_where_they_are_told() -> None:
    made = made_of([group(figures={"ta": 1.0})], SMALL)
    told = type(made)(made.conditions, made.roles, cost={"base": {"denoiser_calls": 50}})
    assert cells(METHODS.rows(told))["cnn", "denoiser_calls"].mean == 50
    assert "Denoiser calls each ↓" in markdown(METHODS.render(METHODS.rows(told)))


def test_the_unguided_baseline_tells_what_keeps_its_class() -> None:
    rows = paper.UNGUIDED.rows(made_of([group(method="unguided", figures={"ta": 0.02, "oa": 0.8})], SMALL))
    assert cells(rows)["cnn", "oa"].mean == 0.8
    assert {row.role for row in rows} == {"unguided"}


@pytest.mark.parametrize("name", LISTED["vce"])
@pytest.mark.parametrize("roles", [SMALL, Roles()])
def test_a_table_without_groups_is_empty_and_says_why(name: str, roles: Roles) -> None:
    table = LISTED["vce"][name].load()
    found = table.rows(made_of([], roles))
    assert found == []
    assert "Empty: " in markdown(table.render(found))
    assert csv_text(table.row, found).count("\n") == 1


def test_two_settings_stand_in_blocks_of_their_own() -> None:
    first = group(figures={"ta": 0.5})
    second = first.model_copy(update={"condition": first.condition.model_copy(update={"image_set": "photos"})})
    text = markdown(paper.TABLE3.render(paper.TABLE3.rows(made_of([first, second], SMALL))))
    assert "| Image set | Denoiser | Metric | cnn |" in text
    assert "| photos | ddpm | TA ↑ | 0.500 ± 0.000 |" in text


def test_a_group_given_twice_is_one_line() -> None:
    with pytest.raises(InputError, match="two scores of the group red circle → blue circle of set/ddpm/cnn/base"):
        made_of([group(), group()])


def test_figures_stand_in_the_papers_order_and_point_to_where_they_are_better() -> None:
    expected = ["ta", "oa", "os_b", "ota_b", "ota_a", "d1", "lpips", "fid_64", "fid_64_floor", "diversity_lpips", "z"]
    assert ordered(sorted(expected), ["b", "a"]) == expected
    assert [label(name) for name in ("ta", "oa", "ota_a", "lpips", "fid_64_floor", "diversity_st_lpips")] == [
        *("TA ↑", "OA ↓", "OTA a ↑", "LPIPS ↓", "FID (64), floor", "Diversity, ST-LPIPS ↑")
    ]
    assert label("os_rand", ["rand"]) == "OS rand ↓"


def test_cells_have_the_decimals_that_they_need() -> None:
    assert shown(-0.0371, 0.0551) == "−0.037 ± 0.055"
    assert shown(1486123.4, 21.0) == "1,486,123 ± 21"
    assert shown(None) == ""


def test_one_method_stands_for_one_thing() -> None:
    with pytest.raises(ValueError, match="the method 'm' stands for two things"):
        Roles(base="m", no_cone="m")
    with pytest.raises(ValueError, match="'a' is called random and trained"):
        Roles(robust=("a",), random=("a",))


def test_what_is_published_names_only_classifiers_of_the_paper() -> None:
    assert {cell.classifier for cell in published()} == set(PAPER) == set(ROLES.paper.values())
    assert len(published()) == 325
