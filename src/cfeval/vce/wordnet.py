"""WordNet's nouns (Miller 1995): which noun means what, and what is a kind of what.

Read from the database files `data.noun` and `index.noun` (format: the manual page wndb(5)) of WordNet 3.0, to whose
file offsets ImageNet's synset ids refer. They do not come with cfeval; `find_wordnet` says where they are looked for.
"""

import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfeval.core.errors import InputError

_HYPERNYMS = ("@", "@i")
"""The pointers from a noun to what it is a kind of, or an instance of."""
_DEBIAN = Path("/usr/share/wordnet")
ADVICE = (
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
        senses = self.senses.get(noun.strip().lower().replace(" ", "_"), ())
        return senses[0] if senses else None


def load_wordnet(folder: Path | None = None) -> WordNet:
    """Read the files of a folder, or those found on this machine.

    Raises:
        InputError: they are not there or cannot be read.
    """
    where = folder or find_wordnet()
    try:
        hypernyms = dict(_hypernyms(_lines(where, "data.noun")))
        senses = dict(_senses(_lines(where, "index.noun")))
    except (OSError, KeyError, zipfile.BadZipFile):
        raise InputError(f"{where}: no data.noun and index.noun there that can be read; {ADVICE}") from None
    except (ValueError, IndexError):
        raise InputError(f"{where}: data.noun or index.noun is broken; get it again") from None
    if not hypernyms or not senses:
        raise InputError(f"{where}: data.noun or index.noun is empty; get it again")
    return WordNet(hypernyms, senses)


def find_wordnet() -> Path:
    """The folder or archive with the files: in NLTK's data folders, or where Debian puts them.

    Raises:
        InputError: nowhere; says how to get them.
    """
    for place in _places():
        for path in (place / "corpora" / "wordnet", place / "corpora" / "wordnet.zip"):
            if path.exists():
                return path
    if (_DEBIAN / "data.noun").is_file():
        return _DEBIAN
    raise InputError(f"no WordNet on this machine; {ADVICE}")


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
