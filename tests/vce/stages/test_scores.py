"""The scores of single counterfactuals, on images of plain colours."""

from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core.errors import InputError, PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.vce.records import VceScore
from cfeval.vce.stages.scores import Measures, scores
from tests.vce.stages.colors import SIDE, Apart, Colors, Means, as_sample, plain, record, views

IMAGES = {
    "a": plain(200, 0, 0),
    "b": plain(250, 10, 0),
    "a-green-0": plain(0, 200, 0),
    "b-green-0": plain(180, 60, 0),
    "b-blue-0": plain(0, 0, 90),
}
RECORDS = [record("a", "green"), record("b", "green"), record("b", "blue", pair="other")]


def measures(**changes: object) -> Measures:
    given = {
        "classifier": Colors("red", "green", "blue"),
        "oracles": {"reversed": Colors("blue", "green", "red")},
        "distances": {"apart": Apart()},
        "embeddings": {"s3_means": Means()},
        "cout_steps": SIDE,
    }
    return Measures(**given | changes)  # type: ignore[arg-type]


def scored(**changes: object) -> list[VceScore]:
    return list(scores([RECORDS], views(IMAGES), measures(**changes), batch=2))


def test_every_field_says_what_it_should() -> None:
    first, second, third = scored()
    assert (first.before, first.predicted, first.oracles) == ("red", "green", {"reversed": "green"})
    assert (second.before, second.predicted, second.oracles) == ("red", "red", {"reversed": "red"})
    assert third.predicted == "blue"
    assert [score.id for score in (first, second, third)] == [one.id for one in RECORDS]
    red, green, _ = np.exp([-1, 200 / 127.5 - 1, -1]) / np.exp([-1, 200 / 127.5 - 1, -1]).sum()
    assert first.p_target == pytest.approx(green, abs=2e-6)
    assert first.p_source == pytest.approx(red, abs=2e-6)
    changed, pixels = 200 / 127.5, SIDE * SIDE
    assert first.distances == pytest.approx(
        {
            "d1": 2 * pixels * changed,
            "d1_5": (2 * pixels * changed**1.5) ** (1 / 1.5),
            "d2": (2 * pixels * changed**2) ** 0.5,
            "apart": 2 / 3 * changed,
        },
        abs=2e-5,
    )
    assert first.others["s3_means"] == 0  # pure red and pure green are at right angles
    assert first.others["cout"] == pytest.approx(0, abs=1e-6)  # both change steadily, and alike
    assert third.others["s3_means"] == 0
    assert 0.9 < second.others["s3_means"] < 1


def test_a_failure_keeps_its_status_and_nobody_looks_at_its_image() -> None:
    failed = record("a", "green", 1, status=Status.REJECTED, stage="counterfactuals", reason="not in the target class")
    one, two = scores([[failed, RECORDS[0]]], views(IMAGES), measures())
    assert (one.status, one.stage, one.reason) == (Status.REJECTED, "counterfactuals", "not in the target class")
    assert one.predicted is one.p_target is one.before is None
    assert one.distances == one.others == one.oracles == {}
    assert two.status == Status.OK
    assert [score.status for score in scores([[failed]], views({}), measures())] == [Status.REJECTED]


def test_batches_do_not_matter() -> None:
    by_batch = [list(scores([RECORDS], views(IMAGES), measures(), batch=size)) for size in (1, 2, 64)]
    assert by_batch[0] == by_batch[1] == by_batch[2]


