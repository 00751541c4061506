"""Where counterfactuals change: a painted region is named, and noise is not; examples are not picked by hand."""

from pathlib import Path

import numpy as np
import pytest

from cfeval.core.images import Image
from cfeval.vce.config import Roles
from cfeval.vce.endings import Ending
from cfeval.vce.predictions import REGIONS
from cfeval.vce.records import SourceImage, VceCondition, VceCounterfactual, VceScore
from cfeval.vce.report.examples import FEW, chosen, regions
from cfeval.vce.report.items import Made

SIDE = 24
CONDITION = VceCondition(image_set="photos", denoiser="ddpm", classifier="mine", method="base")
TESTS = Roles.model_validate({"tests": {"resamples": 200}}).tests


def made(folder: Path, number: int, place: int | None, ending: Ending = "valid", d2: float = 1.0) -> Made:
    """A counterfactual with noise everywhere, and a patch in one of the nine regions."""
    rng = np.random.default_rng(number)
    before = rng.integers(80, 120, (SIDE, SIDE, 3)).astype(np.uint8)
    after = (before + rng.integers(0, 12, before.shape)).astype(np.uint8)
    if place is not None:
        row, column = (8 * part for part in divmod(place, 3))
        after[row : row + 8, column : column + 8] += 100
    names = {"source": "cat", "target": "fox", "pair": "ideal"}
    files = [Image.from_pixels(pixels) for pixels in (before, after)]
    paths = [f"{number}-{place}-{end}.png" for end in ("before", "after")]
    for path, file in zip(paths, files, strict=True):
        (folder / path).write_bytes(file.png)
    refs = [file.ref(path) for path, file in zip(paths, files, strict=True)]
    key = {"id": f"c{number:03d}", "source_image": f"i{number}", **names}
    return Made(
        condition=CONDITION,
        record=VceCounterfactual.model_validate(key | {"image": refs[1]}),
        folder=folder,
        source=SourceImage(id=f"i{number}", label="cat", number=number, image=refs[0]),
        source_folder=folder,
        score=VceScore.model_validate(key | {"predicted": "fox", "distances": {"d2": d2}}),
        ending=ending,
    )


@pytest.mark.parametrize("place", range(9))
def test_the_region_that_is_painted_is_named(tmp_path: Path, place: int) -> None:
    painted = [made(tmp_path, number, place) for number in range(8)]
    for noise in ([], [made(tmp_path, 100 + number, None, "not") for number in range(8)]):
        found = regions(painted, noise, TESTS, "mine")
        assert found is not None
        assert found.n == 8
        where = "In the middle" if REGIONS[place] == "middle" else f"At the {REGIONS[place]}"
        assert found.sentence.startswith(f"{where}: ")
        assert ("by noise alone" in found.sentence) == bool(noise)


def test_noise_names_no_region_and_few_images_say_nothing(tmp_path: Path) -> None:
    noisy = [made(tmp_path, number, None) for number in range(8)]
    found = regions(noisy, noisy, TESTS, "mine")
    assert found is not None
    assert found.sentence == "No region has much more of the change than noise alone."
    assert regions(noisy[: FEW - 1], noisy, TESTS, "mine") is None
    assert regions([made(tmp_path, n, 0, "not") for n in range(8)], noisy, TESTS, "mine") is None


def test_four_examples_show_each_ending_with_the_median_change_whatever_the_order(tmp_path: Path) -> None:
    endings: list[Ending] = ["valid"] * 9 + ["alone"] * 3 + ["not"] * 1 + ["misread"] * 4
    study = [made(tmp_path, number, None, ending, d2=float(number)) for number, ending in enumerate(endings)]
    found = chosen(study, Roles())
    assert [one.ending for one in found] == ["valid", "valid", "alone", "not"]
    assert [one.score.distances["d2"] for one in found] == [2.0, 6.0, 10.0, 12.0]
    assert chosen(study[::-1], Roles()) == found
    assert len(chosen(study[:9], Roles())) == 4
    assert [one.ending for one in chosen(study[12:], Roles())] == ["not"]
    assert chosen([], Roles()) == []
