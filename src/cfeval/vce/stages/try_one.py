"""One image from start to end: a counterfactual of a photograph, what classifiers say of it, a sheet to look at."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfeval.core import registry
from cfeval.core.cli_options import build, from_json
from cfeval.core.errors import InputError
from cfeval.core.images import Image, center_crop
from cfeval.vce.contact_sheet import ContactSheet, Mood, Shot, Strip, contact_sheet
from cfeval.vce.files import Mask, as_mask, check_fits
from cfeval.vce.interfaces import Classifier
from cfeval.vce.metrics.proximity import is_destroyed, lp_distance
from cfeval.vce.models.spelling import FORMS, beside, short_name, spec_of, with_architecture
from cfeval.vce.plugins.image_sets import opened
from cfeval.vce.predictions import check_knows, from_bytes, likeliest, pixels_of, probabilities
from cfeval.vce.stages.counterfactuals import to_images, to_pixels, to_regions
from cfeval.vce.stages.targets import suggested, the_class, wordnet_if_there

if TYPE_CHECKING:
    from cfeval.vce.method import Method
    from cfeval.vce.sampler.networks import Models

METHOD = {"preset": "dbvce", "respacing": "50", "start": 0.4, "scales": [0.1, 0.3, 1.0, 3.0]}
"""Stronger weights are tried only where the target is not reached."""
NULL_MODEL = (
    "note: no diffusion model was named (--denoiser), so a filter without training stands in. It knows no objects: "
    "what it paints is the classifier's gradient alone, which looks like noise for classifiers that are not robust."
)
_SUGGESTED = 8


def run(
    photo: Annotated[Path, typer.Argument(help="The image; the middle of it is taken.")],
    classifier: Annotated[
        str,
        typer.Option(help=f"The classifier: {FORMS}."),
    ],
    architecture: Annotated[
        str, typer.Option(help="Of --classifier state_dict:FILE: the network's name in torchvision, or timm:NAME.")
    ] = "",
    classes: Annotated[
        Path | None,
        typer.Option(help="Names of the outputs of --classifier, a name a line; else its own, ImageNet's or numbers."),
    ] = None,
    target: Annotated[
        str, typer.Option(help="Class that it shall see: its name, or a part of it; empty: list some that are near.")
    ] = "",
    denoiser: Annotated[
        str, typer.Option(help="diffusers:FOLDER, guided_diffusion:FILE, world, or JSON; else a filter, no training.")
    ] = "spectral",
    robust: Annotated[str, typer.Option(help="Robust classifier, written likewise: its cone is used.")] = "",
    oracle: Annotated[
        list[str] | None, typer.Option(help="Another classifier that is asked what it sees; may be repeated.")
    ] = None,
    method: Annotated[str, typer.Option(help="Another method than DBVCE's, as JSON.")] = "",
    mask: Annotated[
        Path | None,
        typer.Option(help="Image as large as the photo; only what is white in it may change, by --method."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for counterfactual.png, sheet.png and figures.json.")] = Path(
        "vce-try"
    ),
) -> None:
    """Make one counterfactual of one image, and say what it is worth.

    Without --target it says what the classifier sees, lists classes to choose from, and stops.
    """
    from cfeval.vce.sampler.networks import Models

    nouns = wordnet_if_there()
    spec = _spec_of_explained(classifier, architecture, classes)
    class_names = (
        registry.class_names("classifiers", from_json(spec, dict[str, Any], "--classifier")) if target else None
    )
    wanted = the_class(target, class_names, nouns, "--target") if class_names else ""
    explained: Classifier = build("classifiers", spec, "--classifier")
    if target:
        wanted = the_class(wanted or target, explained.classes, nouns, "--target")
    oracles = {short_name(name): _built("classifiers", name, "--oracle") for name in oracle or ()}
    for name, network in oracles.items():
        if wanted:
            check_knows(network, wanted, f"oracle '{name}'")
    models = Models(
        _built("denoisers", denoiser, "--denoiser"),
        explained,
        _built("classifiers", robust, "--robust") if robust else None,
    )
    if models.robust and not models.robust.robust:
        raise InputError("--robust: this classifier was not trained to be robust; name one that was (`robust: true`)")
    image = center_crop(opened(photo, gray=True), models.denoiser.image_size, 1.0, photo, enlarge=True)
    before = probabilities(explained, from_bytes(pixels_of(image))[None], prepared=True)
    source = likeliest(explained, before)[0]
    for note in getattr(explained, "notes", ()):
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{photo}: the classifier sees {source} (P {_share(before.max())})")
    if not wanted:
        typer.echo(_choices(source, explained.classes, before[0].tolist(), nouns))
        return
    if wanted == source:
        raise InputError(f"--target: the classifier sees '{wanted}' in the image already; name another class")
    if denoiser == "spectral":
        typer.echo(NULL_MODEL, err=True)
    settings = _method(method, models.robust is not None, mask)
    region = _region(mask, photo, models.denoiser.image_size) if mask else None
    start = time.perf_counter()
    made, attempts = _made(image, (source, wanted), models, settings, seed, region)
    figures = _figures(image, made, (source, wanted), explained, oracles)
    figures |= {"attempts": attempts, "seconds": round(time.perf_counter() - start, 1)}
    _write(out, image, made, figures)
    typer.echo(_summary(figures, out))


def _built(family: str, text: str, option: str) -> Any:
    return build(family, json.dumps(_placed(spec_of(text, option, family))), option)


def _spec_of_explained(classifier: str, architecture: str, classes: Path | None) -> str:
    """The classifier to be explained, as JSON, with what other options say of it."""
    spec = with_architecture(_placed(spec_of(classifier, "--classifier")), architecture, "--classifier")
    return json.dumps(spec | ({"classes": str(classes)} if classes else {}))


def _placed(spec: dict[str, Any]) -> dict[str, Any]:
    """A function that makes a network, with the folder that it lies in."""
    here = spec["plugin"] == "python" and beside(str(spec.get("factory", "")))
    return {**spec, "folder": spec.get("folder", ".")} if here else spec


def _method(text: str, cone: bool, mask: Path | None) -> "Method":
    from cfeval.vce.method import Method

    standard = METHOD if cone else METHOD | {"projection": "none"}
    options = from_json(text, dict[str, Any], "--method") if text else standard
    if mask:
        options = {**options, "mask": "given", "region_folder": str(mask.parent)}
    elif options.get("mask") == "given":
        raise InputError("--method: mask 'given' needs an image that says where; name it by --mask")
    return from_json(json.dumps(options), Method, "--method")


def _region(mask: Path, photo: Path, size: int) -> Mask:
    """The middle of the mask, cut out as that of the photo is."""
    drawn = opened(mask, gray=True)
    check_fits(drawn, opened(photo, gray=True), "--mask")
    return as_mask(center_crop(drawn, size, 1.0, mask, enlarge=True), mask)


def _choices(source: str, classes: Sequence[str], shares: Sequence[float], nouns: Any) -> str:
    """Classes to choose from: the nearest in WordNet, and those that the classifier thinks of next."""
    likely = sorted(range(len(classes)), key=lambda place: -shares[place])
    next_best = [classes[place] for place in likely if classes[place] != source][:_SUGGESTED]
    near = [near_class.name for near_class in suggested(source, classes, nouns, _SUGGESTED)]
    lines = [f"nearest classes in WordNet: {', '.join(near)}"] if near else []
    return "\n".join([*lines, f"what it sees next: {', '.join(next_best)}", "choose one: --target CLASS"])


def _made(
    image: Image, classes: tuple[str, str], models: "Models", settings: "Method", seed: int, region: Mask | None
) -> tuple[Image, int]:
    """The counterfactual, and how many weights were tried."""
    from cfeval.vce.sampler.batch import Classes
    from cfeval.vce.sampler.sampler import counterfactuals

    assert models.classifier is not None
    source, target = (models.classifier.classes.index(name) for name in classes)
    images = to_images([image.pixels]).to(models.denoiser.dtype)
    regions = None if region is None else to_regions([region])
    result = counterfactuals(images, [seed], settings, models, Classes([target], [source]), regions=regions)
    if not bool(result.finite[0]):
        raise InputError("it diverged: values that are not finite; lower the scales of --method")
    return Image.from_pixels(to_pixels(result.images[0])), int(result.attempts[0]) + 1


def _figures(
    image: Image,
    made: Image,
    classes: tuple[str, str],
    explained: Classifier,
    oracles: Mapping[str, Classifier],
) -> dict[str, Any]:
    before, after = (from_bytes(pixels_of(shown))[None] for shown in (image, made))
    source, target = classes
    place = explained.classes.index(target)
    shares = probabilities(explained, after, prepared=True)
    seen = {name: likeliest(oracle, probabilities(oracle, after, prepared=True))[0] for name, oracle in oracles.items()}
    return {
        **{"source": source, "target": target, "classifier_sees": likeliest(explained, shares)[0]},
        "p_target_before": round(float(probabilities(explained, before, prepared=True)[0, place]), 6),
        "p_target": round(float(shares[0, place]), 6),
        "oracles_see": seen,
        "destroyed": bool(is_destroyed(before, after)[0]),
        **{f"d{p}": round(float(lp_distance(before, after, p)[0]), 3) for p in (1, 2)},
        "mean_change": round(float(abs(after - before).mean()) * 127.5, 2),
    }


def _share(value: float) -> str:
    """A probability with two decimals, a small one with one digit: of a thousand classes many have .001."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def _write(out: Path, image: Image, made: Image, figures: Mapping[str, Any]) -> None:
    import PIL.Image

    lines = (f"{figures['classifier_sees']}", f"P(target) {_share(figures['p_target'])}")
    others = tuple(f"{name}: {seen}" for name, seen in figures["oracles_see"].items())
    shot = Shot(made.pixels, (*lines, *others, *([_DESTROYED] if figures["destroyed"] else [])), _mood(figures))
    strip = Strip(image.pixels, (figures["source"],), (shot,))
    title = f"{figures['source']} → {figures['target']}"
    sheet = contact_sheet(ContactSheet(title, "one image, start to end", ("counterfactual",), (strip,)))
    out.mkdir(parents=True, exist_ok=True)
    for name, file_image in (("counterfactual.png", made), ("sheet.png", sheet)):
        PIL.Image.fromarray(file_image.pixels).save(out / name)
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