def test_an_original_is_asked_about_once() -> None:
    classifier = Colors("red", "green", "blue")
    scored(classifier=classifier, cout_steps=0)
    assert sum(count for count, _ in classifier.asked) == len(RECORDS) + 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"oracles": {"wordy": Colors("red", "greens")}},
            "oracle 'wordy' has no class 'green'; the nearest it has: greens",
        ),
        ({"classifier": Colors("red", "blue")}, "the explained classifier has no class 'green'"),
    ],
)
def test_a_target_that_a_classifier_does_not_know_is_an_error_of_one_line(changes: dict, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        scored(**changes)
    assert "\n" not in str(raised.value)


def test_without_the_source_class_there_is_no_p_source_and_no_cout() -> None:
    first = scored(classifier=Colors("green", "blue"))[0]
    assert first.p_source is None
    assert "cout" not in first.others
    assert first.p_target is not None


@pytest.mark.parametrize("bad", ["b", "b-green-0"])
def test_an_image_of_another_size_is_named(bad: str) -> None:
    images = IMAGES | {bad: plain(1, 2, 3, side=5)}
    with pytest.raises(InputError, match=f"{bad}: an image of 5 × 5 pixels among images of 4 × 4"):
        list(scores([RECORDS], views(images), measures()))


def reference(records: list, shift: float, measured: Measures) -> list[VceScore]:
    samples = {name: as_sample(image, shift) for name, image in IMAGES.items() if "-" in name}
    groups = [[one for one in records if one.target == target] for target in ("green", "blue")]
    return list(scores(groups, views(IMAGES, samples), measured, batch=1))


def test_the_reference_evaluation_takes_samples_as_they_are() -> None:
    measured = measures(cout_steps=0)
    first = reference(RECORDS, 0.5, measured)[0]
    assert measured.classifier.asked, "asked"  # type: ignore[attr-defined]
    assert not any(prepared for _, prepared in measured.classifier.asked)  # type: ignore[attr-defined]
    changed = 200 / 127.5
    expected = SIDE * SIDE * ((changed - 0.5) + (changed + 0.5) + 0.5)
    assert first.distances["d1"] == pytest.approx(expected, abs=1e-4)


def test_the_reference_evaluation_stretches_a_whole_group_before_its_perceptual_distance() -> None:
    apart = Apart()
    found = reference(RECORDS, 0.5, measures(distances={"apart": apart}))
    high, low = 200 / 127.5 - 0.5, -0.5  # of the samples to green: the greatest and least value, with the shift
    assert apart.extremes[2] == (-1, 1, -1, 1)  # blue: a group of its own, of one image
    assert apart.extremes[0][1] == pytest.approx(200 / 250 * 2 - 1, abs=1e-6)  # of the originals 250 is the greatest
    first = np.array([200 / 250 * 2 - 1, -1, -1]), np.array([-1, 1, -1])
    assert high > low
    assert found[0].distances["apart"] == pytest.approx(np.abs(first[0] - first[1]).mean(), abs=1e-5)


def test_similarities_see_no_bytes_that_wrap_around() -> None:
    means = Means()
    reference(RECORDS[:1], 5.0, measures(embeddings={"s3_means": means}))
    assert means.seen[1].min() == 255  # beyond the range: clamped


def test_images_are_asked_for_batch_by_batch() -> None:
    asked: list[str] = []

    def original(name: str) -> Image:
        asked.append(name)
        return IMAGES[name]

    stream = scores([RECORDS], views(IMAGES).__class__(original, IMAGES.__getitem__), measures(), batch=1)
    next(stream)
    assert asked == ["a"]


def test_memory_that_runs_out_is_an_error_of_one_line() -> None:
    class Full(Apart):
        def distance(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(PluginError, match="out of memory while scoring 2 counterfactuals at once; set a smaller batch"):
        scored(distances={"full": Full()})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("part", "who"),
    [
        ("classifier", "the explained classifier"),
        ("oracles", "oracle 'odd'"),
        ("distances", "the distance 'odd'"),
        ("embeddings", "the features of 'odd'"),
    ],
)
def test_what_is_no_number_is_refused_and_never_a_figure(value: float, part: str, who: str) -> None:
    class OddColors(Colors):
        def logits(self, *args: Any, **options: Any) -> torch.Tensor:
            return super().logits(*args, **options) * 0 + value

    class OddDistance(Apart):
        def distance(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            return super().distance(first, second) * 0 + value

    class OddMeans(Means):
        def features(self, images: torch.Tensor) -> torch.Tensor:
            return super().features(images) * 0 + value

    odd = {"distances": OddDistance, "embeddings": OddMeans}.get(part, lambda: OddColors("red", "green", "blue"))()
    with pytest.raises(PluginError, match=f"{who}: its outputs are not finite"):
        scored(**{part: odd if part == "classifier" else {"odd": odd}})
