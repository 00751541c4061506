"""Files of weights: read without running what they may hold, found inside what is around them, fitted to a network.

Training code wraps networks, and its files name weights with what was around them (`module.`, `model.`; the
robustness library: `module.model.`, a second copy below `module.attacker.model.`, the normalizer's mean and std). What
stands before the network's own names is found by comparing with these, whatever it is. Checkpoints of guided-diffusion
are read as published (`read_weights`).
"""

import pickle
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError, PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.models.classifier import Channels, check_weights
from cfeval.vce.models.inert_pickle import read_inert

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_HOLDERS = ("state_dict", "model", "model_state_dict", "net")
"""Where training code puts the weights in a file, the likeliest first; others come after, in the file's order."""
_DEPTH = 4
"""How deep weights may lie."""
_TOP = "."
"""The name of a set of weights that no key leads to."""
_SHOWN = 3
_HEAD = 4
"""Tensors of a last layer, at most: some networks have two."""


@dataclass(frozen=True)
class Stored:
    """The weights of a file under a network's own names, and the normalizer's mean and std where they stand beside.

    `taken` is which set of weights they are, and `others` which further ones the file holds for the same network; both
    are empty where it holds one.
    """

    weights: "dict[str, Tensor]"
    mean: Channels | None
    std: Channels | None
    taken: str = ""
    others: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of a file that holds several sets of weights."""
        if not self.others:
            return ()
        more = " and ".join(f"'{name}'" for name in self.others)
        return (f"the file holds several sets of weights: took '{self.taken}', not {more} (`weights` chooses)",)


def read(path: Path) -> "dict[str, Tensor]":
    """The first set of weights in a file: safetensors, or what torch.save has written; no code in it is run.

    Raises:
        InputError: missing, broken, or without weights.
    """
    return next(iter(_sets(path).values()))


def stored(path: Path, network: "Module", wanted: str = "") -> Stored:
    """What a file holds for a network.

    Args:
        path: of the file.
        network: whose weights they are to be.
        wanted: the name of one of several sets of weights; empty: the first that fits best.

    Raises:
        InputError: like `read`; or there is no such set.
    """
    own = list(network.state_dict())
    sets = {
        ".".join(filter(None, (key, prefix.rstrip(".")))) or _TOP: (weights, prefix)
        for key, weights in _sets(path).items()
        for prefix in _prefixes(weights, own)
    }
    if wanted and wanted not in sets:
        raise InputError(f"{path}: no weights '{wanted}' in it; it holds {', '.join(map(repr, sets))}")
    matches = {name: sum(f"{prefix}{name}" in weights for name in own) for name, (weights, prefix) in sets.items()}
    taken = wanted or max(matches, key=lambda name: matches[name])
    weights, prefix = sets[taken]
    under = {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
    # The layers that a wrapper holds apart from the others, such as its last: where one name alone ends so.
    lacking = [name for name in own if name not in under]
    ends = {name: [key for key in weights if key == name or key.endswith(f".{name}")] for name in lacking}
    under |= {name: weights[keys[0]] for name, keys in ends.items() if len(keys) == 1}
    kept = {name: tensor for name, tensor in under.items() if not _of_a_normalizer(name)}
    others = tuple(name for name, count in matches.items() if name != taken and count >= matches[taken])
    spread = _channels(weights, "new_mean"), _channels(weights, "new_std")
    return Stored(kept, *spread, taken if others else "", others)


def _prefixes(names: Mapping[str, object], wanted: Sequence[str]) -> list[str]:
    """What may stand before a network's own names in a file: all with which most of them are found, shortest first.

    A copy below `attacker` is the robustness library's, of the same network.
    """
    ends = {name: [i for i in range(len(name)) if i == 0 or name[i - 1] == "."] for name in names}
    own = set(wanted)
    counts: dict[str, int] = {"": 0}
    for name, starts in ends.items():
        for start in starts:
            if name[start:] in own:
                counts[name[:start]] = counts.get(name[:start], 0) + 1
    most = max(counts.values())
    best = sorted((prefix for prefix in counts if counts[prefix] == most), key=len)
    return [best[0], *(prefix for prefix in best[1:] if not _of_a_normalizer(prefix))]


def fit(network: "Module", weights: "Mapping[str, Tensor]", name: str, architecture: str) -> None:
    """Put weights into a network.

    Raises:
        PluginError: they do not fit, or are not finite; one line with a few of the names.
    """
    own = network.state_dict()
    missing = [key for key in own if key not in weights and not key.endswith("num_batches_tracked")]
    unexpected = [key for key in weights if key not in own]
    shapes = [
        f"{key} is {_shape(weights[key])} and should be {_shape(own[key])}"
        for key in own
        if key in weights and weights[key].shape != own[key].shape
    ]
    faults = [_some(missing, "missing"), _some(unexpected, "unexpected"), _some(shapes, "of another shape")]
    if any(faults):
        raise PluginError(
            f"weights {name} do not fit {architecture}: {'; '.join(filter(None, faults))}; "
            "check architecture, library, and the number of classes"
        )
    network.load_state_dict(dict(weights), strict=False)
    check_weights(network, name)


def outputs_in(weights: "Mapping[str, Tensor]", network: "Module") -> int | None:
    """How many outputs the last layer in a file has, where that alone keeps the weights from fitting a network."""
    own = network.state_dict()
    if any(key not in weights for key in own if not key.endswith("num_batches_tracked")):
        return None
    unlike = [(weights[key].shape, value.shape) for key, value in own.items() if weights[key].shape != value.shape]
    counts = {(given[0] if given else 0) for given, _ in unlike}
    same = all(len(given) == len(wanted) and given[1:] == wanted[1:] for given, wanted in unlike)
    return int(counts.pop()) if same and len(counts) == 1 and len(unlike) <= _HEAD else None


def about(path: str) -> str:
    """What can be said about a file of weights without reading it.

    Raises:
        PluginError: there is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise PluginError(f"no weights '{file.name}' where 'path' says; check the path")
    return f"weights '{file.name}' are there"


