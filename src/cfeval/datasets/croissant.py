"""Descriptions of a dataset for machines: Croissant (JSON-LD, MLCommons Croissant 1.0), and the head of a hub card.

The terms are those of docs.mlcommons.org/croissant/docs/croissant-spec.html; of a card at the Hugging Face Hub, those
of huggingface.co/docs/hub/datasets-cards.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

NAME = "croissant.json"
# The terms that descriptions use.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "sc": "https://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "includes": "cr:includes",
    "jsonPath": "cr:jsonPath",
    "md5": "cr:md5",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "source": "cr:source",
}
Node = dict[str, Any]


def description(title: str, about: str, licence: str, files: Sequence[Node], record_sets: Sequence[Node]) -> str:
    """The file's text.

    Args:
        title: the dataset's name for readers; its name for machines follows from it.
        about: what it holds, in a sentence.
        licence: an identifier of spdx.org/licenses, such as CC-BY-4.0.
        files: by `jsonl_file` and `image_files`.
        record_sets: by `record_set`.
    """
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower() or "dataset",
        "description": about,
        "license": f"https://spdx.org/licenses/{licence}.html",
        "distribution": list(files),
        "recordSet": list(record_sets),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def jsonl_file(name: str, path: str, sha256: str) -> Node:
    """A file of rows: its name in the description, where it is, and its hash."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": path.rpartition("/")[2],
        "contentUrl": path,
        "encodingFormat": "application/jsonlines",
        "sha256": sha256,
    }


def image_files(name: str, pattern: str) -> Node:
    """The PNG files that a pattern finds."""
    return {"@type": "cr:FileSet", "@id": name, "encodingFormat": "image/png", "includes": pattern}


def record_set(name: str, file: str, fields: Mapping[str, str], images: Mapping[str, str] | None = None) -> Node:
    """The rows of a file.

    Args:
        name: of the record set.
        file: the name of its `jsonl_file`.
        fields: the columns, and what they mean.
        images: by column that names an image's file: the name of its `image_files`.
    """
    shown = images or {}
    columns = [_column(name, file, column, meaning, shown.get(column, "")) for column, meaning in fields.items()]
    columns += [_image(name, column, files) for column, files in shown.items()]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": columns}


def _column(name: str, file: str, column: str, meaning: str, images: str) -> Node:
    field: Node = {
        "@type": "cr:Field",
        "@id": f"{name}/{column}",
        "name": column,
        "description": meaning,
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
    }
    if images:
        field["references"] = {"fileSet": {"@id": images}, "extract": {"fileProperty": "filename"}}
    return field


def _image(name: str, column: str, files: str) -> Node:
    field = column.removesuffix("file_name").rstrip("_") or "image"
    return {
        "@type": "cr:Field",
        "@id": f"{name}/{field}",
        "name": field,
        "description": f"The image that {column} names",
        "dataType": "sc:ImageObject",
        "source": {"fileSet": {"@id": files}, "extract": {"fileProperty": "content"}},
    }


_SIZES = {"n<1K": 1_000, "1K<n<10K": 10_000, "10K<n<100K": 100_000, "100K<n<1M": 1_000_000}


def hub_card_head(title: str, licence: str, rows: int, configurations: Mapping[str, str], split: str) -> str:
    """The YAML that a card of questions about images begins with.

    Args:
        title: what the card calls the set.
        licence: its identifier, as spdx.org/licenses has it.
        rows: how many rows there are.
        configurations: by name, the pattern that finds its files.
        split: the name of the one split of each.
    """
    about = {
        "pretty_name": title,
        "license": licence.lower(),
        "language": ["en"],
        "task_categories": ["visual-question-answering"],
        "size_categories": [next((name for name, edge in _SIZES.items() if rows < edge), "n>1M")],
        "tags": ["counterfactual", "croissant"],
        "configs": [
            {"config_name": name, "data_files": [{"split": split, "path": path}]}
            for name, path in configurations.items()
        ],
    }
    return f"---\n{yaml.safe_dump(about, sort_keys=False, allow_unicode=True)}---\n"
