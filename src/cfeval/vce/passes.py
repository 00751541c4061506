"""What a counterfactual costs by its method, in passes of the networks: no clock, so the same on every machine.

A pass is an image that goes through a network forwards or a gradient that goes through it backwards. Passes of the
denoiser dominate: DBVCE's has 554 M parameters, its largest classifier 198 M. A decoder of latents is not counted.
"""

from cfeval.vce.method import PATH_POINTS, Method


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
