"""What counterfactuals cost: calls to providers, and by the method passes of the networks.

All but concept editors is computed on one's own machine. A concept editor is asked once about each image and target of
a condition; where it calls nobody about what the classifier sees, the cache spares further classifiers the calls.

Passes need no clock, so they are the same on every machine. A pass is an image that goes through a network forwards or
a gradient that goes through it backwards. Passes of the denoiser dominate: DBVCE's has 554 M parameters, its largest
classifier 198 M. A decoder of latents is not counted.
"""

from math import ceil

from cfeval.core import registry
from cfeval.core.registry import CallEstimate
from cfeval.inference.remote.prices import LETTERS_A_TOKEN, LETTERS_A_TOKEN_AT_LEAST, Amount, Line
from cfeval.vce.config import Vce
from cfeval.vce.method import PATH_POINTS, Method

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


def passes_of(method: Method) -> dict[str, float]:
    """Passes of one counterfactual with the first of the scales; further scales repeat all of them.

    `denoiser_calls` are forward passes of the denoiser, `denoiser_gradients` its backward passes: one for each gradient
    at x̂0 that is pulled back to x_t. `classifier_gradients` are forward and backward passes of classifiers together,
    one for each copy of the image that is shown and each point of an attribution's path. Where the robust classifier
    explains itself, its cone adds none. A black box is asked once for each particle, which is a call of the denoiser.
    An attack takes a gradient through all its steps in each iteration, and denoises once more without one.
    Prompts are optimised through all steps, with a gradient at each of the last three, after they were fitted in ten
    steps at most.
    Where the denoiser learned no variance, the last step's is 0 and its gradients are not taken: one step's fewer.
    """
    if method.guidance == "attack":
        iterations = float(method.attack_iterations)
        calls, gradients = float(method.denoiser_calls), float(method.steps * method.attack_iterations)
        return {"denoiser_calls": calls, "denoiser_gradients": gradients, "classifier_gradients": iterations}
    if method.guidance == "empty":
        pulled = method.steps * (1 + (method.distance == "denoiser"))
        calls = float(method.denoiser_calls)
        return {
            "denoiser_calls": calls,
            "denoiser_gradients": float(pulled),
            "classifier_gradients": float(method.steps),
        }
    if method.guidance == "prompts":
        return {
            "denoiser_calls": float(method.denoiser_calls),
            "denoiser_gradients": float(method.steps * (10 + 2 * method.prompt_steps)),
            "classifier_gradients": float(min(3, method.steps) * method.prompt_steps),
        }
    if method.guidance == "inversion":
        return {
            "denoiser_calls": float(method.denoiser_calls),
            "denoiser_gradients": 0.0,
            "classifier_gradients": 0.0,
        }
    cone = method.projection == "cone"
    pulled = (1 + (cone and method.cone_at == "noisy")) * (method.guidance in ("x0", "bridge")) + (
        method.distance == "denoiser"
    )
    shown = method.augmentations * (1 + cone) * (method.guidance not in ("none", "black-box"))
    return {
        "denoiser_calls": float(method.denoiser_calls + method.steps * (method.projection == "consensus")),
        "denoiser_gradients": float(method.steps * (1 if method.one_pull_back else pulled)),
        "classifier_gradients": float(method.steps * shown + PATH_POINTS * (method.mask == "attribution")),
    }
