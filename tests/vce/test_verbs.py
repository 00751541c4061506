"""The verbs of the vce study, on cells: images, counterfactuals, scores, groups, sheets; and what they refuse."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core.images import folder_of
from cfeval.core.images import load as load_image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Status
from cfeval.vce.records import GroupScore, SourceImage, VceCounterfactual, VceScore
from cfeval_testbed.weights import load
from tests.conftest import Run
from tests.slow import slow

WORLD = {"plugin": "world"}
ROBUST = {"plugin": "world", "kind": "robust"}
DOUBLE = {"dtype": "float64"}
"""Networks whose last digits do not depend on how many images are computed together."""
METHOD: dict[str, Any] = {"preset": "dbvce", "respacing": "4", "scales": [0.6]}
GROUPS = [
    {"source": "red circle", "target": "red square", "pair": "ideal"},
    {"source": "red circle", "target": "blue star", "pair": "other"},
    {"source": "blue square", "target": "blue cross", "pair": "ideal"},
]
CONDITION = {"image_set": "world", "denoiser": "world", "classifier": "standard", "method": "base"}


def given(**options: Any) -> list[str]:
    """Options of the command line; what is neither text nor a path is told as JSON."""
    told = {name.replace("_", "-"): value for name, value in options.items() if value is not None}
    return [f"--{name}={value if isinstance(value, str | Path) else json.dumps(value)}" for name, value in told.items()]


class Study:
    """Runs the verbs in a folder."""

    def __init__(self, cfeval: Run, folder: Path) -> None:
        self.cfeval, self.folder = cfeval, folder

    def make(self, verb: str, *arguments: object) -> None:
        """Run a verb that must succeed."""
        status, out, err = self.cfeval("vce", verb, *arguments)
        assert (status, out) == (0, ""), err

    def images(self, count: int = 2, shards: int = 1) -> list[Path]:
        """File images; returns the files of the shards."""
        labels = ["--label", "red circle", "--label", "blue square"]
        out = self.folder / f"images{shards}.jsonl"
        how = given(image_set=WORLD, count=count, size=32, seed=3, shards=shards, out=out)
        self.make("images", *labels, *how)
        return [out] if shards == 1 else sorted(out.with_suffix("").glob("*.jsonl"))

    def explain(self, images: Path, name: str = "made", **changes: Any) -> Path:
        """Make counterfactuals."""
        out = self.folder / f"{name}-{images.stem}.jsonl"
        self.make("counterfactuals", *self.asked(images, out, **changes))
        return out

    def asked(self, images: Path, out: Path, **changes: Any) -> list[str]:
        """The options of `explain`."""
        spec = {"denoiser": WORLD, "classifier": WORLD, "robust": ROBUST, "method": METHOD, "groups": GROUPS, "seed": 3}
        return given(images=images, out=out, **spec | changes)

    def score(self, images: Path, made: Path, *more: str, **options: str) -> Path:
        """Score counterfactuals; `options` are those of the networks."""
        out = self.folder / f"scores-{made.stem}.jsonl"
        oracles = {"small": {"plugin": "world", "kind": "small"} | options}
        how = given(
            images=images, counterfactuals=made, classifier=WORLD | options, oracles=oracles, cout_steps=2, out=out
        )
        self.make("scores", *how, *more)
        return out

    def group(self, images: Sequence[Path], made: Sequence[Path], scores: Sequence[Path], *more: str) -> Path:
        """Score groups."""
        out = self.folder / f"groups-{scores[0].stem}.jsonl"
        files = [*_each("--images", images), *_each("--counterfactuals", made)]
        self.make("group-scores", *scores, *files, *given(condition=CONDITION, seed=3, out=out), *more)
        return out


def _each(option: str, files: Sequence[Path]) -> list[object]:
    return [part for file in files for part in (option, file)]


@pytest.fixture
def study(cfeval: Run, tmp_path: Path) -> Study:
    return Study(cfeval, tmp_path)


def everything(folder: Path) -> dict[str, bytes]:
    """Every file beneath a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_study_from_images_to_contact_sheets(study: Study) -> None:
    [images] = study.images()
    sources = list(read_jsonl(images, SourceImage))
    assert [(one.label, one.number) for one in sources] == [
        (label, number) for label in ("red circle", "blue square") for number in range(2)
    ]
    made = study.explain(images)
    records = list(read_jsonl(made, VceCounterfactual))
    assert [(one.source_image, one.target, one.pair) for one in records] == [
        (one.id, group["target"], group["pair"]) for one in sources for group in GROUPS if group["source"] == one.label
    ]
    for one in records:
        assert one.image is not None
        assert load_image(made.with_suffix(""), one.image).pixels.shape == (32, 32, 3)
    scores = study.score(images, made)
    found = list(read_jsonl(scores, VceScore))
    assert [one.id for one in found] == [one.id for one in records]
    assert all(one.before == one.source and set(one.oracles) == {"small"} for one in found)
    groups = list(read_jsonl(study.group([images], [made], [scores]), GroupScore))
    assert {(one.group.target, one.n, one.n_scored) for one in groups} == {
        ("red square", 2, 2),
        ("blue star", 2, 2),
        ("blue cross", 2, 2),
    }
    sheets = study.folder / "sheets.jsonl"
    study.make("contact-sheet", *given(images=images, counterfactuals=made, scores=scores, out=sheets))
    assert sorted(path.name for path in (study.folder / "sheets").iterdir()) == [
        "blue-square--blue-cross.png",
        "red-circle--blue-star.png",
        "red-circle--red-square.png",
    ]


