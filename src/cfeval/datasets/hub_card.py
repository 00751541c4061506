"""The head of a dataset's card at the Hugging Face Hub (huggingface.co/docs/hub/datasets-cards)."""

from collections.abc import Mapping

import yaml

_SIZES = {"n<1K": 1_000, "1K<n<10K": 10_000, "10K<n<100K": 100_000, "100K<n<1M": 1_000_000}


def head(title: str, licence: str, rows: int, configurations: Mapping[str, str], split: str) -> str:
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
