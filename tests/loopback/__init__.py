"""A server on this machine that speaks the providers' protocols and plays every fault of the table in faults.py.

    with loopback(key="k") as server:
        server.script(["http_500", None, "wrong_model"])      # one a request
        server.random(0.1, seed=1)                            # or a share of all requests
        ... server.openai, server.openrouter, server.gemini, server.bfl: the base URLs
        ... server.log, server.requests(), server.sent(), server.most_in_flight

A single request may ask for a fault itself, by the header `X-Fault`. `python -m tests.loopback --help` starts the same
server for other processes.
"""

from tests.loopback.fault import Fault, Kind, Reaction
from tests.loopback.faults import FAULTS, fitting
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

__all__ = ["FAULTS", "Fault", "Kind", "Loopback", "Reaction", "fitting", "loopback"]
