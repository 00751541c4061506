"""A row of the response store, as it lies in the file and in an export; and what may be wrong with it."""

import hashlib
import json
from dataclasses import dataclass, fields, replace

from cfeval.calls.call import Call, Reply, canonical, key_of


@dataclass(frozen=True)
class StoredCall:
    """A call and its reply. `key` is the hash of what was asked, `seal` that of all the rest."""

    key: str
    api: str
    base_url: str
    model: str
    request: str
    draw: int
    item: str
    reply: str
    final: bool
    image: str | None
    seal: str

    @classmethod
    def of(cls, call: Call, reply: Reply) -> "StoredCall":
        """The row of a call and its reply."""
        unsealed = cls(
            key=call.key,
            api=call.api,
            base_url=call.base_url,
            model=call.model,
            request=canonical(call.request),
            draw=call.draw,
            item=call.item,
            reply=reply.as_json(),
            final=reply.final,
            image=hashlib.sha256(reply.image).hexdigest() if reply.image is not None else None,
            seal="",
        )
        return replace(unsealed, seal=unsealed._sealed())

    def row(self) -> tuple[str | int | None, ...]:
        """Its fields, in the order of `COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)

    def fault(self) -> str:
        """What is wrong with the row; empty where nothing is."""
        try:
            asked = key_of(self.api, self.base_url, self.model, json.loads(self.request), self.draw)
            final = Reply.from_json(self.reply, None).final
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return f"cannot be read ({type(error).__name__})"
        if asked != self.key:
            return "is not the call that its key names"
        return "" if self._sealed() == self.seal and final == self.final else "was changed after it was stored"

    def _sealed(self) -> str:
        return hashlib.sha256(canonical(self.row()[:-1]).encode()).hexdigest()


COLUMNS = tuple(field.name for field in fields(StoredCall))
