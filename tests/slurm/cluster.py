"""A real Slurm of one node for tests: munged, slurmctld and slurmd on loopback ports, two pretend GPUs.

    python -m tests.slurm.cluster up FOLDER      start it in a new folder; prints the line that lets a shell use it
    python -m tests.slurm.cluster down FOLDER    stop what `up` started there, its jobs included, and nothing else

It needs the programs of Debian's packages slurm-wlm and munge, but no root, systemd, cgroups or database.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

import psutil

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "squeue", "scontrol", "sinfo")
ADVICE = "install them with `apt-get install slurm-wlm munge`"
GPUS, MODEL = 2, "h200"
CPUS, MEMORY_MB = 8, 64000
"""Pretended too; the machine behind it may have less."""
SETTLES_WITHIN_SECONDS = 60.0
_SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=2
DefMemPerCPU=100
KillWait=2
JobRequeue=0
MinJobAge=86400
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} Gres=gpu:{model}:{gpus}
PartitionName=cpu Nodes=localhost Default=YES MaxTime=2-0 State=UP
PartitionName=gpu Nodes=localhost MaxTime=2-0 State=UP
"""
_DEVICES = (
    "AutoDetect=off\nNodeName=localhost Name=gpu Type={model} Flags=nvidia_gpu_env File={folder}/nvidia[0-{last_gpu}]\n"
)
_SRUN = '#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {srun} "$@"\n'
"""Snakemake's plugin takes SLURM_CONF out of the environment of its inner srun, which matters only where Slurm's
configuration does not lie in /etc."""


@dataclass(frozen=True)
class Cluster:
    """A Slurm whose files all lie in one folder."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which Slurm's commands find it."""
        path = os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]])
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path}

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints."""
        where = os.environ | self.environment
        return subprocess.run(command, env=where, text=True, capture_output=True, check=True).stdout.strip()

    def start(self) -> None:
        """Write the configuration and start the daemons.

        Raises:
            RuntimeError: the node does not come up.
        """
        self._lay_out()
        munge = self.folder / "munge"
        _run(
            "munged",
            f"--socket={munge}/socket",
            f"--key-file={munge}/key",
            f"--seed-file={munge}/seed",
            f"--log-file={self.folder}/log/munged",
            f"--pid-file={self.folder}/munged.pid",
            "--force",  # a folder below /tmp is writable by others
        )
        _run("slurmctld", "-c", "-f", f"{self.folder}/slurm.conf")
        self.start_node()

    def start_node(self) -> None:
        """Start slurmd and wait until the node takes jobs."""
        _run("slurmd", "-N", "localhost", "-f", f"{self.folder}/slurm.conf")
        _wait(lambda: self.state() in ("idle", "mixed", "allocated"), lambda: f"the node is {self.state()}")

    def kill_node(self) -> None:
        """End slurmd and every job of the node, as a loss of power would."""
        for process in [*self._daemons("slurmd"), *self._jobs()]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        (self.folder / "slurmd.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """End the jobs and the daemons that `start` started."""
        self.kill_node()
        for name in ("slurmctld", "munged"):
            for process in self._daemons(name):
                process.terminate()
                _wait(lambda its=process: not _alive(its), lambda of=name: f"{of} does not end")

    def state(self) -> str:
        """What Slurm says about the node."""
        with suppress(subprocess.CalledProcessError):
            return self.ask("sinfo", "--noheader", "--partition=cpu", "--format=%T")
        return "not known to the controller"

    def _lay_out(self) -> None:
        self.folder.mkdir(parents=True)
        for name in ("state", "spool", "log", "munge", "bin"):
            (self.folder / name).mkdir(mode=0o755)
        (self.folder / "munge/key").write_bytes(os.urandom(128))
        (self.folder / "munge/key").chmod(0o400)
        for number in range(GPUS):  # a device file is all that Slurm wants to see
            (self.folder / f"nvidia{number}").symlink_to(os.devnull)
        values = {"folder": self.folder, "user": getuser(), "model": MODEL, "gpus": GPUS, "last_gpu": GPUS - 1}
        values |= {"cpus": CPUS, "memory_mb": MEMORY_MB, "srun": shutil.which("srun")}
        values |= dict(zip(("controller_port", "node_port"), _free_ports(2), strict=True))
        for name, text in (("slurm.conf", _CONFIGURATION), ("gres.conf", _DEVICES), ("bin/srun", _SRUN)):
            (self.folder / name).write_text(text.format(**values))
        (self.folder / "bin/srun").chmod(0o755)

    def _daemons(self, name: str) -> list[psutil.Process]:
        """The daemon of a pid file, if it is still the one that was started here."""
        with suppress(OSError, ValueError, psutil.NoSuchProcess):
            process = psutil.Process(int((self.folder / f"{name}.pid").read_text()))
            if str(self.folder) in " ".join(process.cmdline()):
                return [process]
        return []

    def _jobs(self) -> list[psutil.Process]:
        """What runs on the node: the daemon of each step, which works in this folder, and all that it started."""
        steps = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() == "slurmstepd" and Path(process.cwd()).is_relative_to(self.folder):
                    steps += [process, *process.children(recursive=True)]
        return steps


def missing() -> list[str]:
    """The programs that are not installed."""
    return [name for name in NEEDED if shutil.which(name, path=_SBIN) is None]


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster that runs until the block ends."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _run(program: str, *arguments: str) -> None:
    """Start a daemon, which goes into the background by itself."""
    found = shutil.which(program, path=_SBIN)
    done = subprocess.run([found or program, *arguments], text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} does not start: {done.stderr.strip()}")


def _wait(until: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + SETTLES_WITHIN_SECONDS
    while not until():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise())
        time.sleep(0.1)


def _alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def main(verb: str, folder: str) -> None:
    """Do what the command line says."""
    cluster = Cluster(Path(folder).resolve())
    if verb == "down":
        cluster.stop()
        shutil.rmtree(cluster.folder)
    elif verb == "up" and not missing():
        cluster.start()
        print(f"export SLURM_CONF={cluster.folder}/slurm.conf PATH={cluster.folder}/bin:$PATH")
    else:
        sys.exit(f"{', '.join(missing())}: not found; {ADVICE}" if verb == "up" else __doc__)


if __name__ == "__main__":
    main(*(sys.argv[1:] if len(sys.argv) == 3 else ("", "")))
