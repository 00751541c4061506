"""Files of weights: read without running what they may hold, found inside what is around them, fitted to a network.

Training code wraps networks, and its files name weights with what was around them (`module.`, `model.`; the
robustness library: `module.model.`, a second copy below `module.attacker.model.`, the normalizer's mean and std). What
stands before the network's own names is found by comparing with these, whatever it is. Checkpoints of guided-diffusion
are read as published (`read_weights`).
"""

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError, PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.models.classifier import Channels
from cfeval.vce.models.inert_pickle import read_inert

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_HOLDERS = ("state_dict", "model", "model_state_dict", "net", "ema")
"""Where training code puts the weights in a file, the likeliest first."""
_SHOWN = 3


@dataclass(frozen=True)
class Stored:
    """The weights of a file under a network's own names, and the normalizer's mean and std where they stand beside."""

    weights: "dict[str, Tensor]"
    mean: Channels | None
    std: Channels | None


def read(path: Path) -> "dict[str, Tensor]":
    """All weights in a file: safetensors, or what torch.save has written; no code in it is run.

    Raises:
        InputError: missing, broken, or without weights.
    """
    try:
        content = _content(path)
    except Exception as error:  # a broken file makes unpickling raise almost anything
        if out_of_memory(error):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        raise InputError(f"{path}: cannot be read as weights, safetensors or of torch.save ({why})") from error
    if found := _weights_in(content):
        return found
    held = ", ".join(map(str, content))[:100] if isinstance(content, Mapping) else type(content).__name__
    raise InputError(f"{path}: no weights by name in it, but {held or 'nothing'}; save the network's state_dict()")


def stored(path: Path, network: "Module") -> Stored:
    """What a file holds for a network; InputError like `read`."""
    found = read(path)
    prefix = prefix_of(found, list(network.state_dict()))
    weights = {name.removeprefix(prefix): tensor for name, tensor in found.items() if name.startswith(prefix)}
    weights |= _apart(found, [name for name in network.state_dict() if name not in weights])
    own = {name: tensor for name, tensor in weights.items() if not _of_a_normalizer(name)}
    return Stored(own, _channels(found, "new_mean"), _channels(found, "new_std"))


def _apart(found: "Mapping[str, Tensor]", lacking: Sequence[str]) -> "dict[str, Tensor]":
    """The layers that a wrapper holds apart from the others, such as its last: where one name alone ends so."""
    ends = {name: [held for held in found if held == name or held.endswith(f".{name}")] for name in lacking}
    return {name: found[held[0]] for name, held in ends.items() if len(held) == 1}


def prefix_of(names: Mapping[str, object], wanted: Sequence[str]) -> str:
    """What stands before a network's own names in a file: that with which most are found, the shortest of equals."""
    ends = {name: [i for i in range(len(name)) if i == 0 or name[i - 1] == "."] for name in names}
    own = set(wanted)
    found: dict[str, int] = {"": 0}
    for name, starts in ends.items():
        for start in starts:
            if name[start:] in own:
                found[name[:start]] = found.get(name[:start], 0) + 1
    return min(found, key=lambda prefix: (-found[prefix], len(prefix)))


def fit(network: "Module", weights: "Mapping[str, Tensor]", name: str, architecture: str) -> None:
    """Put weights into a network.

    Raises:
        PluginError: they do not fit; one line with a few of the names.
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


def about(path: str) -> str:
    """What can be said about a file of weights without reading it.

    Raises:
        PluginError: there is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise PluginError(f"no weights '{file.name}' where 'path' says; check the path")
    return f"weights '{file.name}' are there"


def read_weights(path: Path) -> "dict[str, Tensor]":
    """The weights in a file made by torch.save, in float32.

    Raises:
        PluginError: there is no such file, or it holds anything but weights.
    """
    import torch

    about(str(path))
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise PluginError(
            f"'{path.name}' is cut short or holds more than weights; give the .pt as published"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise PluginError(f"'{path.name}' is no state dict (names and weights); give the .pt as published")
    return {str(name): value.float() if value.is_floating_point() else value for name, value in found.items()}


def misfit(found: "Mapping[str, Tensor]", wanted: "Mapping[str, Tensor]") -> str:
    """Where weights do not fit an architecture: how many of them and the first, or empty."""
    faults = [f"{name} is missing" for name in _beyond(wanted, found)]
    faults += [f"{name} has no place" for name in _beyond(found, wanted)]
    faults += [
        f"{name} is {_shape(value)}, not {_shape(wanted[name])}"
        for name, value in found.items()
        if name in wanted and value.shape != wanted[name].shape
    ]
    return f"{faults[0]}; {len(faults)} such weights" if faults else ""


def _content(path: Path) -> Any:
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # other objects lie beside the weights
        return read_inert(path)


def _weights_in(content: Any) -> "dict[str, Tensor]":
    import torch

    if not isinstance(content, Mapping):
        return {}
    if direct := {str(key): value for key, value in content.items() if isinstance(value, torch.Tensor)}:
        return direct
    inner = [content[key] for key in _HOLDERS if key in content]
    return next(filter(None, map(_weights_in, inner)), {})


def _of_a_normalizer(name: str) -> bool:
    return any(part in ("normalizer", "normalize", "attacker") for part in name.split("."))


def _channels(weights: "Mapping[str, Tensor]", name: str) -> Channels | None:
    """Three numbers that a normalizer of the robustness library stores."""
    found = (tensor for key, tensor in weights.items() if key.split(".")[-2:] == ["normalizer", name])
    tensor = next(found, None)
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
