"""Choosing targets: finding a class by what somebody calls it, and the classes nearest to a source class in WordNet.

DBVCE (Section 4) takes DVCE's ideal targets and says that they come from "WordNet similarity", not from which. Path
similarity is used here, the simplest one. For cheetah it finds leopard among the nearest, volcano for alp and pizza for
burrito, like the papers, but not guacamole for mashed potato: read the list before you use it.

A class is found by its name, another noun for it, a word in it, or a kind of thing it is. ImageNet's classes are also
found by the other nouns of their synsets (timm's files have them). Kinds of things need WordNet, where it is on this
machine.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import build
from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.core.yaml_files import dump_yaml
from cfeval.vce.models.class_names import imagenet, imagenet_nouns, imagenet_synsets
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
    ups, others = _hypernym_steps(first, wordnet), _hypernym_steps(second, wordnet)
    common = ups.keys() & others.keys()
    return 1 / (1 + min(ups[synset] + others[synset] for synset in common)) if common else 0.0


def _hypernym_steps(synset: str, wordnet: WordNet) -> dict[str, int]:
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


SHOWN = 8
"""Classes that an error lists, at most."""


def wordnet_if_there() -> WordNet | None:
    """WordNet where it lies on this machine; nothing is fetched."""
    try:
        return load_wordnet()
    except InputError:
        return None


def fitting(text: str, classes: Sequence[str], wordnet: WordNet | None = None) -> list[str]:
    """The classes that a name may mean.

    The class of that name; else that with another noun of that name; else those with it as a word, and those that
    WordNet knows as a kind of it; else those with it as a part of a word.

    Args:
        text: a name; case does not count, nor whether words are parted by spaces, `_` or `-`.
        classes: the names of the classes.
        wordnet: None: words alone decide.
    """
    plain_name = _plain(text)
    nouns = {name: (_plain(name), *map(_plain, more)) for name, more in _nouns(classes).items()}
    if not plain_name:
        return []
    for exact in (
        [name for name in classes if nouns[name][0] == plain_name],
        [n for n in classes if plain_name in nouns[n]],
    ):
        if exact:
            return exact
    whole = re.compile(rf"\b{re.escape(plain_name)}\b")
    kinds = _kinds_of(plain_name, classes, wordnet) if wordnet else set()
    matches = [name for name in classes if name in kinds or any(map(whole.search, nouns[name]))]
    return matches or [name for name in classes if plain_name in nouns[name][0]]


def surely(folder_name: str, classes: Sequence[str], wordnet: WordNet | None = None) -> str | None:
    """The one class that a name surely means: by its name, by a noun for it, or as the only thing of that kind."""
    matches = fitting(folder_name, classes, wordnet)
    if len(matches) != 1:
        return None
    [name], wanted = matches, _plain(folder_name)
    nouns = map(_plain, (name, *_nouns(classes)[name]))
    return name if wanted in nouns or (wordnet and name in _kinds_of(wanted, classes, wordnet)) else None


def the_class(text: str, classes: Sequence[str], wordnet: WordNet | None, option: str) -> str:
    """The one class that a name means.

    Raises:
        InputError: none, or several; one line that lists them.
    """
    matches = fitting(text, classes, wordnet)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise InputError(f"{option}: the classifier has no class '{text}'; {nearest(text, classes)}")
    raise InputError(f"{option}: '{text}' may mean {_several(matches)}; name one of them")


def advice(text: str, classes: Sequence[str], wordnet: WordNet | None) -> str:
    """What to write for a name that is no class: the classes that it may mean, else the one spelt most like it."""
    matches = fitting(text, classes, wordnet)
    if not matches:
        return nearest(text, classes)
    return f"write '{matches[0]}'" if len(matches) == 1 else f"it may mean {_several(matches)}; write one of them"


def suggested(source: str, classes: Sequence[str], wordnet: WordNet | None, count: int) -> list[Near]:
    """The classes nearest to a source in WordNet; none where it is not there, or has no such noun."""
    synsets = _synsets(classes, wordnet) if wordnet else {}
    return nearest_classes(source, synsets, wordnet, count) if wordnet and source in synsets else []


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def _several(matches: Sequence[str]) -> str:
    more = f" and {len(matches) - SHOWN} more" if len(matches) > SHOWN else ""
    return f"{', '.join(matches[:SHOWN])}{more}"


def _nouns(classes: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Further nouns for each class; none but for ImageNet's."""
    if tuple(classes) == imagenet():
        try:
            return imagenet_nouns()
        except PluginError:  # without timm, names alone decide
            pass
    return dict.fromkeys(classes, ())


def _synsets(classes: Sequence[str], wordnet: WordNet) -> dict[str, str]:
    if tuple(classes) == imagenet():
        return dict(zip(classes, imagenet_synsets(), strict=True))
    return synsets_of(classes, wordnet)


def _kinds_of(wanted: str, classes: Sequence[str], wordnet: WordNet) -> set[str]:
    """The classes whose synset is, or lies below, some sense of a noun."""
    senses = set(wordnet.senses.get(wanted.replace(" ", "_"), ()))
    return {name for name, synset in _synsets(classes, wordnet).items() if senses & _above(synset, wordnet)}


def _above(synset: str, wordnet: WordNet) -> set[str]:
    """A synset and all that it is a kind of."""
    synsets, waiting = {synset}, [synset]
    while waiting:
        new = set(wordnet.hypernyms.get(waiting.pop(), ())) - synsets
        synsets |= new
        waiting += new
    return synsets
