"""Check that every stored call is the one its key names and every image the one its hash names."""

import hashlib

from cfeval.cli.store.common import StoreFile, opened
from cfeval.errors import InputError


def run(store: StoreFile = None) -> None:
    """Check that every stored call is the one its key names and every image the one its hash names."""
    held = opened(store)
    if damage := held.damage():
        raise InputError(f"{held.path}: damaged ({damage}); restore it from an export with `cfeval store import`")
    count = 0
    for call in held.calls():
        count += 1
        fault = call.fault()
        if not fault and call.image is not None:
            content = held.image(call.image)
            if content is None or hashlib.sha256(content).hexdigest() != call.image:
                fault = "has lost its image, or has another"
        if fault:
            raise InputError(f"{held.path}: call {call.key} {fault}; restore it with `cfeval store import`")
    print(f"{held.path}: fine; {count} calls")
