"""The section `vce`: names that nothing defines, figures with a wrong name, contradicting roles."""

from copy import deepcopy
from typing import Any

import pytest

from cfeval.config import parse
from cfeval.core.errors import ParamsError
from cfeval.vce.asked import makers, perceptual_of, robust_of
from cfeval.vce.config import Vce, used_by_vce
from tests.test_config import GOOD as EDCT

NAMES = {"image_set": ["i"], "denoiser": ["d"], "classifier": ["c", "r"], "method": ["base", "plain"]}
WORLD = {"plugin": "world"}
GOOD: dict[str, Any] = {
    "images": 2,
    "size": 32,
    "seed": 1,
    "image_sets": {"i": WORLD},
    "denoisers": {"d": WORLD},
    "classifiers": {"c": WORLD, "r": WORLD | {"kind": "robust"}},
    "robust": "r",
    "oracles": ["c", "r"],
    "methods": {"base": {"preset": "dbvce"}, "plain": {"preset": "dbvce", "projection": "none"}},
    "groups": [{"source": "red circle", "ideal": "red square", "others": ["blue star", "red star"]}],
    "conditions": [NAMES],
    "roles": {"base": "base", "no_cone": "plain", "robust": ["r"]},
}


def parsed(**changes: Any) -> Vce:
    found = parse(deepcopy(EDCT) | {"vce": deepcopy(GOOD) | changes}).vce
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"conditions": [NAMES | {"denoiser": ["e"]}]}, "conditions name 'e', which vce.denoisers does not define"),
        ({"conditions": [NAMES | {"method": ["bas"]}]}, "which vce.methods does not define; did you mean 'base'?"),
        ({"concept_editors": {"base": {"plugin": "instructed"}}}, "'base' is a method and a concept editor; give one"),
        ({"roles": {"null_edits": "nul"}}, "roles.null_edits names 'nul', which vce.concept_editors does not define"),
        ({"oracles": ["x"]}, "oracles and robust name 'x', which vce.classifiers does not define"),
        ({"robust": "rr"}, "'rr', which vce.classifiers does not define; did you mean 'r'?"),
        ({"robust": None}, "the method 'base' projects onto a cone; set vce.robust to the name of a robust classifier"),
        ({"dime_perceptual": "p"}, "dime_perceptual names 'p', which vce.perceptual_metrics does not define"),
        ({"methods": GOOD["methods"] | {"base": {"preset": "dime"}}}, "name its distance in `dime_perceptual`"),
        ({"methods": GOOD["methods"] | {"base": {"preset": "dvbce"}}}, "vce.methods.base"),
        (
            {"methods": GOOD["methods"] | {"base": {"preset": "region-constrained", "region_cell": 5}}},
            "cells of 5 pixels, which do not divide the size 32; set its region_cell to a divisor",
        ),
        ({"classifiers": GOOD["classifiers"] | {"r": WORLD | {"repeat": 2}}}, "classifiers.r: nothing is repeated"),
        ({"groups": [{"source": "a", "ideal": "a"}]}, "'a' is its own target; name another class"),
        ({"groups": [{"source": "a", "ideal": "b", "others": ["b"]}]}, "a target of 'a' is named twice"),
        ({"groups": [{"source": "a", "ideal": "b"}] * 2}, "groups name the source 'a' twice; join the two"),
        ({"groups": []}, "vce.groups"),
        ({"perceptual_metrics": {"lpips": {"plugin": "st_lpips"}}}, "'lpips' is kept for the plugin lpips"),
        ({"perceptual_metrics": {"cout": {"plugin": "st_lpips"}}}, "'cout' is the name of another figure"),
        (
            {"feature_extractors": {"fid_64": {"plugin": "efficientnet_lite"}}},
            "'fid_64' is kept for the plugin inception",
        ),
        ({"feature_extractors": {"fid_64": {"plugin": "inception"}}}, "'fid_64' has 2048 features; call it fid_2048"),
        (
            {"perceptual_metrics": {"x": {"plugin": "st_lpips"}}, "feature_extractors": {"x": {"plugin": "inception"}}},
            "two figures are called 'x'",
        ),
        ({"embeddings": {"s3": {"plugin": "efficientnet_lite"}}}, "'s3' is kept for the plugin simsiam"),
        ({"embeddings": {"fs": {"plugin": "efficientnet_lite"}}}, "'fs' is kept for the plugin vggface2"),
        ({"embeddings": {"mnac_x": {"plugin": "efficientnet_lite"}}}, "'mnac_x' is the name of another figure"),
        ({"roles": {"base": "bse"}}, "roles name the method 'bse', which vce.methods does not define"),
        ({"roles": {"robust": ["q"]}}, "roles name the classifier 'q', which vce.classifiers does not define"),
        ({"roles": {"paper": {"q": "Madry"}}}, "roles name the classifier 'q'"),
        ({"roles": {"robust": ["r"], "random": ["r"]}}, "'r' is called random and trained; name it once"),
        ({"roles": {"base": "base", "no_x0": "base"}}, "the method 'base' stands for two things"),
        ({"imges": 3}, "unknown key 'vce.imges'; did you mean 'images'?"),
        ({"compute": {"bach": 3}}, "unknown key 'vce.compute.bach'; did you mean 'batch'?"),
        ({"methods": {"base": {"preset": "dbvce", "angel": 3}}}, "'vce.methods.base.angel'; did you mean 'angle'?"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_fault_is_named_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParamsError) as error:
        parsed(**changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_extractors": {"fid_64": {"plugin": "inception", "width": 64}}},
        {"embeddings": {"s3_enl0": {"plugin": "efficientnet_lite"}}},
        {"embeddings": {"s3": {"plugin": "simsiam"}}},
        {"robust": None, "conditions": [NAMES | {"method": ["plain"]}]},
    ],
)
def test_what_names_the_right_thing_is_taken(changes: dict[str, Any]) -> None:
    assert parsed(**changes)


