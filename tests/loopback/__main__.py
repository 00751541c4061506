"""python -m tests.loopback: the server for other processes; steering.py lists its control endpoints."""

import argparse
import asyncio
import signal

from tests.loopback.server import running
from tests.loopback.site import Loopback, Settings


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m tests.loopback", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--key", help="the only key that is accepted; without it, any and none")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds every request waits")
    parser.add_argument("--rate", type=float, default=0.0, help="share of requests that meet a random fault")
    parser.add_argument("--faults", nargs="*", help="the faults to choose from; without it, all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random faults")
    parser.add_argument("--active-tasks", type=int, help="how many edits BFL works on at a time")
    return parser.parse_args()


async def main() -> None:
    """Serve until SIGINT or SIGTERM; the first line on stdout is the server's URL."""
    options = arguments()
    server = Loopback(Settings(options.latency, options.key, active_tasks=options.active_tasks))
    if options.rate:
        server.random(options.rate, options.faults, options.seed)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(server, options.port):
        print(server.origin, flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
