"""YAML as people write it, with one meaning: what YAML 1.1 and 1.2 read differently is refused.

Snakemake reads params.yaml by PyYAML (YAML 1.1), DVC by ruamel.yaml (YAML 1.2): `no` is false to the one and a text to
the other. Also refused: a key that stands twice in a mapping, where YAML itself would keep the last one without a word,
and aliases that stand for more than anyone writes.
"""

from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from cfeval.core.errors import ParamsError, shown

# Safe, and much faster than SafeLoader where PyYAML was built with its C library.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Mappings and lists inside one another, at most. libyaml's composer recurses in C: far beyond that the process dies.
_DEPTH = 100
# Values of a file whose aliases are written out, at most.
_MOST = 100_000
_QUOTE = "put it in quotation marks"


class _RefusedError(ValueError):
    """Valid YAML that is not taken; the message begins with the line."""


def read_yaml(path: Path) -> Any:
    """What a YAML file says; None where it says nothing.

    Raises:
        ParamsError: no such file, or like `parse_yaml`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such parameter file") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: not valid YAML: {error}") from None
    return parse_yaml(text, path)


def parse_yaml(text: str, name: object) -> Any:
    """What a YAML text says; None where it says nothing. `name` is what an error calls it.

    Raises:
        ParamsError: no YAML, a key twice in a mapping, too many aliases, or something that YAML 1.1 and 1.2 read
            differently; one line.
    """
    try:
        _check(text)
        return yaml.load(text, _LOADER)
    except _RefusedError as error:
        raise ParamsError(f"{name}, {error}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ParamsError(f"{name}: not valid YAML: {' '.join(str(error).split())}") from None


def dump_yaml(content: Any, **options: Any) -> str:
    """Content as YAML that 1.1 and 1.2 read alike; `options` are those of `yaml.dump`."""
    return str(yaml.dump(content, Dumper=_dumper(), sort_keys=False, allow_unicode=True, **options))


@lru_cache(maxsize=64)
def _check(text: str) -> None:
    """Refuse what is not taken. A text is checked once in a process: ruamel.yaml is written in Python, and slow."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    depth = 0
    event: Any
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEPTH:
            raise _RefusedError(f"line {event.start_mark.line + 1}: over {_DEPTH} levels deep; write it flatter")
    loader, later = _LOADER(text), YAML(typ="safe", pure=True)
    try:
        node = loader.get_single_node()
        if node is None:
            return
        _check_aliases(node)
        try:
            other = later.compose(text)
        except YAMLError as error:
            raise ValueError(f"YAML 1.2: {error}") from None
        read = (lambda node: loader.construct_object(node, deep=True), later.constructor.construct_object)
        _Comparison(*read).compare(node, other)
    finally:
        loader.dispose()


def _check_aliases(root: Any) -> None:
    """Refuse a value that holds itself, and aliases that stand for too many values."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        line = f"line {node.start_mark.line + 1}"
        if id(node) in sizes:
            if not sizes[id(node)]:
                raise _RefusedError(f"{line}: the value that begins here holds an alias of itself; write it out")
            return sizes[id(node)]
        sizes[id(node)] = 0
        sizes[id(node)] = total = 1 + sum(map(size, _parts(node)))
        if total > _MOST and not isinstance(node, yaml.ScalarNode) and aliased:
            raise _RefusedError(
                f"{line}: with its aliases written out, this is over {_MOST:,} values; use fewer aliases"
            )
        return total

    aliased = _has_shared(root)
    size(root)


def _has_shared(root: Any) -> bool:
    """Whether an alias names a mapping or a list."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            return True
        if not isinstance(node, yaml.ScalarNode):
            seen.add(id(node))
            waiting += _parts(node)
    return False


def _parts(node: Any) -> Iterator[Any]:
    """The nodes directly in a node, of PyYAML or ruamel.yaml; the keys of a mapping among them."""
    if node.id == "sequence":
        yield from node.value
    elif node.id == "mapping":
        for pair in node.value:
            yield from pair


