"""The table of pipelines, by the name that a checkpoint's model_index.json gives."""

from cfeval.backends.diffusion_pipelines import flux, ledits, qwen, stable_diffusion
from cfeval.backends.diffusion_pipelines.kind import Kind

KINDS: dict[str, Kind] = {
    "FluxKontextPipeline": flux.KONTEXT,
    "FluxKontextInpaintPipeline": flux.KONTEXT_INPAINT,
    "QwenImageEditPipeline": qwen.EDIT,
    "QwenImageEditPlusPipeline": qwen.EDIT_PLUS,
    "StableDiffusionInstructPix2PixPipeline": stable_diffusion.INSTRUCT_PIX2PIX,
    "StableDiffusionInpaintPipeline": stable_diffusion.INPAINT,
    "StableDiffusionImg2ImgPipeline": stable_diffusion.IMAGE_TO_IMAGE,
    "LEditsPPPipelineStableDiffusion": ledits.LEDITS,
}
