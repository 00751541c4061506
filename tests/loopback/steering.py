"""The control endpoints, for tests in other processes. Each answers with JSON.

POST /_ctl/script   {"faults": ["http_500", null, …], "at": "poll"}    `at` may be left out
POST /_ctl/random   {"rate": 0.1, "faults": [...], "seed": 1}          without faults: all
POST /_ctl/latency  {"seconds": 0.5, "slow": 5, "one_in": 100}         without one_in: all alike
POST /_ctl/limit    {"per_second": 2}                                  all beyond it are answered with 429
POST /_ctl/reset
GET  /_ctl/log      every request, without its body
GET  /_ctl/summary  the counts
"""

from aiohttp import web

from tests.loopback.site import LOOPBACK
from tests.loopback.wire import as_json


async def steer(request: web.Request) -> web.Response:
    """POST: do what the path names."""
    server, action = request.app[LOOPBACK], request.match_info["action"]
    options = await request.json() if request.can_read_body else {}
    try:
        match action:
            case "script":
                server.script(options["faults"], options.get("at"))
            case "random":
                server.random(**options)
            case "limit":
                server.limit(int(options["per_second"]))
            case "latency":
                server.latency = float(options["seconds"])
                server.slow, server.slow_one_in = float(options.get("slow", 0)), int(options.get("one_in", 0))
            case "reset":
                server.reset()
            case _:
                return as_json({"error": f"no action is called {action}"}, 404)
    except (KeyError, TypeError, ValueError) as problem:
        return as_json({"error": str(problem)}, 400)
    return as_json({"ok": True})


async def show(request: web.Request) -> web.Response:
    """GET: the log or the summary."""
    server = request.app[LOOPBACK]
    match request.match_info["action"]:
        case "log":
            return as_json(server.entries())
        case "summary":
            return as_json(server.summary())
    return as_json({"error": "GET /_ctl/log or /_ctl/summary"}, 404)
