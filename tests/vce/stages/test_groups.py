"""The figures of groups, on images of plain colours."""

import numpy as np
import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.vce.metrics.realism import frechet_distance
from cfeval.vce.records import GroupScore, VceCondition, VceCounterfactual, VceScore
from cfeval.vce.stages.group_figures import Distributions
from cfeval.vce.stages.group_scores import group_scores
from cfeval.vce.stages.scores import Measures, scores
from tests.vce.stages.colors import Apart, Colors, Means, as_sample, plain, record, views

CONDITION = VceCondition(image_set="plain", denoiser="none", classifier="colors", method="by-hand")
REDS = {f"r{n}": plain(200 + 10 * n, 10 * n, 5 * n * n) for n in range(6)}
GREENS = {
    f"r{n}-green-{repeat}": plain(10 * n, 150 + 20 * n - 30 * repeat, 20 * repeat + n)
    for n in range(6)
    for repeat in range(2)
}
BLUES = {f"r{n}-blue-0": plain(150, 20 * n, 50 * n) for n in range(6)}
IMAGES = REDS | GREENS | BLUES
RECORDS = [
    *(record(f"r{n}", "green", repeat) for n in range(6) for repeat in range(2)),
    *(record(f"r{n}", "blue", pair="other") for n in range(6)),
]


def measured(records: list[VceCounterfactual], **oracles: Colors) -> list[VceScore]:
    measures = Measures(Colors("red", "green", "blue"), oracles, {"apart": Apart()}, cout_steps=0)
    return list(scores([records], views(IMAGES), measures))


def grouped(found: list[VceScore], **changes: object) -> list[GroupScore]:
    given = {"views": views(IMAGES), "extractors": {"fd": Means()}, "splits": 3, "batch": 4}
    distributions = Distributions(**given | changes)  # type: ignore[arg-type]
    return list(group_scores(found, CONDITION, distributions, {"apart": Apart()}, seed=1))


def features(names: list[str]) -> np.ndarray:
    return np.array([IMAGES[name].pixels.mean(axis=(0, 1)) for name in names])


def test_a_group_has_a_score_with_its_shares_and_means() -> None:
    found = measured(RECORDS, blind=Colors("red", "green", "blue"), other=Colors("blue", "green"))
    green, blue = grouped(found)
    assert (green.group.target, green.group.pair, green.n, green.n_scored) == ("green", "ideal", 12, 12)
    assert (blue.group.target, blue.group.pair, blue.n, blue.n_scored) == ("blue", "other", 6, 6)
    assert green.condition == blue.condition == CONDITION
    assert green.figures["ta"] == green.figures["fr"] == green.figures["ota_blind"] == green.figures["ota_mean"] == 1
    assert blue.figures["ta"] == pytest.approx(2 / 6, abs=1e-6)  # the two that are bluer than 150
    assert blue.figures["oa"] == 1 - blue.figures["fr"]
    assert blue.figures["os_blind"] == 1
    assert blue.figures["ota_majority"] <= blue.figures["ota_mean"]
    of_blue = [score for score in found if score.target == "blue"]
    assert blue.figures["d1"] == pytest.approx(np.mean([score.distances["d1"] for score in of_blue]), abs=1e-5)
    assert blue.figures["p_target"] == pytest.approx(np.mean([score.p_target for score in of_blue]), abs=1e-5)
    assert not any(name.endswith("_batch") for name in blue.figures)


def test_failures_are_counted_and_never_scored() -> None:
    failed = {"status": Status.REJECTED, "stage": "counterfactuals", "reason": "not in the target class"}
    records = [record(f"r{n}", "green", **(failed if n % 2 else {})) for n in range(6)]
    [some] = grouped(measured(records))
    assert (some.n, some.n_scored, some.missing) == (6, 3, {"rejected": 3})
    assert some.figures["ta"] == 1
    [none] = grouped(measured([record("r0", "green", **failed)]))
    assert (none.n, none.n_scored, none.missing, none.figures) == (1, 0, {"rejected": 1}, {})


