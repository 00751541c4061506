"""Finding a class by what somebody calls it: its name, another noun for it, a word in it, or a kind of thing it is.

ImageNet's classes are also found by the other nouns of their synsets (timm's files have them). Kinds of things need
WordNet, where it is on this machine.
"""

import re
from collections.abc import Mapping, Sequence

from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.vce.models.class_names import imagenet, imagenet_nouns, imagenet_synsets
from cfeval.vce.stages.targets import Near, nearest_classes, synsets_of
from cfeval.vce.wordnet import WordNet, load_wordnet

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
