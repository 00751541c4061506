"""Images from providers: given the original's size, never another shape; fields that only the plugin sets."""

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.edct.interfaces import EditRequest
from cfeval.edct.plugins.remote_editors import Uses, fold, prompt_for, resized
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


# Instructions for editors that can use more or less of them.


def request(positive: str = "Make the bus blue.", negative: str = "a red bus") -> EditRequest:
    return EditRequest("i", image(), positive, negative, seed=7)


def test_an_editor_with_a_negative_prompt_gets_both_parts_apart() -> None:
    prompted = prompt_for(request(), Uses(negative_prompt=True))
    assert (prompted.prompt, prompted.negative_prompt) == ("Make the bus blue.", "a red bus")
    assert prompted.details["negative_part"] == "sent apart"


def test_an_editor_without_one_is_told_the_negative_part_in_the_prompt() -> None:
    prompted = prompt_for(request(), Uses())
    assert prompted.prompt == "Make the bus blue. Nothing of this must remain: a red bus."
    assert prompted.negative_prompt == ""
    assert prompted.details["negative_part"] == "folded into the prompt"


@pytest.mark.parametrize("uses", [Uses(), Uses(negative_prompt=True)])
def test_without_a_negative_part_the_prompt_is_the_positive_part(uses: Uses) -> None:
    prompted = prompt_for(request(negative="  "), uses)
    assert (prompted.prompt, prompted.negative_prompt) == ("Make the bus blue.", "")
    assert prompted.details["negative_part"] == "none"


@pytest.mark.parametrize("uses", [Uses(), Uses(negative_prompt=True, seed=True)])
def test_the_details_hold_the_texts_as_they_are_sent(uses: Uses) -> None:
    prompted = prompt_for(request(), uses)
    assert prompted.details["prompt"] == prompted.prompt
    assert prompted.details["negative_prompt"] == prompted.negative_prompt


def test_the_details_tell_whether_the_seed_was_used() -> None:
    assert prompt_for(request(), Uses(seed=True)).details["seed"] == "7"
    assert prompt_for(request(), Uses()).details["seed"] == "not used"


@pytest.mark.parametrize(
    ("positive", "negative"), [("Make it blue", "red"), ("Make it blue.", "red."), ("Make it blue!", "red")]
)
def test_folded_parts_are_two_sentences(positive: str, negative: str) -> None:
    told = fold(positive, negative)
    assert told.endswith(" Nothing of this must remain: red.")
    assert ".." not in told
    assert told[len("Make it blue")] in ".!"
