"""A known figure's name is kept for the real thing."""

import pytest

from cfeval.vce.config import Specs, check_figures

ST = {"plugin": "st_lpips"}
LITE = {"plugin": "efficientnet_lite"}


def test_figures_with_names_of_their_own_pass() -> None:
    check_figures({"st_lpips": ST}, {"fd_enl0_40": LITE}, {"s3_enl0": LITE | {"width": 1280}})
    check_figures(
        {"lpips": {"plugin": "lpips"}, "lpips_vgg": {"plugin": "lpips", "net": "vgg"}},
        {"fid_64": {"plugin": "inception", "width": 64}, "fid_2048": {"plugin": "inception"}},
        {"s3": {"plugin": "simsiam"}},
    )


@pytest.mark.parametrize(
    ("distances", "features", "embeddings", "said"),
    [
        ({"lpips": ST}, {}, {}, "'lpips' is kept for the plugin lpips, and this is st_lpips"),
        ({"lpips_st": ST}, {}, {}, "'lpips_st' is kept"),
        ({}, {"fid_40": LITE}, {}, "'fid_40' is kept for the plugin inception"),
        ({}, {"fid_64": {"plugin": "inception"}}, {}, "'fid_64' has 2048 features; call it fid_2048"),
        ({}, {}, {"s3": LITE}, "'s3' is kept for the plugin simsiam"),
        ({"d1": ST}, {}, {}, "'d1' is the name of another figure"),
        ({"same": ST}, {"same": LITE}, {}, "two figures are called 'same'"),
    ],
)
def test_a_name_that_promises_something_else_is_refused(
    distances: Specs, features: Specs, embeddings: Specs, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_figures(distances, features, embeddings)
