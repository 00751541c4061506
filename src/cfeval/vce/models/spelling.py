"""Networks as command lines name them: `PLUGIN:NAME`, as `cfeval init --study vce` and `cfeval vce try` take them."""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.cli_options import from_json
from cfeval.core.errors import InputError, nearest
from cfeval.vce.models.architectures import NONE

Spec = dict[str, Any]
NAMED_BY = {
    **dict.fromkeys(("timm", "torchvision", "transformers", "diffusers"), "model"),
    **dict.fromkeys(("state_dict", "torchscript", "guided_diffusion"), "path"),
    **{"efficientnet_lite": "variant", "python": "factory", "world": "kind"},
}
"""The option that the NAME of `PLUGIN:NAME` fills."""
FORMS = (
    "timm:NAME, torchvision:NAME, transformers:FOLDER or hub name, efficientnet_lite:0, state_dict:FILE with "
    "--architecture, torchscript:FILE, MODULE:FUNCTION (Python that makes the network), or the plugin as JSON"
)
LIBRARIES = ("torchvision", "timm")
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_WEIGHTS = re.compile(rf"[A-Z][A-Z0-9_]*|{NONE}")


def spec_of(text: str, option: str, family: str = "classifiers") -> Spec:
    """A plugin and its options, as one word names them.

    JSON is taken as it is. `/` may stand for the colon. `LIBRARY:ARCHITECTURE@FILE` is an architecture with own
    weights, `torchvision:NAME@ENTRY` one with the library's weights of that name (`none`: random ones), and
    `MODULE:FUNCTION` a function that makes a network.

    Args:
        text: as it was written.
        option: where, for errors.
        family: of the plugins that it may name.

    Raises:
        InputError: no such form, or no such plugin.
    """
    if text.lstrip().startswith("{"):
        return from_json(text, Spec, option)
    plugins = registry.names(family)
    parts = re.fullmatch(r"([A-Za-z_]\w*)(?:[:/](.*))?", text, re.DOTALL)
    plugin, name = (parts[1], parts[2]) if parts else ("", None)
    if plugin in plugins and name is None:
        return {"plugin": plugin}
    if plugin in plugins and plugin in NAMED_BY and name:
        return _named(plugin, name, f"{option} {text}")
    if (
        family == "classifiers"
        and plugin not in plugins
        and _FACTORY.fullmatch(text)
        and importable(text.partition(":")[0])
    ):
        return {"plugin": "python", "factory": text}
    raise InputError(f"{option} {text}: {_advice(text, plugin, plugins, family)}")


def own_network(spec: Mapping[str, Any]) -> bool:
    """Whether a classifier is a network of the user's: nothing but the user says what its outputs are."""
    return spec["plugin"] in ("state_dict", "torchscript", "python")


def takes_classes(spec: Mapping[str, Any]) -> bool:
    """Whether a file can name the outputs of a classifier."""
    field = type(registry.plugin_of("classifiers", spec)).model_fields.get("classes")
    return field is not None and field.annotation is str


def with_architecture(spec: Spec, architecture: str, option: str) -> Spec:
    """A classifier with the network that `--architecture` names: NAME of torchvision, or timm:NAME.

    Raises:
        InputError: weights without a network, or a network for something else than weights.
    """
    if spec["plugin"] != "state_dict":
        if architecture:
            raise InputError(f"--architecture is for {option} state_dict:FILE; leave it out")
        return spec
    if spec.get("architecture"):
        return spec
    if not architecture:
        raise InputError(
            f"{option}: 'state_dict:{spec.get('path', '')}' is weights alone; name their network by --architecture, "
            f"such as resnet18 (of torchvision) or timm:resnet18, or write timm:ARCHITECTURE@{spec.get('path', '')}"
        )
    library, colon, name = re.fullmatch(r"(?:(\w+)([:/]))?(.*)", architecture, re.DOTALL).groups()  # type: ignore[union-attr]
    if colon and library not in LIBRARIES:
        raise InputError(f"--architecture {architecture}: write NAME of torchvision, or timm:NAME")
    return {**spec, **({"library": library} if colon else {}), "architecture": name}


def importable(module: str) -> bool:
    """Whether Python finds a module: in the folder of the command, or installed. Nothing of it is run."""
    top = module.partition(".")[0]
    if beside(module):
        return True
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def beside(module: str) -> bool:
    """Whether the module or package of a function lies in the folder of the command."""
    top = module.partition(":")[0].partition(".")[0]
    return Path(f"{top}.py").is_file() or Path(top, "__init__.py").is_file()


def _named(plugin: str, name: str, where: str) -> Spec:
    if plugin == "efficientnet_lite":
        return {"plugin": plugin, "variant": int(name) if name.isdecimal() else name}
    if plugin == "python":
        return {"plugin": plugin, "factory": name}
    if plugin in LIBRARIES and "@" in name:
        architecture, _, weights = name.partition("@")
        if not architecture or not weights:
            raise InputError(f"{where}: write {plugin}:ARCHITECTURE@FILE")
        if _WEIGHTS.fullmatch(weights) and not Path(weights).is_file():
            return {"plugin": plugin, "model": architecture, "weights": weights}
        path = str(Path(weights).expanduser())
        return {"plugin": "state_dict", "library": plugin, "architecture": architecture, "path": path}
    if NAMED_BY[plugin] == "path":
        name = str(Path(name).expanduser())
    return {"plugin": plugin, NAMED_BY[plugin]: name}


def _advice(text: str, plugin: str, plugins: tuple[str, ...], family: str) -> str:
    if Path(text).is_file():
        return f"a file alone; write state_dict:{text} with --architecture, or torchscript:{text}"
    if Path(text).is_dir():
        return f"a folder alone; write transformers:{text}"
    if plugin and plugin not in plugins and family == "classifiers":
        return f"no such plugin as '{plugin}'; {nearest(plugin, plugins)}. Write {FORMS}"
    return (
        f"write {FORMS}"
        if family == "classifiers"
        else f"write PLUGIN:NAME, or the plugin as JSON; {', '.join(plugins)}"
    )


def short_name(text: str) -> str:
    """What a network is called: as it was written, JSON without its marks."""
    return re.sub(r'[{}"]', "", text) if text.lstrip().startswith("{") else text
