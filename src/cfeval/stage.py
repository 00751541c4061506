"""Run one job of the workflow: what the rules call."""

from typing import Annotated

import typer

from cfeval.core.provenance import loading

loading.record()

from cfeval.core.provenance.frozen import thaw  # noqa: E402 (what is loaded from here on is recorded)
from cfeval.core.provenance.making import make  # noqa: E402


def run(
    output: Annotated[str, typer.Argument(help="The job's first output, or a storage provider's copy of it.")],
) -> None:
    """Run one job of the workflow: what the rules call.

    The job's command comes from the plan of the run that started it. Where the output is what the job would make,
    nothing is done; else the sidecar beside the output says afterwards what it was made from.
    """
    from cfeval import cli as main

    planned, place = thaw().named(output)
    raise typer.Exit(make(planned, main.run, place))
