"""Record files and tables of a made-up vce study, as the pipeline lays them out."""

from pathlib import Path

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_jsonl
from cfeval.core.records import Status
from cfeval.core.shards import shard_files, shard_of
from cfeval.report.files import write_table
from cfeval.vce.asked import AskedReport
from cfeval.vce.config import Roles
from cfeval.vce.records import SourceImage, VceCondition, VceCounterfactual, VceScore
from cfeval.vce.tables.answer import ANSWER, AnswerRow
from cfeval.vce.tables.group_scores import group_material
from cfeval.vce.tables.hypotheses import HYPOTHESES, HypothesisRow
from tests.conftest import Run
from tests.edct.report.study import HOSTILE
from tests.images import image

CLASSIFIERS = ("plain", "robust")
CONDITIONS = [
    VceCondition(image_set="photos", denoiser="ddpm", classifier=name, method=method)
    for method in ("base", "no-cone")
    for name in CLASSIFIERS
]
ROLES = Roles(base="base", no_cone="no-cone")
SOURCES = 6
SEEN = {  # by source image: what the classifier says, and what each of three oracles does
    0: ("fox", ("fox", "fox", "cat")),
    1: ("fox", ("fox", "cat", "cat")),
    2: ("cat", ("fox", "fox", "fox")),
    3: ("fox", ()),
    5: ("fox", ("fox", "fox", HOSTILE)),
}
"""The fourth has no counterfactual."""
PARTS = [
    HypothesisRow(
        image_set="photos",
        denoiser="ddpm",
        hypothesis=name,
        part=part,
        claim=f"{part} is so",
        bar=0.5,
        effect=effect,
        effect_lo=effect - 0.1,
        effect_hi=effect + 0.1,
        unit="source image",
        n_units=6,
        n=6,
        n_scored=5,
        p=0.001,
        p_holm=0.002,
        verdict=verdict,
        overall=verdict,
    )
    for name, part, effect, verdict in (
        ("H1", "valid", 0.9, "supported"),
        ("H2", "no change", 0.8, "not supported"),
        ("H3", "cone", 0.55, "undecided"),
    )
]
PARTS.append(PARTS[0].model_copy(update={"hypothesis": "H4", "effect": None, "n_scored": 0, "verdict": "undecided"}))
"""The last one has no data."""


def write_study(folder: Path, shards: int = 1) -> None:
    """Write images, counterfactuals, scores, and the tables of answers and hypotheses."""
    _write(folder / "images/photos.jsonl", [_source(number) for number in range(SOURCES)], shards)
    for one in CONDITIONS:
        names = Path(one.image_set, one.denoiser, one.classifier, f"{one.method}.jsonl")
        _write(folder / "counterfactuals" / names, [_made(number) for number in range(SOURCES)], shards)
        _write(folder / "scores" / names, [_score(number) for number in range(SOURCES)], shards)
    write_table(folder / "tables/vce_hypotheses", HypothesisRow, PARTS, HYPOTHESES.render(PARTS))
    scores = {one: [_score(number) for number in range(SOURCES)] for one in CONDITIONS}
    rows = ANSWER.rows(group_material([], scores, roles=ROLES))
    write_table(folder / "tables/vce_answer", AnswerRow, rows, ANSWER.render(rows))


def make_report(cfeval: Run, folder: Path, shards: int = 1) -> Path:
    """The page of the made-up study."""
    write_study(folder / "vce", shards)
    told, out = folder / "study.json", folder / "vce/report/index.html"
    told.write_text(AskedReport(conditions=CONDITIONS, shards=shards, roles=ROLES).as_json())
    assert cfeval("vce", "report", "--study", told, "--results", folder / "vce", "--out", out) == (0, "", "")
    return out


def _write(path: Path, records: list[SourceImage] | list[VceCounterfactual] | list[VceScore], shards: int) -> None:
    for number, file in enumerate(shard_files(path, shards)):
        mine = [one for one in records if shard_of(getattr(one, "source_image", one.id), shards) == number]
        write_jsonl(file, mine)
        for one in mine:
            if (image := getattr(one, "image", None)) is not None:
                at = folder_of(file) / image.path
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(_pixels(one.id).png)


def _pixels(name: str) -> Image:
    return image(sum(map(ord, name)) % 256, size=(24, 16))


def _source(number: int) -> SourceImage:
    name = f"cat-{number:04d}"
    return SourceImage(id=name, label="cat", number=number, image=_pixels(name).ref(f"{name}.png"))


def _names(number: int) -> dict[str, object]:
    made = {"id": f"cat-{number:04d}-to-fox-0", "source_image": f"cat-{number:04d}", "source": "cat", "target": "fox"}
    return made | {"pair": "ideal" if number % 2 == 0 else "other"}


def _made(number: int) -> VceCounterfactual:
    if number == 4:
        failed = {"status": Status.NO_IMAGE, "stage": "counterfactuals", "reason": "the sampler diverged"}
        return VceCounterfactual.model_validate(_names(number) | failed)
    name = f"cat-{number:04d}-to-fox-0"
    return VceCounterfactual.model_validate(_names(number) | {"image": _pixels(name).ref(f"{name}.png")})


def _score(number: int) -> VceScore:
    if number == 4:
        failed = {"status": Status.NO_IMAGE, "stage": "counterfactuals", "reason": "the sampler diverged"}
        return VceScore.model_validate(_names(number) | failed)
    says, oracles = SEEN[number]
    seen = {f"oracle-{n}": said[:100] for n, said in enumerate(oracles)}
    told = {"before": "cat", "predicted": says, "p_target": 0.75, "p_source": 0.25, "oracles": seen}
    return VceScore.model_validate(_names(number) | told | {"distances": {"lpips": 0.125}})
