"""What the rules of the vce study use.

Inputs: the section `vce` of params.yaml; without it the study has no files.
Outputs: none.
Steps: 1. name every file and phase. 2. name what jobs depend on.
"""

VCE = PARAMS.vce
VCE_ARMS = [arm.model_dump() for arm in VCE.all_arms()] if VCE else []

IMAGES = "results/vce/images/{image_set}{shard}.jsonl"
MADE = "results/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
VCE_SCORES = "results/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
GROUPS = "results/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"
