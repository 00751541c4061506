"""The pipelines of diffusers that edit, by the name of their class."""

from cfeval.edct.plugins import diffusers_flux, diffusers_qwen, diffusers_stable
from cfeval.edct.plugins.diffusers_kinds import Kind

KINDS: dict[str, Kind] = {
    "Flux2KleinPipeline": diffusers_flux.KLEIN,
    "Flux2KleinInpaintPipeline": diffusers_flux.KLEIN_INPAINT,
    "Flux2Pipeline": diffusers_flux.FLUX2,
    "FluxKontextPipeline": diffusers_flux.KONTEXT,
    "FluxKontextInpaintPipeline": diffusers_flux.KONTEXT_INPAINT,
    "LongCatImageEditPipeline": diffusers_qwen.LONGCAT,
    "QwenImage21Pipeline": diffusers_qwen.QWEN_2,
    "QwenImageEditPipeline": diffusers_qwen.QWEN,
    "QwenImageEditPlusPipeline": diffusers_qwen.QWEN_PLUS,
    "StableDiffusionInstructPix2PixPipeline": diffusers_stable.INSTRUCT_PIX2PIX,
    "StableDiffusionInpaintPipeline": diffusers_stable.INPAINT,
    "StableDiffusionImg2ImgPipeline": diffusers_stable.IMAGE_TO_IMAGE,
    "LEditsPPPipelineStableDiffusion": diffusers_stable.LEDITS,
}
