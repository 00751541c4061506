"""Choosing targets: the classes that are nearest to a source class in WordNet.

DBVCE (Section 4) takes DVCE's ideal targets and says that they come from "WordNet similarity", not from which. Path
similarity is used here, the simplest one. For cheetah it finds leopard among the nearest, volcano for alp and pizza for
burrito, like the papers, but not guacamole for mashed potato: read the list before you use it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfeval.errors import InputError
from cfeval.io.wordnet import WordNet


@dataclass(frozen=True)
class Near:
    """A class and its similarity to a source, in [0, 1]; 1 for the same synset."""

    name: str
    similarity: float


def synsets_of(classes: Sequence[str], wordnet: WordNet) -> dict[str, str]:
    """The synset of every class whose name is a noun that WordNet has, in its commonest sense."""
    found = ((name, wordnet.synset(name)) for name in classes)
    return {name: synset for name, synset in found if synset}


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
    found = [Near(name, path_similarity(own, synsets[name], wordnet)) for name in synsets if name != source]
    return sorted(found, key=lambda near: -near.similarity)[:count]


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
        layer = [up for one in layer for up in wordnet.hypernyms.get(one, ()) if up not in steps]
        steps |= dict.fromkeys(layer, height)
    return steps