class _Comparison:
    """Compares two readings of one text, node by node.

    Args:
        first: the value of a node of PyYAML.
        second: the value of a node of ruamel.yaml.
    """

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._first, self._second = first, second
        self._seen: set[int] = set()

    def compare(self, node: Any, other: Any) -> None:
        """Refuse what they read differently, and a key that stands twice."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        line = f"line {node.start_mark.line + 1}"
        differ = node.id != "scalar" and (node.tag, len(node.value)) != (other.tag, len(other.value))
        if node.id != other.id or differ:
            raise _RefusedError(f"{line}: YAML 1.1 and 1.2 read this differently; write it with more quotation marks")
        if node.id == "scalar":
            self._compare_scalars(line, node, other)
        if node.id == "mapping":
            lines: dict[Any, int] = {}
            for key, _ in node.value:
                if key.id != "scalar":
                    continue
                here = key.start_mark.line + 1
                value = (key.value,) if _is_merge(key) else _value(self._first, key)
                if value in lines:
                    raise _RefusedError(
                        f"line {here}: the key '{key.value}' stands twice, in line {lines[value]} too; keep one of them"
                    )
                lines[value] = here
        for first, two in zip(_parts(node), _parts(other), strict=True):
            self.compare(first, two)

    def _compare_scalars(self, line: str, node: Any, other: Any) -> None:
        if _is_merge(node) and node.tag == other.tag:
            return
        first, second = (_value(*reading) for reading in ((self._first, node), (self._second, other)))
        if not _same(first, second):
            quoted = [_plain(value) for value in (first, second) if _plain(value)]
            instead = f", or write {' or '.join(dict.fromkeys(quoted))}" if quoted else ""
            raise _RefusedError(
                f"{line}: {shown(node.value)} is {_described(first)} to YAML 1.1, which Snakemake reads, and "
                f"{_described(second)} to YAML 1.2, which DVC reads; {_QUOTE}{instead}"
            )
        if isinstance(first, _Unreadable):
            raise _RefusedError(f"{line}: {shown(node.value)} is no value that YAML knows{first}; {_QUOTE}")


class _Unreadable(str):
    """Why a scalar has no value, such as a date that there is not."""


def _value(read: Callable[[Any], Any], node: Any) -> Any:
    try:
        return read(node)
    except Exception as error:  # whatever a constructor of either library raises at a text that it cannot read
        return _Unreadable(f" ({error})" if isinstance(error, ValueError) else "")


def _is_merge(node: Any) -> bool:
    return str(node.tag).endswith(":merge")


def _same(first: Any, second: Any) -> bool:
    """Whether values are equal and of one kind; two that cannot be read are."""
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (first != first and second != second)
    if isinstance(first, _Unreadable) or isinstance(second, _Unreadable):
        return isinstance(first, _Unreadable) and isinstance(second, _Unreadable)
    kinds = [bool, int, float, str, bytes, date, type(None)]  # datetime is a date; the libraries have subclasses
    alike = [next((kind for kind in kinds if isinstance(value, kind)), type(value)) for value in (first, second)]
    return alike[0] is alike[1] and first == second


def _described(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int | float):
        return f"the number {value!r:.40}"
    if isinstance(value, date):
        return f"the time {value}"
    return "unreadable" if isinstance(value, _Unreadable) else f"the text {shown(value)}"


def _plain(value: Any) -> str:
    """How both versions write a value other than a text; empty where one of them has another way."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return f"{value!r:.40}"
    if isinstance(value, float) and value - value == 0:
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    return ""


@lru_cache(maxsize=1)
def _dumper() -> type[yaml.SafeDumper]:
    """A dumper that also quotes the texts that only YAML 1.2 would not read as texts."""
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import ScalarNode

    class Dumper(yaml.SafeDumper):
        def represent_str(self, data: str) -> yaml.ScalarNode:
            tag = str(resolver.resolve(ScalarNode, data, (True, False)))
            quoted = '"' if tag != "tag:yaml.org,2002:str" or not data.isprintable() else None
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=quoted)

    resolver = YAML(typ="safe", pure=True).resolver
    Dumper.add_representer(str, Dumper.represent_str)
    return Dumper
