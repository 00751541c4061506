"""Choosing targets: the classes that are nearest to a source class in WordNet.

DBVCE (Section 4) takes DVCE's ideal targets and says that they come from "WordNet similarity", not from which. Path
similarity is used here, the simplest one. For cheetah it finds leopard among the nearest, volcano for alp and pizza for
burrito, like the papers, but not guacamole for mashed potato: read the list before you use it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import build
from cfeval.core.errors import InputError, nearest
from cfeval.core.yaml_files import dump_yaml
from cfeval.vce.models.class_names import imagenet, imagenet_synsets
from cfeval.vce.models.spelling import FORMS, spec_of
from cfeval.vce.wordnet import WordNet, load_wordnet


@dataclass(frozen=True)
class Near:
    """A class and its similarity to a source, in [0, 1]; 1 for the same synset."""

    name: str
    similarity: float


def synsets_of(classes: Sequence[str], wordnet: WordNet) -> dict[str, str]:
    """The synset of every class whose name is a noun that WordNet has, in its commonest sense."""
    pairs = ((name, wordnet.synset(name)) for name in classes)
    return {name: synset for name, synset in pairs if synset}


def nearest_classes(source: str, synsets: Mapping[str, str], wordnet: WordNet, count: int) -> list[Near]:
    """The `count` classes most similar to `source`, the nearest first; equally near ones in the order of `synsets`.

    Args:
        source: a class.
        synsets: the synset of every class.
        wordnet: the hierarchy.
        count: how many; there may be fewer classes.

    Raises:
        InputError: the source has no synset.
    """
    if source not in synsets:
        raise InputError(f"class '{source}': WordNet has no such noun; choose its targets by hand")
    own = synsets[source]
    others = [Near(name, path_similarity(own, synsets[name], wordnet)) for name in synsets if name != source]
    return sorted(others, key=lambda near: -near.similarity)[:count]


def path_similarity(first: str, second: str, wordnet: WordNet) -> float:
    """1 / (1 + steps of the shortest way between two synsets over a common hypernym); 0 where there is none.

    Source: Pedersen et al. 2004, "WordNet::Similarity".
    """
    ups, others = _above(first, wordnet), _above(second, wordnet)
    common = ups.keys() & others.keys()
    return 1 / (1 + min(ups[synset] + others[synset] for synset in common)) if common else 0.0


def _above(synset: str, wordnet: WordNet) -> dict[str, int]:
    """The synset and all its hypernyms, with the steps up to each, at least."""
    steps, layer, height = {synset: 0}, [synset], 0
    while layer:
        height += 1
        layer = [up for lower in layer for up in wordnet.hypernyms.get(lower, ()) if up not in steps]
        steps |= dict.fromkeys(layer, height)
    return steps


def run(
    classifier: Annotated[str, typer.Option(help=f"The classifier: {FORMS}.")],
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
    classes: tuple[str, ...] = build(
        "classifiers", json.dumps(spec_of(classifier, "--classifier")), "--classifier"
    ).classes
    for name in source:
        if name not in classes:
            raise InputError(f"--source: the classifier has no class '{name}'; {nearest(name, classes)}")
    nouns = load_wordnet(folder)
    own = classes == imagenet()
    synsets = dict(zip(classes, imagenet_synsets(), strict=True)) if own else synsets_of(classes, nouns)
    near = {name: nearest_classes(name, synsets, nouns, count) for name in dict.fromkeys(source)}
    typer.echo(as_yaml(near), nl=False)


def as_yaml(targets: Mapping[str, Sequence[Near]]) -> str:
    """The section `groups`, with the similarities as comments."""
    lines = ["groups:"]
    for source, near in targets.items():
        if not near:
            raise InputError(f"class '{source}': no other class of the classifier is a noun that WordNet has")
        row = {"source": source, "ideal": near[0].name, "others": [target.name for target in near[1:]]}
        text = dump_yaml(row, default_flow_style=True, width=10_000).strip()
        lines.append(f"  - {text}  # {', '.join(f'{target.similarity:.3f}' for target in near)}")
    return "\n".join(lines) + "\n"