def test_distances_of_distributions_are_to_the_originals_of_the_group() -> None:
    green, blue = grouped(measured(RECORDS))
    assert green.figures["fd"] == pytest.approx(frechet_distance(features([*REDS]), features([*GREENS])), abs=1e-5)
    assert blue.figures["fd"] == pytest.approx(frechet_distance(features([*REDS]), features([*BLUES])), abs=1e-5)
    assert green.figures["fd_floor"] != blue.figures["fd_floor"]  # halves are drawn for each group
    assert 0 < green.figures["fd_floor"] < green.figures["sfd"]
    assert "fd_target" not in green.figures


def test_originals_count_whatever_became_of_their_counterfactuals() -> None:
    failed = {"status": Status.REJECTED, "stage": "s", "reason": "r"}
    records = [record(f"r{n}", "blue", **(failed if n > 3 else {})) for n in range(6)]
    [blue] = grouped(measured(records))
    assert blue.figures["fd"] == pytest.approx(frechet_distance(features([*REDS]), features([*BLUES][:4])), abs=1e-5)


def test_with_no_more_images_than_features_only_the_kernel_distance_is_given() -> None:
    failed = {"status": Status.REJECTED, "stage": "s", "reason": "r"}
    [blue] = grouped(measured([record(f"r{n}", "blue", **(failed if n > 2 else {})) for n in range(6)]))
    assert {name for name in blue.figures if "fd" in name or "kd" in name} == {"kd_fd", "kd_fd_se"}


def test_the_distance_to_the_target_class_is_a_figure_of_its_own() -> None:
    real = {"green": [plain(0, 200 + n, n) for n in range(5)], "blue": []}
    green, blue = grouped(measured(RECORDS), targets=real.__getitem__)
    wanted = np.array([[0, 200 + n, n] for n in range(5)])
    assert green.figures["fd_target"] == pytest.approx(frechet_distance(wanted, features([*GREENS])), abs=1e-5)
    assert "fd_target" not in blue.figures


def test_diversity_is_between_counterfactuals_of_one_image() -> None:
    green, blue = grouped(measured(RECORDS))
    assert green.figures["diversity_apart"] == pytest.approx((30 + 20) / 3 / 127.5, abs=1e-5)
    assert "diversity_apart" not in blue.figures  # one repeat only


def test_one_counterfactual_has_no_distance_of_distributions() -> None:
    [one] = grouped(measured(RECORDS[:1]))
    assert one.figures["ta"] == 1
    assert not [name for name in one.figures if "fd" in name]


def test_features_of_the_same_originals_are_computed_once() -> None:
    means = Means()
    grouped(measured(RECORDS), extractors={"fd": means})
    assert sum(len(images) for images in means.seen) == len(IMAGES)


def test_the_reference_evaluation_wraps_bytes_and_takes_norms_of_batches() -> None:
    samples = {name: as_sample(image) for name, image in IMAGES.items()}
    means = Means()
    found = measured(RECORDS)
    green, _ = grouped(found, views=views(IMAGES, samples), extractors={"fd": means})
    first = IMAGES["r0"].pixels[0, 0].astype(np.float32)
    wrapped = np.trunc((first / 255 * 2 - 1) * 255).astype(int) % 256
    assert means.seen[0][0, :, 0, 0].tolist() == wrapped.tolist()
    of_green = np.array([score.distances["d2"] for score in found if score.target == "green"])
    assert green.figures["d2_batch"] == pytest.approx((of_green**2).sum() ** 0.5, abs=1e-5)


def test_an_oracle_cannot_be_called_as_the_committee() -> None:
    with pytest.raises(InputError, match="an oracle is called 'majority'"):
        grouped(measured(RECORDS, majority=Colors("green", "blue")))


def test_the_order_of_the_scores_does_not_matter() -> None:
    found = measured(RECORDS)
    assert grouped(found) == grouped(found[::-1]) == grouped(found[1::2] + found[::2])
