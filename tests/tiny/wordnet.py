"""A few nouns in the format of WordNet's database files."""

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

TREE = {
    "entity": (),
    "animal": ("entity",),
    "food": ("entity",),
    "cat": ("animal",),
    "insect": ("animal",),
    "ant": ("insect",),
    "bee": ("insect",),
    "pet": ("animal",),
    "tabby": ("cat", "pet"),
    "hamster": ("pet",),
    "honey": ("food",),
}
"""What each noun is a kind of."""
LICENCE = "  1 This software and database is being provided to you\n"


def write_wordnet(folder: Path, tree: Mapping[str, tuple[str, ...]] = TREE) -> Path:
    """The files `data.noun` and `index.noun` of a hierarchy; every noun also has a word of its own that is no class."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets = dict.fromkeys(tree, 0)
    for _ in range(2):  # the second time each line's place in the file is known
        data, index = _lines(tree, offsets)
        starts = accumulate((len(line) for line in data), initial=len(LICENCE))
        offsets = dict(zip(tree, starts, strict=False))
    (folder / "data.noun").write_text(LICENCE + "".join(data))
    (folder / "index.noun").write_text(LICENCE + "".join(sorted(index)))
    return folder


def _lines(tree: Mapping[str, tuple[str, ...]], offsets: Mapping[str, int]) -> tuple[list[str], list[str]]:
    data, index = [], []
    for noun, above in tree.items():
        pointers = [f"{'@i' if noun == 'honey' else '@'} {offsets[up]:08d} n 0000" for up in above]
        pointers += [f"~ {offsets[other]:08d} n 0000" for other in tree if noun in tree[other]]
        words = f"02 {noun} 0 {noun}_thing 0"
        head = f"{offsets[noun]:08d} 03 n {words} {len(pointers):03d} {' '.join(pointers)}"
        data.append(f'{head} | a gloss; "and an example"  \n')
        index.append(f"{noun} n 1 2 @ ~ 1 0 {offsets[noun]:08d}  \n")
    return data, index
