"""Errors that will not pass, whatever HTTP status a server gives them: sending the same again brings the same.

llama.cpp answers an image that its model cannot see with HTTP 500, LM Studio a wrong address with 200, Ollama an
unknown model with 404, vLLM a prompt that is too long with 400. Each phrase is of a real server, as its comment says.
"""

import re
from collections.abc import Iterable, Mapping

NO_IMAGES, NO_MODEL, TOO_LONG, BAD_IMAGE = "no_images", "no_model", "too_long", "bad_image"
NO_ENDPOINT, NO_SCHEMA, NO_TEMPLATE = "no_endpoint", "no_schema", "no_template"

ADVICE: Mapping[str, str] = {
    NO_IMAGES: "name a model that takes images; for llama.cpp start it with its vision part (--mmproj)",
    NO_MODEL: "correct the model's name, or load it on the server",
    TOO_LONG: "start the server with a longer context, or lower max_tokens or max_pixels",
    BAD_IMAGE: "look at the image; large ones are shrunk by max_pixels",
    NO_ENDPOINT: "correct base_url: most end with /v1",
    NO_SCHEMA: "set json_schema: false for this model",
    NO_TEMPLATE: "give the server a chat template, or name a model that is made for chats",
}
"""What to do about each kind."""

PHRASES: Mapping[str, tuple[str, ...]] = {
    NO_IMAGES: (
        r"(image|audio) input is not supported",  # llama.cpp
        r"unsupported content part type: .?image_url",  # llama.cpp before it had images
        r"not compiled for multimodal",  # llamafile
        r"is not a multimodal model",  # vLLM
        r"at most 0 image\(?s?\)? may be provided",  # vLLM with --limit-mm-per-prompt
        r"does not support image( input|s|\b)",  # Ollama, LM Studio, LiteLLM
        r"missing data required for image input",  # Ollama, a model without its projector
        r"no endpoints found that support image input",  # OpenRouter
        r"image_url is only supported by certain models",  # OpenAI
        r"image input modality is not enabled",  # Google
    ),
    NO_MODEL: (
        r"the model .{1,200} does not exist",  # OpenAI, vLLM
        r"model .{1,200} not found, try pulling it",  # Ollama
        r"no models? loaded",  # LM Studio
        r"is not a valid model id",  # OpenRouter; `transformers serve` says "is not a valid model identifier"
        r"no endpoints found for ",  # OpenRouter
        r"models/.{1,200} is not found for api version",  # Google
    ),
    TOO_LONG: (
        r"maximum context length is",  # OpenAI, vLLM
        r"longer than the maximum model length",  # vLLM
        r"is too long to fit into the model",  # vLLM
        r"exceeds? the available context size",  # llama.cpp
        r"prompt is too long",  # Anthropic
        r"exceed context limit",  # Anthropic
        r"input token count .{0,80}exceeds the maximum",  # Google
        r"input length exceeds the context length",  # Ollama
        r"greater than the context length",  # LM Studio
    ),
    BAD_IMAGE: (
        r"could not process image",  # Anthropic
        r"unable to process input image",  # Google
        r"provided image is not valid",  # Google
        r"you uploaded an unsupported image",  # OpenAI
        r"invalid image data",  # OpenAI
        r"failed to (load|decode) image",  # llama.cpp
        r"cannot identify image file",  # vLLM and `transformers serve`, by Pillow
        r"field must be a base64 encoded image",  # LM Studio
    ),
    NO_ENDPOINT: (r"unexpected endpoint or method",),  # LM Studio
    NO_SCHEMA: (
        r"invalid schema for response_format",  # OpenAI
        r"failed to parse grammar",  # llama.cpp
        r"error parsing grammar",  # llama.cpp
    ),
    NO_TEMPLATE: (
        r"default chat template is no longer allowed",  # vLLM
        r"tokenizer\.chat_template is not set",  # transformers
        r"conversation roles must alternate",  # templates of Mistral and Gemma
    ),
}
"""By kind, patterns of what servers say, in lower case."""

CODES: Mapping[str, str] = {
    "model_not_found": NO_MODEL,  # OpenAI
    "context_length_exceeded": TOO_LONG,  # OpenAI
    "exceed_context_size_error": TOO_LONG,  # llama.cpp
    "image_parse_error": BAD_IMAGE,  # OpenAI
    "invalid_image_format": BAD_IMAGE,  # OpenAI
    "invalid_base64_image": BAD_IMAGE,  # OpenAI
    "unsupported_image_media_type": BAD_IMAGE,  # OpenAI
}
"""The same by the codes that servers give."""

_PATTERNS = {kind: re.compile("|".join(phrases)) for kind, phrases in PHRASES.items()}


def lasting(message: str, codes: Iterable[str] = ()) -> str:
    """The kind of an error that will not pass, by its codes or what it says; empty for any other."""
    by_code = (CODES[code] for code in codes if code in CODES)
    text = message.lower()
    by_text = (kind for kind, pattern in _PATTERNS.items() if pattern.search(text))
    return next(by_code, "") or next(by_text, "")
