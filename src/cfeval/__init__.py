"""cfeval: counterfactual evaluation of vision-language models.

>>> import cfeval
>>> results = cfeval.load("my-study")
>>> results.tables["edct_table1"]  # a pandas.DataFrame
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfeval.results import Results, load
    from cfeval.study.walkthrough import try_item

__version__ = "0.1.0"
__all__ = ["Results", "__version__", "load", "try_item"]
_PLACES = {
    "Results": "cfeval.results:Results",
    "load": "cfeval.results:load",
    "try_item": "cfeval.study.walkthrough:try_item",
}


def __getattr__(name: str) -> Any:
    """What the package offers is imported when it is first used, so that `import cfeval` costs nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'cfeval' has no attribute '{name}'")
    from cfeval.core.extras import load as load_definition

    return load_definition(_PLACES[name])


def __dir__() -> list[str]:
    """What the package offers, whether it was used before or not."""
    return sorted(__all__)
