"""The field's table: what fills a column, what counts in the flip rate, and published figures of the same classes."""

import pytest

from cfeval.core.jsonl import read_csv
from cfeval.report.tables import markdown
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import PublishedFigure, group_material
from cfeval.vce.tables.methods import FIELD
from cfeval.vce.tables.metrics import label
from tests.vce.tables.groups import REFERENCE, group

PUBLISHED = tuple(read_csv(REFERENCE / "vce-published.csv", PublishedFigure))


def both(**figures: float) -> list[GroupScore]:
    common = {"fr": 1.0, "mnac_celeba": 3.0, "cd_celeba": 2.0, "fid_2048_both": 20.0, "fid_2048": 90.0, **figures}
    there = group(figures=common, source="zebra", target="sorrel", n=10, missing={"rejected": 4})
    back = group(figures=common | {"mnac_celeba": 5.0}, source="sorrel", target="zebra", n=10)
    return [there, back, group(figures=common, source="zebra", target="alp", pair="other")]


def test_both_directions_are_one_row_and_published_figures_follow() -> None:
    ours, theirs = FIELD.rows(group_material(both(), others=PUBLISHED))
    assert (ours.classes, ours.n_groups, ours.n, ours.n_scored) == ("sorrel / zebra", 2, 20, 16)
    assert (ours.fid, ours.mnac, ours.cd) == (20, 4, 2)
    assert ours.fr == pytest.approx((0.6 + 1) / 2), "what was rejected did not flip"
    assert (theirs.method, theirs.fid, theirs.mnac) == ("MaskDiME", 32.5, None)
    text = markdown(FIELD.render([ours, theirs]))
    assert "MaskDiME 2026" in text
    assert "FVA" not in text.split("\n\n")[1], "no column that nothing fills"


def test_other_classes_have_no_published_figures_and_a_failure_flips_nothing() -> None:
    gone = group(figures={}, source="a", target="b", n=4, missing={"rejected": 4})
    [row] = FIELD.rows(group_material([gone], others=PUBLISHED))
    assert (row.classes, row.source, row.fr, row.fid) == ("a / b", "", 0, None)


def test_features_of_another_width_or_network_never_fill_the_column_of_fid() -> None:
    [row] = FIELD.rows(
        group_material([group(figures={"fid_64": 1.0, "fd_enl0_40": 2.0, "s3_enl0": 0.5, "fs_enl0": 0.4})])
    )
    assert (row.fid, row.s3, row.fs) == (None, None, None)


def test_readers_see_what_the_new_figures_are() -> None:
    labels = {name: label(name) for name in ("mnac_celeba", "cd_celeba", "fva", "fs", "sfid_2048_both")}
    assert labels == {
        "mnac_celeba": "MNAC celeba ↓",
        "cd_celeba": "CD celeba ↓",
        "fva": "FVA ↑",
        "fs": "FS ↑",
        "sfid_2048_both": "sFID (2048) of both directions ↓",
    }
