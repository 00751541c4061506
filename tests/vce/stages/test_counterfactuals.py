"""Making counterfactuals: which are wanted, with which noise, and what becomes of each."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra.numpy import arrays

from cfeval.core.errors import InputError, PluginError
from cfeval.core.records import Status
from cfeval.vce.interfaces import Prediction
from cfeval.vce.method import Compute, Method
from cfeval.vce.records import Group, SourceImage
from cfeval.vce.sampler.networks import Models
from cfeval.vce.stages.counterfactuals import Made, Wanted, counterfactuals, to_images, to_pixels, wanted
from tests.images import image
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser

SIDE = 4
GROUPS = [
    Group(source="red", target="green", pair="ideal"),
    Group(source="red", target="blue", pair="other"),
    Group(source="blue", target="green", pair="ideal"),
]
SOURCES = [
    SourceImage(id=f"{label}-{number}", label=label, number=number, image=image().ref(f"{label}-{number}.png"))
    for label in ("red", "blue")
    for number in range(3)
]
METHOD = Method(preset="dbvce", respacing="6", projection="none", scales=(0.5,))


def pixels_of(source: SourceImage) -> np.ndarray:
    drawn = np.random.default_rng([source.number, len(source.label)])
    return drawn.integers(0, 255, (SIDE, SIDE, 3), dtype=np.uint8)


def made(tasks: Iterable[Wanted], method: Method = METHOD, batch: int = 8, **networks: object) -> list[Made]:
    models = Models(**{"denoiser": ToyDenoiser(), "classifier": ToyClassifier()} | networks)  # type: ignore[arg-type]
    return list(counterfactuals(tasks, pixels_of, models, method, Compute(batch=batch)))


def test_every_image_goes_to_the_targets_of_its_class_alone() -> None:
    found = list(wanted(SOURCES, GROUPS, 2, 1, same_noise=True))
    assert [(task.image.id, task.group.target, task.repeat) for task in found] == [
        (source.id, group.target, repeat)
        for source in SOURCES
        for group in GROUPS
        if group.source == source.label
        for repeat in range(2)
    ]
    assert len({task.id for task in found}) == len(found)
    assert next(wanted(SOURCES, GROUPS[2:], 1, 1, same_noise=True)).image.label == "blue"


def test_groups_share_their_noise_image_by_image() -> None:
    found = list(wanted(SOURCES, GROUPS, 2, 1, same_noise=True))
    seeds = {(task.image.number, task.repeat): task.seed for task in found}
    assert all(task.seed == seeds[task.image.number, task.repeat] for task in found)
    assert len(set(seeds.values())) == 6, "images of a class, and repeats, have noise of their own"
    other = wanted(SOURCES, GROUPS, 2, 2, same_noise=True)
    assert not {task.seed for task in other} & set(seeds.values())


def test_or_every_counterfactual_has_noise_of_its_own() -> None:
    found = list(wanted(SOURCES, GROUPS, 2, 1, same_noise=False))
    assert len({task.seed for task in found}) == len(found)


def test_more_repeats_and_images_keep_the_ones_there_were() -> None:
    for same_noise in (True, False):
        few = list(wanted(SOURCES[:2], GROUPS, 1, 1, same_noise))
        more = list(wanted(SOURCES, GROUPS, 3, 1, same_noise))
        assert [task for task in more if task in few] == few


def test_results_do_not_depend_on_the_batch() -> None:
    tasks = list(wanted(SOURCES, GROUPS, 2, 1, same_noise=True))
    first, *others = [made(tasks, batch=batch) for batch in (1, 4, 100)]
    assert [one.record.id for one in first] == [task.id for task in tasks]
    assert {one.record.status for one in first} == {Status.OK}
    for other in others:
        assert [one.record for one in other] == [one.record for one in first]


def test_repeats_differ_and_the_record_names_its_image() -> None:
    one, other = made(wanted(SOURCES[:1], GROUPS[:1], 2, 1, same_noise=True))
    assert one.record.image != other.record.image
    for each in (one, other):
        assert each.record.image is not None
        assert list(each.images) == [each.record.image.path] == [f"{each.record.id}.png"]
        assert each.values is not None
        assert (each.images[each.record.image.path].pixels == to_pixels(each.values)).all()


def test_what_the_classifier_sees_elsewhere_is_rejected_and_has_no_image() -> None:
    stubborn = ToyClassifier(weight=torch.zeros(3, 3 * SIDE * SIDE))  # every class alike: it says the first, red
    method = METHOD.model_copy(update={"reject": True})
    found = made(wanted(SOURCES, GROUPS, 1, 1, same_noise=True), method, classifier=stubborn)
    assert {one.record.status for one in found} == {Status.REJECTED}
    for one in found:
        assert (one.record.image, dict(one.images), one.values) == (None, {}, None)
        assert (one.record.stage, one.record.reason) == (
            "counterfactuals",
            "the classifier sees another class than the target",
        )
    kept = made(wanted(SOURCES, GROUPS, 1, 1, same_noise=True), METHOD, classifier=stubborn)
    assert {one.record.status for one in kept} == {Status.OK}, "without the step nothing is rejected"


class Diverging(ToyDenoiser):
    """Loses itself on images whose first pixel is bright."""

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, labels: torch.Tensor | None = None) -> Prediction:
        found = super().predict(noisy, timesteps, labels)
        lost = (noisy[:, :1, :1, :1] > 0).to(noisy.dtype)
        return Prediction(found.noise + lost * torch.finfo(noisy.dtype).max * 2)


@pytest.mark.parametrize("reject", [False, True])
def test_what_diverges_has_no_image_and_leaves_the_others_alone(reject: bool) -> None:
    tasks = list(wanted(SOURCES, GROUPS, 1, 1, same_noise=False))
    method = Method(preset="unguided", respacing="6")
    method = method.model_copy(update={"reject": reject})
    found = made(tasks, method, denoiser=Diverging())
    statuses = {one.record.status for one in found}
    assert Status.NO_IMAGE in statuses
    assert statuses - {Status.REJECTED} >= ({Status.NO_IMAGE} if reject else {Status.NO_IMAGE, Status.OK})
    for one in found:
        assert bool(one.images) == (one.record.status == Status.OK) == (one.record.image is not None)
        if one.record.status == Status.NO_IMAGE:
            assert "not finite" in one.record.reason
    alone = [made([task], method, denoiser=Diverging())[0].record for task in tasks]
    assert alone == [one.record for one in found]


def test_a_class_that_the_classifier_lacks_is_named_with_the_nearest() -> None:
    groups = [Group(source="red", target="gren", pair="ideal")]
    with pytest.raises(InputError, match=r"the classifier has no class 'gren'; did you mean 'green'\?"):
        made(wanted(SOURCES, groups, 1, 1, same_noise=True))


@given(arrays(np.uint8, (3, 5, 3)))
def test_pixels_come_back_as_they_were(pixels: np.ndarray) -> None:
    [image] = to_images([pixels])
    assert float(image.abs().max()) <= 1
    assert (to_pixels(image) == pixels).all()
    assert (to_pixels(image.double()) == pixels).all()


def test_values_beyond_the_range_are_clamped() -> None:
    image = torch.tensor([-3.0, -1.0, 0.0, 1.0, 1.7]).expand(3, 1, 5)
    assert to_pixels(image)[0, :, 0].tolist() == [0, 0, 128, 255, 255]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("network", "who"), [("classifier", "the explained classifier"), ("robust", "the robust")])
def test_a_broken_classifier_is_named_and_no_image_seems_to_diverge(value: float, network: str, who: str) -> None:
    class Broken(ToyClassifier):
        robust = True

        def logits(self, *args: object, **options: object) -> torch.Tensor:
            return super().logits(*args, **options) * 0 + value  # type: ignore[arg-type]

    tasks = list(wanted(SOURCES, GROUPS, 1, 1, same_noise=True))
    with pytest.raises(PluginError, match=f"{who}.*: its outputs are not finite"):
        made(tasks, **{network: Broken()})