_DESTROYED = "destroyed"
SURE = 0.5
"""The probability of the target from which on a classifier is taken to see it."""


def _mood(figures: Mapping[str, Any]) -> Mood:
    """The color of the verdict: success only where the target is seen surely, by most oracles, in an intact image."""
    target = figures["target"]
    if figures["classifier_sees"] != target or figures["destroyed"]:
        return "wrong"
    seen = list(figures["oracles_see"].values())
    return "right" if 2 * seen.count(target) > len(seen) and figures["p_target"] >= SURE else "none"


def _summary(figures: Mapping[str, Any], out: Path) -> str:
    """What came out, for people: validity first, then agreement, then how far."""
    reached = "it sees"
    if figures["classifier_sees"] != figures["target"]:
        reached = "not reached: it sees"
    elif figures["destroyed"]:
        reached = "no counterfactual: it sees"
    elif figures["p_target"] < SURE:
        reached = "barely: it sees"
    lines = [
        f"target {figures['target']}: {reached} {figures['classifier_sees']}, "
        f"P(target) {_share(figures['p_target_before'])} → {_share(figures['p_target'])} "
        f"({figures['attempts']} of the method's scales tried, {figures['seconds']} s)"
    ]
    agree = [name for name, seen in figures["oracles_see"].items() if seen == figures["target"]]
    if figures["oracles_see"]:
        answers = ", ".join(f"{name} sees {seen}" for name, seen in figures["oracles_see"].items())
        lines.append(f"{len(agree)} of {len(figures['oracles_see'])} oracles see the target: {answers}")
    else:
        lines.append("no oracle was asked (--oracle), so nothing says whether this is an adversarial example")
    if figures["destroyed"]:
        lines.append(
            "the image is destroyed: a blank one would be as near to the original; use a lower `start` or `scales`"
        )
    lines.append(f"mean change of a channel: {figures['mean_change']} of 255; L2 distance {figures['d2']}")
    return "\n".join([*lines, f"look at {out / 'sheet.png'}"])
