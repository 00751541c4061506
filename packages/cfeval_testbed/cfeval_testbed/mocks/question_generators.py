"""A question generator that says what it was told to: for tests."""

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import BuildReply, BuildRequest, QuestionGenerator


class Plugin(plugin.Plugin):
    """What to say; texts may name {question} and {answer}."""

    step1: str = "Add none."
    step2: str = "The answer would stay {answer}."
    question: str = "If nothing had changed: {question}"
    new_answer: str = "{answer}"
    statuses: dict[str, Status] = {}
    """Items that fail, and how."""
    crash_on: tuple[str, ...] = ()
    """Items that break the whole job, as a crash would."""

    def build(self) -> QuestionGenerator:
        """The mock question generator."""
        return Scripted(self)


class Scripted:
    """Drafts from templates; see `Plugin`."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def build(self, request: BuildRequest) -> BuildReply:
        """Fill in the templates."""
        options = self.options
        if request.item in options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in options.statuses:
            return BuildReply(status=options.statuses[request.item], reason="mock")
        texts = (options.step1, options.step2, options.question, options.new_answer)
        said = [text.replace("{answer}", request.answer).replace("{question}", request.question) for text in texts]
        step1, step2, question, answer = said
        return BuildReply(step1, step2, question, answer, completion="\n".join(said))
