"""Where the templates of the cvqa study lie: `cfeval/prompts/cvqa/FORM/`, or a folder of the user's own."""

from importlib import resources
from pathlib import Path
from typing import TypeVar

from cfeval.backends.asking import AskingOptions

Options = TypeVar("Options", bound=AskingOptions)


def with_templates(options: Options) -> Options:
    """The options with the package's templates of this study where the user names no folder."""
    shipped = Path(str(resources.files("cfeval"))) / "prompts" / "cvqa"
    return options if options.prompts else options.model_copy(update={"prompts": str(shipped)})
