"""The names of a classifier's classes."""

import ast
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from cfeval.core.errors import InputError, PluginError
from cfeval.core.text_files import read_json, text_lines
from cfeval.inference.local.libraries import file_in

IMAGENET = 1000
"""The number of classes of ImageNet's challenge (ILSVRC 2012)."""


@cache
def imagenet() -> tuple[str, ...]:
    """ImageNet's, as torchvision writes them; no two are the same. Read from its file: importing it would load torch.

    Raises:
        PluginError: torchvision is not there.
    """
    path = file_in("torchvision", "models/_meta.py")
    assigned = {
        target.id: statement.value
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return tuple(ast.literal_eval(assigned["_IMAGENET_CATEGORIES"]))


def imagenet_synsets() -> tuple[str, ...]:
    """Their WordNet ids (such as n02130308, the offset of a noun in WordNet 3.0), in the same order; from timm's files.

    Raises:
        PluginError: timm is not there.
    """
    return tuple(_of_timm("imagenet_synsets.txt").split())


@cache
def imagenet_nouns() -> Mapping[str, tuple[str, ...]]:
    """All nouns of WordNet that mean each of ImageNet's classes, such as cougar, puma, catamount; from timm's files.

    Raises:
        PluginError: timm is not there.
    """
    lines = (line.partition("\t") for line in _of_timm("imagenet_synset_to_lemma.txt").splitlines())
    nouns = {synset: tuple(noun.strip() for noun in lemmas.split(",")) for synset, _, lemmas in lines}
    return {name: nouns.get(synset, ()) for name, synset in zip(imagenet(), imagenet_synsets(), strict=True)}


def _of_timm(file: str) -> str:
    spec = find_spec("timm")
    if spec is None or not spec.submodule_search_locations:
        raise PluginError("ImageNet's synset ids come with the package 'timm', which is not installed; install it")
    folder = Path(spec.submodule_search_locations[0])  # importing timm would load torch
    return (folder / "data" / "_info" / file).read_text(encoding="utf-8")


def named(file: str, count: int | None) -> tuple[str, ...]:
    """The names that options speak of: those in a file, ImageNet's, or numbers.

    Raises:
        InputError: the file cannot be read, holds no names or a name twice, or not `count` of them.
    """
    if file:
        path = Path(file)
        lines = read_json(path) if path.suffix == ".json" else list(text_lines(path))
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise InputError(f"{path}: a JSON list of names is needed")
        names = tuple(line.strip() for line in lines if line.strip())
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"{path}: class '{twice[0]}' stands there twice; names of classes must differ")
        if len(names) < 2:
            raise InputError(
                f"{path}: names of at least two classes are needed, a name a line, but there are {len(names)}"
            )
        if count not in (None, len(names)):
            raise InputError(f"{path}: names {len(names)} classes, and num_classes is {count}; leave num_classes out")
        return names
    if count in (None, IMAGENET):
        return imagenet()
    return tuple(map(str, range(count or 0)))
