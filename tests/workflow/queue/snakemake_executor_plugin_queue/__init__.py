"""An executor of Snakemake that keeps jobs as a cluster's queue does: each starts when there is a file `go` beside the
study, in a Snakemake of its own that evaluates the Snakefile anew."""

import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    auto_deploy_default_storage_provider=False,
)


class Executor(RemoteExecutor):
    """Starts each job once it may."""

    def run_job(self, job: JobExecutorInterface) -> None:
        """Put a job into the queue."""
        script = f"while [ ! -e ../go ]; do sleep .05; done; {self.format_job_exec(job)} >>../queue.log 2>&1"
        process = subprocess.Popen(["bash", "-c", script])
        self.report_job_submission(SubmittedJobInfo(job, str(process.pid), {"process": process}))
        Path("../submitted").touch()

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Tell of the jobs that have ended."""
        for info in active_jobs:
            code = info.aux["process"].poll()
            if code is None:
                yield info
            elif code:
                self.report_job_error(info)
            else:
                self.report_job_success(info)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """End the jobs."""
        for info in active_jobs:
            info.aux["process"].kill()