@pytest.mark.slow
def test_counterfactuals_are_the_same_bytes_whatever_the_batch(study: Study) -> None:
    [images] = study.images(count=1)
    made = [
        study.explain(images, f"{batch}", compute={"batch": batch}, method=METHOD | {"augmentations": 2})
        for batch in (1, 2, 64)
    ]
    first, *others = [everything(path.with_suffix("")) for path in made]
    assert len(first) == 3
    assert all(other == first for other in others)
    assert len({path.read_bytes() for path in made}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["paper", slow("reference")])
def test_two_shards_give_what_one_gives(study: Study, mode: str) -> None:
    options = DOUBLE if mode == "reference" else {}  # it keeps samples as floats, and the paper's as bytes
    networks = {
        name: spec | options for name, spec in {"denoiser": WORLD, "classifier": WORLD, "robust": ROBUST}.items()
    }
    found = []
    for shards in (1, 2):
        images = study.images(count=3, shards=shards)
        assert len(images) == shards
        made = [study.explain(file, mode, method=METHOD | {"mode": mode}, **networks) for file in images]
        scores = [study.score(file, its, f"--{mode}", **options) for file, its in zip(images, made, strict=True)]
        told = {one.id: one for file in scores for one in read_jsonl(file, VceScore)}
        assert len(told) == 9
        found.append((told, study.group(images, made, scores, f"--{mode}").read_bytes()))
        whole = study.folder / f"images{shards}.jsonl"  # the name under which all shards were written
        assert study.group([whole], made, scores, f"--{mode}").read_bytes() == found[-1][1]
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_reference_evaluation_reads_the_samples_that_its_method_keeps(study: Study) -> None:
    [images] = study.images(count=1)
    method = METHOD | {"mode": "reference"}
    made = study.explain(images, method=method)
    for record in read_jsonl(made, VceCounterfactual):
        assert record.image is not None
        sample = np.load(made.with_suffix("") / f"{record.id}.npy")
        assert (sample.shape, sample.dtype) == ((3, 32, 32), np.float32)
        shown = load_image(made.with_suffix(""), record.image).pixels
        nearest = np.rint((np.clip(sample, -1, 1) + 1) * 127.5).transpose(1, 2, 0)
        assert np.abs(nearest - shown).max() <= 1
    scores = study.score(images, made, "--reference")
    figures = next(read_jsonl(study.group([images], [made], [scores], "--reference"), GroupScore)).figures
    assert figures["d1_batch"] == pytest.approx(figures["d1"], abs=1e-4), "one counterfactual is a batch of one"
    next(made.with_suffix("").glob("*.npy")).unlink()
    refused = study.cfeval(
        "vce",
        "scores",
        "--reference",
        *given(images=images, counterfactuals=made, classifier=WORLD, out=study.folder / "again.jsonl"),
    )
    assert refused[0] == 2
    assert "no sample; only methods with mode 'reference' keep them" in refused[2]
    assert not (study.folder / "again.jsonl").exists()


def test_what_the_classifier_rejects_has_a_status_and_no_image(study: Study) -> None:
    [images] = study.images(count=1)
    made = study.explain(images, method=METHOD | {"scales": [1e-6], "reject": True})
    records = list(read_jsonl(made, VceCounterfactual))
    assert {one.status for one in records} == {Status.REJECTED}
    assert not everything(made.with_suffix(""))
    scores = study.score(images, made)
    for one in read_jsonl(study.group([images], [made], [scores]), GroupScore):
        assert (one.n_scored, one.missing, one.figures) == (0, {"rejected": one.n}, {})


