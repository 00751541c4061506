"""List the classes of a classifier that are nearest to a source class in WordNet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
import yaml

from cfeval.backends.local_classifiers.classes import imagenet, imagenet_synsets
from cfeval.cli.common import build
from cfeval.errors import InputError, nearest
from cfeval.io import wordnet
from cfeval.studies.vce.targets import Near, nearest_classes, synsets_of


def run(
    classifier: Annotated[str, typer.Option(help="The classifier, as JSON: its backend and options.")],
    source: Annotated[list[str], typer.Option(help="Class of the original images; may be repeated.")],
    count: Annotated[int, typer.Option(min=1, help="Targets for each source: the ideal one and others.")] = 4,
    folder: Annotated[
        Path | None, typer.Option("--wordnet", help="Folder with data.noun and index.noun; else NLTK's or Debian's.")
    ] = None,
) -> None:
    """List the classes of a classifier that are nearest to a source class in WordNet.

    Writes the section `groups` of params.yaml to standard output: the nearest class as ideal target, then the others,
    with their similarities as comments. ImageNet's classes are found by their synset ids, others by their names.
    """
    classes: tuple[str, ...] = build("classifiers", classifier, "--classifier").classes
    for name in source:
        if name not in classes:
            raise InputError(f"--source: the classifier has no class '{name}'; {nearest(name, classes)}")
    nouns = wordnet.load(folder)
    own = classes == imagenet()
    synsets = dict(zip(classes, imagenet_synsets(), strict=True)) if own else synsets_of(classes, nouns)
    found = {name: nearest_classes(name, synsets, nouns, count) for name in dict.fromkeys(source)}
    typer.echo(as_yaml(found), nl=False)


def as_yaml(found: Mapping[str, Sequence[Near]]) -> str:
    """The section `groups`, with the similarities as comments."""
    lines = ["groups:"]
    for source, near in found.items():
        if not near:
            raise InputError(f"class '{source}': no other class of the classifier is a noun that WordNet has")
        row = {"source": source, "ideal": near[0].name, "others": [one.name for one in near[1:]]}
        text = yaml.safe_dump(row, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True).strip()
        lines.append(f"  - {text}  # {', '.join(f'{one.similarity:.3f}' for one in near)}")
    return "\n".join(lines) + "\n"
