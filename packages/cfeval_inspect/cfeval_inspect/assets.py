"""The prompts that these tasks use, pinned: cfeval's own files, by the SHA-256 of their bytes.

Another version of cfeval may word a prompt otherwise. Figures by other words are not comparable, so a task refuses to
run with them.
"""

import hashlib
from collections.abc import Mapping

from cfeval.core.errors import InputError
from cfeval.inference.prompts import prompt_file

Name = tuple[str, str]
"""A protocol and the name of a prompt."""
CONVERSATION: Mapping[Name, str] = {
    ("conversation", "answer"): "6ab836dd048ff99665d24fabd4de351c8a393a602bac07e5889bb10a29037e57",
    ("conversation", "explain"): "494b94615b1bab90fe3c620dd5056eda899070184aadc7602c05495d40ef9971",
}
"""What a target model is asked."""
PAIRS: Mapping[Name, str] = {
    ("pairs-2026", "names"): "2bdf1bcba68111e5b3475508a67b5b31e5d9a2ffa445b2b328f7354076036794",
    ("pairs-2026", "names_repair"): "7137c68d4182c482988e6a1663d48b6d20f465d60083477956efdf516a489c67",
    ("controls", "compare"): "1d0d8a27ec80a61d1eeea61264b956b99fab96a8212c857030d605f55d4fcba1",
    ("controls", "compare_repair"): "32b15e1b620e7dce716b707e0fcae9c500d58e6bc1453174f5024c2b552ad576",
}
"""What a chat model that judges pairs is asked."""
EDCT: Mapping[Name, str] = {
    ("edct-2025", "judge"): "79a706ac55bd6a4f2dc7b689a3c3301fd676e9a388c8bc7014a110d8a0757ddd",
    ("edct-2025", "judge_repair"): "f2923cfb94a4750f8f0f6da68d0a4a10c0de7c8157ce1e61137787e5e4877aff",
    ("controls", "compare"): "1d0d8a27ec80a61d1eeea61264b956b99fab96a8212c857030d605f55d4fcba1",
    ("controls", "compare_repair"): "32b15e1b620e7dce716b707e0fcae9c500d58e6bc1453174f5024c2b552ad576",
}
"""What a chat model that judges edits is asked."""


def checked(wanted: Mapping[Name, str]) -> dict[str, str]:
    """The pinned hashes by `protocol/name`, once the files of the installed cfeval are those.

    Raises:
        InputError: one is another file.
    """
    for (protocol, name), sha256 in wanted.items():
        file = prompt_file(name, protocol=protocol)
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
            raise InputError(
                f"{file}: not the prompt that this cfeval-inspect was made for; install both packages of one release"
            )
    return {f"{protocol}/{name}": sha256 for (protocol, name), sha256 in wanted.items()}