def read_weights(path: Path, part: str = "") -> "dict[str, Tensor]":
    """The weights in a file made by torch.save, in float32; of a file with several things, those of one part.

    Raises:
        PluginError: there is no such file, or it holds anything but weights that are finite.
    """
    import torch

    about(str(path))
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise PluginError(
            f"'{path.name}' is cut short or holds more than weights; give the .pt as published"
        ) from error
    if part and isinstance(content, dict):
        content = content.get(part, content)
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise PluginError(f"'{path.name}' is no state dict (names and weights); give the .pt as published")
    if wrong := [str(key) for key, value in content.items() if not bool(torch.isfinite(value).all())]:
        raise PluginError(
            f"weights of '{path.name}' are not finite: {_some(wrong, 'tensors')}; download the file again"
        )
    return {str(name): value.float() if value.is_floating_point() else value for name, value in content.items()}


def misfit(weights: "Mapping[str, Tensor]", wanted: "Mapping[str, Tensor]") -> str:
    """Where weights do not fit an architecture: how many of them and the first, or empty."""
    faults = [f"{name} is missing" for name in _beyond(wanted, weights)]
    faults += [f"{name} has no place" for name in _beyond(weights, wanted)]
    faults += [
        f"{name} is {_shape(value)}, not {_shape(wanted[name])}"
        for name, value in weights.items()
        if name in wanted and value.shape != wanted[name].shape
    ]
    return f"{faults[0]}; {len(faults)} such weights" if faults else ""


def _content(path: Path) -> Any:
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    if _is_script(path):
        raise ValueError("it is TorchScript: a network with its weights, which torchscript:FILE or its plugin takes")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # other objects lie beside the weights
        return read_inert(path)


def _is_script(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _sets(path: Path) -> "dict[str, dict[str, Tensor]]":
    """The sets of weights in a file, by the keys that lead to them, the likeliest first; InputError as `read`."""
    try:
        content = _content(path)
    except Exception as error:  # a broken file makes unpickling raise almost anything
        if out_of_memory(error):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        raise InputError(f"{path}: cannot be read as weights, safetensors or of torch.save ({why})") from error
    if sets := dict(_weights_in(content)):
        return sets
    held = ", ".join(map(str, content))[:100] if isinstance(content, Mapping) else type(content).__name__
    held = "a whole network, whose code is not run" if held == "Inert" else held or "nothing"
    raise InputError(f"{path}: no weights by name in it, but {held}; save the network's state_dict()")


def _weights_in(content: Any, key: str = "", depth: int = 0) -> "Iterator[tuple[str, dict[str, Tensor]]]":
    import torch

    if not isinstance(content, Mapping) or depth > _DEPTH:
        return
    if direct := {str(name): value for name, value in content.items() if isinstance(value, torch.Tensor)}:
        yield key, direct
    likeliest = [name for name in _HOLDERS if name in content]
    for name in (*likeliest, *(name for name in content if name not in likeliest)):
        yield from _weights_in(content[name], f"{key}.{name}".lstrip("."), depth + 1)


def _of_a_normalizer(name: str) -> bool:
    return any(part in ("normalizer", "normalize", "attacker") for part in name.split("."))


def _channels(weights: "Mapping[str, Tensor]", name: str) -> Channels | None:
    """Three numbers that a normalizer of the robustness library stores."""
    tensors = (tensor for key, tensor in weights.items() if key.split(".")[-2:] == ["normalizer", name])
    tensor = next(tensors, None)
    if tensor is None or tensor.numel() != 3:
        return None
    red, green, blue = tensor.flatten().tolist()
    return red, green, blue


def _some(names: Sequence[str], what: str) -> str:
    if not names:
        return ""
    return f"{len(names)} {what} ({', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''})"


def _shape(tensor: "Tensor") -> str:
    return "×".join(map(str, tensor.shape)) or "a number"


def _beyond(some: Iterable[str], others: "Mapping[str, Tensor]") -> list[str]:
    return [name for name in some if name not in others]