def test_a_shard_without_images_of_a_source_class_is_empty(study: Study) -> None:
    [whole] = study.images(count=1)
    images = whole.rename(whole.with_name("000.jsonl"))
    folder_of(whole).rename(folder_of(images))
    made = study.explain(images, groups=[{"source": "white cross", "target": "red cross", "pair": "ideal"}])
    assert made.read_text() == ""
    assert study.group([images], [made], [study.score(images, made)]).read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"groups": [GROUPS[0] | {"target": "red sqare"}]},
            "has no class 'red sqare'; did you mean 'red square'?",
        ),
        ({"groups": [GROUPS[0] | {"target": "red circle"}]}, "target equals source: 'red circle'"),
        ({"groups": []}, "--groups: the list is empty"),
        ({"groups": [{"source": "white cross", "target": "red cross"}]}, "--groups: no image is of a source class"),
        ({"groups": [{"source": "red circle"}]}, "--groups: 0.target: Field required"),
        ({"method": METHOD | {"preset": "dbvec"}}, "--method: preset: Input should be 'unguided'"),
        ({"method": METHOD | {"projection": "none", "angle": 20}}, "'angle' has no effect unless projection is 'cone'"),
        ({"method": METHOD | {"respacing": "9000"}}, "9000"),
        ({"robust": None}, "projection 'cone' needs a robust classifier"),
        ({"robust": WORLD}, "--robust: this classifier was not trained to be robust"),
        ({"denoiser": {"plugin": "wrld"}}, "unknown denoisers plugin 'wrld'; did you mean 'world'"),
        ({"classifier": {"plugin": "world", "kind": "tiny"}}, "option 'kind' of 'world'"),
        ({"compute": {"batch": 0}}, "--compute: batch: Input should be greater than or equal to 1"),
        ({"method": {"preset": "dime", "respacing": "8"}}, "needs a perceptual distance"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_explain_refuses_in_one_line_and_writes_nothing(study: Study, changes: dict[str, Any], said: str) -> None:
    [images] = study.images(count=1)
    before = everything(study.folder)
    status, out, err = study.cfeval(
        "vce", "counterfactuals", *study.asked(images, study.folder / "made.jsonl", **changes)
    )
    assert (status, out) == (2, "")
    assert said in err
    assert err.startswith("cfeval: ")
    assert err.count("\n") == 1
    assert everything(study.folder) == before
    assert not (study.folder / "made").exists()


def test_weights_of_another_network_are_refused_in_one_line(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    [images] = study.images(count=1)
    small = load("cell-small")
    monkeypatch.setattr("cfeval_testbed.models.precision.load", lambda name: small)
    status, _, err = study.cfeval("vce", "counterfactuals", *study.asked(images, study.folder / "made.jsonl"))
    assert status == 2
    assert err.startswith("cfeval: the weights cell-standard.safetensors are of another network: ")
    assert err.count("\n") == 1


def test_originals_of_another_size_than_the_denoisers_are_refused(study: Study, own: Callable[..., Path]) -> None:
    images = study.folder / "images.jsonl"
    spec = {"plugin": "folder", "path": str(own(64))}
    study.make("images", "--label", "red circle", *given(image_set=spec, count=1, size=48, seed=3, out=images))
    made = study.folder / "made.jsonl"
    status, _, err = study.cfeval("vce", "counterfactuals", *study.asked(images, made))
    assert status == 2
    assert "images are 48×48, but the denoiser makes 32×32; resize them" in err
    assert not made.exists()
    assert not made.with_suffix("").exists()


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder set with two images of one class and an empty one."""

    def write(side: int, mode: str = "RGB") -> Path:
        folder = tmp_path / "own"
        for name, count in (("red circle", 2), ("blue square", 0)):
            (folder / name).mkdir(parents=True)
            for number in range(count):
                PIL.Image.effect_noise((side, side), 50 + number).convert(mode).save(folder / name / f"{number}.png")
        return folder

    return write


@pytest.mark.parametrize(
    ("side", "mode", "label", "count", "said"),
    [
        (20, "RGB", "red circle", 2, "20"),
        (64, "L", "red circle", 2, "0.png"),
        (64, "RGB", "red circle", 3, "3"),
        (64, "RGB", "blue square", 1, "class 'blue square'"),
        (64, "RGB", "red circl", 1, "did you mean 'red circle'?"),
    ],
    ids=["too small", "not RGB", "too few", "none of a class", "unknown class"],
)
def test_images_refuses_in_one_line_and_writes_nothing(
    study: Study, own: Callable[..., Path], side: int, mode: str, label: str, count: int, said: str
) -> None:
    spec = {"plugin": "folder", "path": str(own(side, mode))}
    before = everything(study.folder)
    out = study.folder / "images.jsonl"
    for shards in (1, 2):
        how = given(image_set=spec, count=count, size=32, seed=3, shards=shards, out=out)
        status, _, err = study.cfeval("vce", "images", "--label", label, *how)
        assert status == 2
        assert said in err
        assert err.count("\n") == 1
        assert everything(study.folder) == before


def test_a_target_that_an_oracle_lacks_is_refused(study: Study) -> None:
    [images] = study.images(count=1)
    made = study.explain(images)
    oracles = {"few": {"plugin": "random", "architecture": "squeezenet1_1", "device": "cpu"}}
    out = study.folder / "scores.jsonl"
    how = given(images=images, counterfactuals=made, classifier=WORLD, oracles=oracles, out=out)
    status, _, err = study.cfeval("vce", "scores", *how)
    assert status == 2
    assert "oracle 'few' has no class 'red square'" in err
    assert not out.exists()
