"""What a program returned, as the text of an answer (ViperGPT's last step).

The first of a list, or `no` where it is empty; `no` for nothing; yes and no for booleans and for the texts `true` and
`false`; lower case. Beyond ViperGPT, a whole number that came out as a float is written without its `.0`.
"""

from cfeval.programs.faults import ProgramFault
from cfeval.programs.trace import clean
from cfeval.programs.values import kind

_TRUTH = {"true": "yes", "false": "no"}
_LONGEST = 4_000
"""Characters of an answer that are kept."""


def normalise(value: object) -> str:
    """The answer's text.

    Raises:
        ProgramFault: a value that is no answer, such as a patch of the image.
    """
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if value is None:
        return "no"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        raise ProgramFault(
            f"the program returned a value of type {kind(value)}; an answer is a text, a number or a boolean"
        )
    text = clean(str(value)[:_LONGEST].strip().lower())
    return _TRUTH.get(text, text)
