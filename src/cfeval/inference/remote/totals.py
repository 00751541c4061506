"""What the calls behind a study came to, as their archive says: how many, what they cost, and on which days."""

import json
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.files import NO_ARCHIVE
from cfeval.inference.remote.archive import INDEX


@dataclass(frozen=True)
class CallsTotal:
    """Calls to models behind a server, on this machine too; tokens are those that the servers counted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    """In USD, of the calls whose provider reported a cost."""
    priced: int = 0
    """How many calls those are."""
    days: tuple[str, ...] = ()
    """The first and the last day on which a server says that it replied (UTC); none where no reply has a time."""

    @property
    def text(self) -> str:
        """In a few words: `1,200 model calls, 0.84 USD as the providers reported`."""
        if not self.calls:
            return "no call to a hosted model, 0 USD"
        tokens = f"{self.input_tokens:,} tokens read, {self.output_tokens:,} written"
        told = f"{self.usd:,.2f} USD" if self.priced else "no cost reported"
        of = f" for {self.priced:,} of them" if 0 < self.priced < self.calls else ""
        return f"{self.calls:,} model calls, {tokens}, {told}{of}"

    @property
    def when(self) -> str:
        """`2026-03-02 to 2026-03-04`; empty where no reply has a time."""
        return " to ".join(dict.fromkeys(self.days))


def calls_total(archive: Path) -> CallsTotal:
    """The sum over an archive of calls.

    Raises:
        InputError: it is missing, or no such archive.
    """
    calls = read = written = priced = 0
    usd, days = 0.0, set[str]()
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(INDEX) as lines:
            for line in lines:
                reply = json.loads(json.loads(line)["reply"])
                usage, calls = reply["usage"], calls + 1
                read, written = read + usage["input_tokens"], written + usage["output_tokens"]
                if usage["cost_usd"] is not None:
                    usd, priced = usd + usage["cost_usd"], priced + 1
                days |= _day(reply["raw"])
    except (*NO_ARCHIVE, OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{archive}: not an archive of calls ({' '.join(str(error).split())})") from None
    return CallsTotal(calls, read, written, usd, priced, (min(days), max(days)) if days else ())


def paid_by_call(archive: Path) -> dict[str, float]:
    """What each call cost in USD, by its key, where the provider reported it.

    Raises:
        InputError: it is missing, or no such archive.
    """
    paid: dict[str, float] = {}
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(INDEX) as lines:
            for line in lines:
                call = json.loads(line)
                usd = json.loads(call["reply"])["usage"]["cost_usd"]
                if usd is not None:
                    paid[call["key"]] = usd
    except (*NO_ARCHIVE, OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{archive}: not an archive of calls ({' '.join(str(error).split())})") from None
    return paid


def _day(raw: Any) -> set[str]:
    """The day that a server's own reply names, in UTC; none where it names none."""
    made = raw.get("created") if isinstance(raw, dict) else None
    return {datetime.fromtimestamp(made, UTC).date().isoformat()} if isinstance(made, int) and made > 0 else set()
