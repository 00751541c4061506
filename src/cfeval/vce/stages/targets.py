"""WordNet's nouns (Miller 1995): which noun means what, and what is a kind of what.

Read from the database files `data.noun` and `index.noun` (format: the manual page wndb(5)) of WordNet 3.0, to whose
file offsets ImageNet's synset ids refer. They do not come with cfeval; `find` says where they are looked for.

Choosing targets: the classes that are nearest to a source class in WordNet.

DBVCE (Section 4) takes DVCE's ideal targets and says that they come from "WordNet similarity", not from which. Path
similarity is used here, the simplest one. For cheetah it finds leopard among the nearest, volcano for alp and pizza for
burrito, like the papers, but not guacamole for mashed potato: read the list before you use it.
"""

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import yaml

from cfeval.core.cli_options import build
from cfeval.core.errors import InputError, nearest
from cfeval.vce.models.class_names import imagenet, imagenet_synsets

_HYPERNYMS = ("@", "@i")
"""The pointers from a noun to what it is a kind of, or an instance of."""
_DEBIAN = Path("/usr/share/wordnet")
HOW = (
    "WordNet 3.0 is needed: run `python -m nltk.downloader wordnet` where there is a network (NLTK_DATA says where it "
    "goes), or install Debian's wordnet-base, or name a folder that holds data.noun and index.noun"
)


@dataclass(frozen=True)
class WordNet:
    """The nouns: `hypernyms` of every synset, by its id (n and eight digits), and the `senses` of every noun.

    Nouns are in lower case with `_` for a space, their senses the commonest first.
    """

    hypernyms: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]

    def synset(self, noun: str) -> str | None:
        """The commonest sense of a noun; None where WordNet has no such noun."""
        found = self.senses.get(noun.strip().lower().replace(" ", "_"), ())
        return found[0] if found else None


def load(folder: Path | None = None) -> WordNet:
    """Read the files of a folder, or those found on this machine.

    Raises:
        InputError: they are not there or cannot be read.
    """
    where = folder or find()
    try:
        hypernyms = dict(_hypernyms(_lines(where, "data.noun")))
        senses = dict(_senses(_lines(where, "index.noun")))
    except (OSError, KeyError, zipfile.BadZipFile):
        raise InputError(f"{where}: no data.noun and index.noun there that can be read; {HOW}") from None
    except (ValueError, IndexError):
        raise InputError(f"{where}: data.noun or index.noun is broken; get it again") from None
    if not hypernyms or not senses:
        raise InputError(f"{where}: data.noun or index.noun is empty; get it again")
    return WordNet(hypernyms, senses)


def find() -> Path:
    """The folder or archive with the files: in NLTK's data folders, or where Debian puts them.

    Raises:
        InputError: nowhere; says how to get them.
    """
    for place in _places():
        for found in (place / "corpora" / "wordnet", place / "corpora" / "wordnet.zip"):
            if found.exists():
                return found
    if (_DEBIAN / "data.noun").is_file():
        return _DEBIAN
    raise InputError(f"no WordNet on this machine; {HOW}")


def _places() -> Iterator[Path]:
    """NLTK's data folders: those that NLTK_DATA names, and the usual ones."""
    yield from (Path(place) for place in os.environ.get("NLTK_DATA", "").split(os.pathsep) if place)
    yield Path.home() / "nltk_data"
    yield from (Path(root) / "nltk_data" for root in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"))


def _lines(where: Path, name: str) -> list[str]:
    """The lines of a file, without the licence at its top, whose lines begin with a space."""
    if where.suffix == ".zip":
        with zipfile.ZipFile(where) as archive:
            text = archive.read(f"wordnet/{name}").decode("utf-8")
    else:
        text = (where / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith(" ")]


def _hypernyms(lines: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A line is: offset, file number, n, count of words (hex), these with a digit each, count of pointers, these."""
    for line in lines:
        fields = line.split(" | ", 1)[0].split()
        start = 4 + 2 * int(fields[3], 16)
        pointers = [fields[start + 1 + 4 * i : start + 5 + 4 * i] for i in range(int(fields[start]))]
        yield f"n{fields[0]}", tuple(f"n{offset}" for kind, offset, _, _ in pointers if kind in _HYPERNYMS)


def _senses(lines: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A line is: noun, n, count of senses, and what ends with as many offsets."""
    for line in lines:
        fields = line.split()
        yield fields[0], tuple(f"n{offset}" for offset in fields[-int(fields[2]) :])


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
    nouns = load(folder)
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
