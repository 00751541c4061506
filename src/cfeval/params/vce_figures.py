"""What figures of the vce study may be called: a known name is kept for the real thing."""

from collections.abc import Mapping
from typing import Any

Specs = Mapping[str, Mapping[str, Any]]
"""Plug-ins by the names of their figures: each its `backend` and options."""
KEPT = {"lpips": "lpips", "fid": "inception", "sfid": "inception", "s3": "simsiam"}
"""The first word of a name, and the only backend whose figures may bear it."""
TAKEN = frozenset(
    (
        *("ta", "oa", "fr", "os", "ota", "p_target", "p_source", "mean", "majority", "cout", "diversity"),
        *("d1", "d1_5", "d2", "d1_batch", "d1_5_batch", "d2_batch"),
    )
)
"""Names that other figures have."""


def check_figures(distances: Specs, features: Specs, embeddings: Specs) -> None:
    """Check the names of perceptual distances, of Fréchet distances, and of similarities of embeddings.

    `fid_64` must be made of Inception's 64 features. `s3_enl0` is no S3, and says so by the rest of its name.

    Raises:
        ValueError: a name is kept for another backend, is taken, or is used twice; one line with what to do.
    """
    named = [*distances.items(), *features.items(), *embeddings.items()]
    for name, spec in named:
        if name in TAKEN:
            raise ValueError(f"'{name}' is the name of another figure; give what is measured by it another name")
        if sum(name == other for other, _ in named) > 1:
            raise ValueError(f"two figures are called '{name}'; give one of them another name")
        _check_kept(name, spec)


def _check_kept(name: str, spec: Mapping[str, Any]) -> None:
    word, _, rest = name.partition("_")
    wanted = KEPT.get(word)
    if word == "s3" and rest:
        return
    if wanted and spec.get("backend") != wanted:
        raise ValueError(
            f"'{name}' is kept for the backend {wanted}, and this is {spec.get('backend')}; give it a name of its own, "
            "such as st_lpips, fd_enl0_40 or s3_enl0"
        )
    if wanted == "inception" and rest != str(spec.get("width", 2048)):
        raise ValueError(f"'{name}' has {spec.get('width', 2048)} features; call it {word}_{spec.get('width', 2048)}")
