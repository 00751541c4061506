"""A program writer that writes what it was told to: for tests, and for trying a pipeline out."""

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import ProgramGenerator, ProgramReply, ProgramRequest
from cfeval.cvqa.records import Language


class Plugin(plugin.Plugin):
    """What to write; in a program {question} becomes the question as a text in quotes."""

    programs: dict[Language, str] = {
        "vipergpt": "def execute_command(image):\n    return ImagePatch(image).simple_query({question})",
        "visprog": "ANSWER0=VQA(image=IMAGE,question={question})\nFINAL_RESULT=RESULT(var=ANSWER0)",
    }
    """By language; one that is not here is `unparsable`."""
    by_question: dict[str, str] = {}
    """Programs for certain questions, in whatever language they are written."""
    statuses: dict[str, Status] = {}
    """Items that fail, and how."""
    crash_on: tuple[str, ...] = ()
    """Items whose request breaks the whole job, as a crash would."""

    def build(self) -> ProgramGenerator:
        """The mock program writer."""
        return Scripted(self)


class Scripted:
    """Programs from templates; see `Plugin`."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def write(self, request: ProgramRequest) -> ProgramReply:
        """Fill in the template."""
        if request.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if status := self.options.statuses.get(request.item):
            return ProgramReply(model="mock", status=status, reason="mock")
        template = self.options.by_question.get(request.question, self.options.programs.get(request.language))
        if template is None:
            reason = f"no program for {request.language}"
            return ProgramReply(model="mock", status=Status.UNPARSABLE, reason=reason)
        code = template.replace("{question}", repr(" ".join(request.question.split())))
        return ProgramReply(code, completion=code, model="mock")
