"""YAML as people write it: no key twice in a mapping, where YAML itself would keep the last one without a word."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from cfeval.core.errors import ParamsError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Safe, and ten times as fast where PyYAML was built with its C library."""


def read_yaml(path: Path) -> Any:
    """What a YAML file says; None where it says nothing.

    Raises:
        ParamsError: no such file, no YAML, or a key that stands twice in a mapping.
    """
    try:
        loader = _LOADER(path.read_text(encoding="utf-8"))
        try:
            node = loader.get_single_node()
            for line, key, before in _twice(node):
                raise ParamsError(
                    f"{path}, line {line}: the key '{key}' stands twice, in line {before} too; keep one of them"
                )
            return loader.construct_document(node) if node else None
        finally:
            loader.dispose()
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such parameter file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def _twice(node: Any) -> Iterator[tuple[int, str, int]]:
    """The keys that stand twice in a mapping: the line of the second, the key, the line of the first."""
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from _twice(part)
    elif isinstance(node, yaml.MappingNode):
        lines: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            here = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                first = lines.setdefault((key.tag, key.value), here)
                if first != here:
                    yield here, key.value, first
            yield from _twice(value)