def test_conditions_groups_and_repeats_follow_from_all_blocks() -> None:
    more = {"image_set": ["i"], "denoiser": ["d"], "classifier": ["c"], "method": ["base"]}
    vce = parsed(conditions=[NAMES, more | {"pairs": ["other"], "repeats": 3}])
    conditions = vce.all_conditions()
    assert [(condition.classifier, condition.method) for condition in conditions] == [
        (classifier, method) for classifier in ("c", "r") for method in ("base", "plain")
    ]
    assert [group.target for group in vce.groups_of(conditions[0])] == ["red square", "blue star", "red star"]
    assert [group.pair for group in vce.groups_of(conditions[1])] == ["ideal"]
    assert [vce.repeats_of(condition) for condition in conditions] == [3, 1, 1, 1]
    assert [list(vce.oracles_of(condition)) for condition in (conditions[0], conditions[2])] == [["r"], ["c"]], (
        "nobody testifies for itself"
    )


def test_roles_say_what_methods_and_classifiers_are() -> None:
    roles = parsed(roles=GOOD["roles"] | {"random": ["c"]}).roles
    assert [roles.of_method(name) for name in ("base", "plain", "other")] == ["base", "no cone", ""]
    assert [roles.of_classifier(name) for name in ("r", "c", "other")] == ["robust", "random", ""]
    assert [roles.is_oracle(name) for name in ("r", "c")] == [True, False]


def test_a_study_without_the_section_has_none() -> None:
    assert parse(EDCT).vce is None


def test_the_reference_evaluation_is_not_cut_into_shards() -> None:
    reference = {"base": {"preset": "dbvce", "mode": "reference"}, "plain": GOOD["methods"]["plain"]}
    cut = deepcopy(EDCT) | {"shards": 2, "vce": GOOD | {"methods": reference}}
    assert parse(cut).vce, "without perceptual distances nothing looks at a whole group"
    cut["vce"] |= {"perceptual_metrics": {"st_lpips": {"plugin": "st_lpips"}}}
    with pytest.raises(ParamsError, match=r"'base' has mode 'reference', .* set shards: 1"):
        parse(cut)
    assert parse(cut | {"shards": 1}).vce


def test_a_condition_may_name_a_concept_editor_whose_plugin_is_then_used() -> None:
    editors = {"words": {"plugin": "instructed"}, "others": {"plugin": "instructed", "edits": 2}}
    found = parsed(concept_editors=editors, conditions=[NAMES | {"classifier": ["c"], "method": ["words"]}])
    [condition] = found.all_conditions()
    assert [used.name for used in used_by_vce(found) if used.section == "concept_editors"] == ["words"]
    assert [family for family, _ in makers(found, condition)] == ["concept_editors", "classifiers"]
    assert (robust_of(found, condition), perceptual_of(found, condition)) == ("", "")
