"""An executor that starts each job as a cloud does: in an empty folder, with the sources and inputs that storage has.

The folder is removed when the job has ended well: what was not stored is gone.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=True,
    job_deploy_sources=True,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)
NODES = "CFEVAL_TEST_NODES"
"""The environment variable that names the folder of the machines that jobs run on."""


class Executor(RemoteExecutor):
    """Runs jobs in folders of their own."""

    def __post_init__(self) -> None:
        self._running: dict[int, tuple[subprocess.Popen[bytes], Path]] = {}

    def run_job(self, job: JobExecutorInterface) -> None:
        node = Path(tempfile.mkdtemp(dir=os.environ[NODES], prefix=f"{job.name}."))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CFEVAL") and name != "PWD"}
        with (node / "node.log").open("wb") as log:
            command = ["bash", "-c", self.format_job_exec(job)]
            environment = kept | self.envvars()
            process = subprocess.Popen(command, cwd=node, env=environment, stdout=log, stderr=log)
        self._running[id(job)] = (process, node)
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=node.name))

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        await asyncio.sleep(0.2)
        for info in active_jobs:
            process, node = self._running[id(info.job)]
            if process.poll() is None:
                yield info
            elif process.returncode:
                self.report_job_error(info, msg=(node / "node.log").read_text()[-3000:])
            else:
                shutil.rmtree(node)
                self.report_job_success(info)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        for info in active_jobs:
            self._running[id(info.job)][0].terminate()

    def get_python_executable(self) -> str:
        return "python"
