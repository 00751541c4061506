"""Running out of memory: a batch is halved, and only a single request that does not fit ends the run."""

from typing import Any


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that a GPU's or the host's memory is used up."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, MemoryError | RuntimeError) and "can't allocate memory" in str(error)


def release() -> None:
    """Give back what the allocator of the GPU holds on to."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def too_large(name: str, dtype: Any) -> str:
    """What to tell the user when one request alone does not fit."""
    return (
        f"model '{name}' ({dtype}) runs out of memory on a single request; lower max_pixels or max_tokens, "
        "set dtype: bfloat16, or spread it with device_map: auto"
    )
