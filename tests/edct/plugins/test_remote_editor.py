"""Images from providers: given the original's size, never another shape; fields that only the plugin sets."""

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.edct.plugins.remote_editors import resized
from tests.images import image


@pytest.mark.parametrize(
    ("came", "kept"),
    [((64, 96), (32, 48)), ((65, 96), (32, 48)), ((64, 64), (64, 64)), ((96, 64), (96, 64)), ((32, 48), (32, 48))],
)
def test_an_image_gets_the_originals_size_unless_that_would_stretch_it(
    came: tuple[int, int], kept: tuple[int, int]
) -> None:
    assert resized(image(9, came), width=48, height=32).pixels.shape[:2] == kept


@pytest.mark.parametrize(
    ("family", "spec"),
    [
        ("chat", {"plugin": "openai", "provider": "openai", "model": "m", "extra": {"model": "other"}}),
        ("editors", {"plugin": "openai_image", "extra": {"n": "2"}}),
        ("editors", {"plugin": "openrouter_image", "extra": {"modalities": ["text"]}}),
    ],
)
def test_no_further_field_may_replace_one_that_the_plugin_sets(family: str, spec: dict[str, object]) -> None:
    with pytest.raises(ParamsError, match="extra may not set"):
        registry.check(family, spec, "here")


def test_a_panel_with_the_same_judge_twice_is_refused() -> None:
    lexical = {"plugin": "lexical"}
    spec = {"plugin": "panel", "judges": [lexical, {"plugin": "grammar"}, lexical]}
    with pytest.raises(ParamsError, match="twice; for several votes"):
        registry.check("judges", spec, "here")


@pytest.mark.parametrize(
    ("options", "address", "variable"),
    [
        ({}, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ({"base_url": "https://api.openai.com/v1"}, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ({"base_url": "http://cellar:8000/v1"}, "http://cellar:8000/v1", ""),
        ({"base_url": "http://cellar:8000/v1", "key_env": "CELLAR"}, "http://cellar:8000/v1", "CELLAR"),
        ({"provider": "Together"}, "https://api.together.ai/v1", "TOGETHER_API_KEY"),
        ({"provider": "sglang"}, "http://localhost:30000/v1", ""),
    ],
)
def test_openais_key_goes_to_no_other_server(options: dict[str, str], address: str, variable: str) -> None:
    plugin = registry.options("editors")["openai_image"].model_validate(options)
    assert (plugin.address, plugin.key_variable) == (address, variable)  # type: ignore[attr-defined]


def test_an_editor_of_a_provider_without_an_address_needs_one() -> None:
    with pytest.raises(ParamsError, match="provider 'azure' needs base_url, such as https://NAME"):
        registry.check("editors", {"plugin": "openai_image", "provider": "azure"}, "here")
