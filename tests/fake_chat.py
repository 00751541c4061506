"""A chat model for the tests of what is built on one: it says what it is told to, and remembers what it was asked."""

from collections.abc import Callable

from cfeval.inference.chat import ChatReply, ChatRequest

Say = Callable[[ChatRequest], ChatReply]


class FakeChat:
    """Replies by a function, or with the texts given, one a user's turn, the last for all later ones."""

    def __init__(self, *said: str | ChatReply, say: Say | None = None) -> None:
        self.said = said
        self.say = say or self._by_turn
        self.seen: list[ChatRequest] = []

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Reply to a request."""
        self.seen.append(request)
        return self.say(request)

    def _by_turn(self, request: ChatRequest) -> ChatReply:
        turn = len([turn for turn in request.turns if turn.role == "user"])
        said = self.said[min(turn, len(self.said)) - 1]
        return said if isinstance(said, ChatReply) else ChatReply(said, "fake", calls=(f"{request.item}-{turn}",))
