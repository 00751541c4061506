"""The calls to providers that the parameters of the vce study ask for: those of its concept editors.

All else in vce is computed on one's own machine. A concept editor is asked once about each image and target of a
condition; where it calls nobody about what the classifier sees, the cache spares further classifiers the calls.
"""

from math import ceil

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.inference.remote.prices import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line
from cfeval.vce.config import Vce

# Typical lengths in tokens: question with explanation, and an instruction.
QUESTION, INSTRUCTION = 60, 100
_STAGE = "counterfactuals"


def requests(study: Vce) -> dict[tuple[str, str], int]:
    """How many images and targets each concept editor is asked about, by its name and the classifier's."""
    conditions = [condition for condition in study.all_conditions() if condition.method in study.concept_editors]
    by_image_set = {  # whichever denoiser a condition names: a concept editor uses none
        (condition.method, condition.classifier, condition.image_set): study.images * len(study.groups_of(condition))
        for condition in conditions
    }
    counts: dict[tuple[str, str], int] = {}
    for (method, classifier, _), count in by_image_set.items():
        counts[method, classifier] = counts.get((method, classifier), 0) + count
    return counts


def vce_lines(study: Vce) -> tuple[list[Line], list[str]]:
    """What every concept editor that calls a provider takes, and the places of those that do not say how often."""
    counts = requests(study)
    lines: dict[tuple[str, str, float], Line] = {}
    silent = []
    for name in dict.fromkeys(method for method, _ in counts):
        spec = study.concept_editors[name].plugin_options()
        times = sum(count for (method, _), count in counts.items() if method == name)
        calls = registry.estimate_calls("concept_editors", spec)
        if not calls and registry.resources("concept_editors", spec).api:
            silent.append(f"vce.concept_editors.{name}")
        for call in calls:
            key = name, call.model, call.share
            before = lines.get(key, Line(_STAGE, "", *key, Amount(), Amount()))
            typical = before.typical + _amount(call, most=False).times(times)
            lines[key] = Line(_STAGE, "", *key, typical, before.most + _amount(call, most=True).times(times))
    return list(lines.values()), silent


def _amount(call: CallEstimate, most: bool) -> Amount:
    """What one call uses; a repair counts only at most."""
    if call.repair and not most:
        return Amount()
    of_images = max(call.images_shown, int(call.images > 0)) * call.image_tokens
    text = (1 + most) * (INSTRUCTION if call.images else QUESTION)
    letters = LETTERS_A_TOKEN_AT_LEAST if most else LETTERS_A_TOKEN
    reply = call.max_tokens + call.thinking_tokens if most else min(INSTRUCTION, call.max_tokens)
    return Amount(1, ceil(call.prompt / letters) + text + of_images, reply, call.images, of_images)
