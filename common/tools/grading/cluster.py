"""Checks on Dask distributed: a cluster of this machine's, or an existing scheduler with its workers.

A worker takes part when its own checkout is of the wanted version: then it offers the resource that the
checks ask for, as many at a time as it has threads. So the scheduler alone assigns the checks.
"""

import asyncio
import contextlib
import importlib
import logging
import re
import signal
import time
from multiprocessing import resource_tracker

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.diagnostics.plugin import WorkerPlugin

from ..errors import WorkbookError
from .outcome import GOES_ON, Outcome, sentence

CONNECT_SECONDS = 15
WORKER_SECONDS = 600  # a batch system may take its time to start one
POLL_SECONDS = 1.0
NOT_ASKED = "not asked yet"
RETRIES = 1  # of a check that failed by itself; a lost worker's are Dask's own affair
# Nothing of a check depends on these; the packages that both sides speak through do.
_COMPARED = ("dask", "distributed")
_ADDRESS = re.compile(r"(\w+://)?[^/\s]+:\d+")


def resource_of(version):
    """What a worker offers that has this version."""
    return f"workbook-{version}"


def _portable():
    """(Enrol, refusal_of, call): what schedulers and workers are sent.

    A scheduler looks into what it hands on, and a worker may have no checkout or another one. What is
    made inside of a function is sent as a whole, and not by the name under which it would have to be
    there; so it must not use other functions of ours.
    """
    class Enrol(WorkerPlugin):
        """Looks at a worker's checkout when the worker joins, now or later."""

        def __init__(self, version, programs, resource):
            self.name, self._resource = f"enrol-{version}", resource
            self._version, self._programs = version, tuple(programs)

        async def setup(self, worker):
            try:
                # Of the worker's own checkout, which is on its path.
                from tools.grading import worker as grading
                # Compilers are asked for their versions: seconds, on a busy machine.
                reason = await asyncio.get_running_loop().run_in_executor(
                    None, grading.refusal, self._version, self._programs)
            except ImportError as error:
                reason = (f"it has no checkout on its path ({error}). Start it with `./workbook grade "
                          "--join`")
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            quantity = 0 if reason else worker.state.nthreads
            await worker.set_resources(**{self._resource: quantity})
            worker.workbook_refusal = reason

    def refusal_of(dask_worker):
        """Why a worker takes no part, or ""."""
        return getattr(dask_worker, "workbook_refusal", NOT_ASKED)

    def call(target, job, version):
        """One check, "module:function" of the worker's checkout. A job travels as a tuple."""
        module, _, name = target.partition(":")
        plan = importlib.import_module("tools.grading.plan")
        return getattr(importlib.import_module(module), name)(plan.Job(*job), version)

    return Enrol, refusal_of, call


@contextlib.contextmanager
def outcomes(jobs, version, programs, workers, address, check, say):
    """See engine.outcomes()."""
    logging.disable(logging.CRITICAL)  # what goes wrong is said in a sentence
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({
            "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
            # Of what Dask watches all the time nothing is looked at here, and it takes part of a core.
            "distributed.admin.tick.interval": "1s", "distributed.admin.system-monitor.interval": "5s",
            "distributed.worker.profile.enabled": False}))
        scheduler = address or stack.enter_context(_local(workers))
        client = stack.enter_context(_connected(scheduler, address))
        enrol, refusal_of, call = _portable()
        _enrol(client, enrol(version, programs, resource_of(version)), refusal_of, say)
        yield _run(client, jobs, version, call, check, address)


@contextlib.contextmanager
def _local(workers):
    # A terminal's Ctrl-C is the command's: workers and the threads that start them never see it. One
    # that comes in between is delivered afterwards. (Where multiprocessing's tracker of resources has
    # yet to be started, a worker's start would unblock the signal.)
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # Whoever reaches a scheduler may run what they like: certificates of its own keep others out.
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                               host="127.0.0.1", dashboard_address=None, security=True,
                               memory_limit=0, silence_logs=logging.CRITICAL,
                               worker_dashboard_address=None)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield cluster
    finally:
        cluster.close(timeout=5)


@contextlib.contextmanager
def _connected(scheduler, address):
    if address and not _ADDRESS.fullmatch(address):
        raise WorkbookError(f"--cluster {address} is not an address of a Dask scheduler. It looks like "
                            "tcp://10.0.0.1:8786; `dask scheduler` prints its own.", exit_code=2)
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        raise WorkbookError(f"No Dask scheduler can be reached at {address} "
                            f"({_first_line(error)}). Start one (`dask scheduler`), or leave "
                            "--cluster out: "
                            "then this machine's cores do it.") from error
    try:
        if address:
            _require_same_dask(client, address)
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def _require_same_dask(client, address):
    """Dask speaks with its own version only."""
    try:
        versions = client.get_versions()
    except Exception as error:
        raise WorkbookError(f"The scheduler at {address} can't be asked for its version "
                            f"({_first_line(error)}).") from error
    own, theirs = (versions[side]["packages"] for side in ("client", "scheduler"))
    for name in _COMPARED:
        if own.get(name) != theirs.get(name):
            raise WorkbookError(f"The scheduler at {address} has {name} {theirs.get(name)}, and this is "
                                f"{name} {own.get(name)}; they have to be the same. `dask scheduler` of "
                                "this checkout's .workbook/venv is, or install that version there.")


def _enrol(client, plugin, refusal_of, say):
    """Returns when a worker takes part; others may join later. Throws when all of them refuse."""
    client.register_plugin(plugin, name=plugin.name)
    said, deadline = set(), time.monotonic() + WORKER_SECONDS
    while True:
        refusals = client.run(refusal_of)
        for worker, reason in sorted(refusals.items()):
            if reason not in ("", NOT_ASKED) and worker not in said:
                say(f"Worker {worker} is not used: {reason}.")
                said.add(worker)
        if "" in refusals.values():
            return
        if refusals and said.issuperset(refusals):
            raise WorkbookError("No worker of the scheduler has this checkout's version; why is "
                                "said above.")
        if time.monotonic() > deadline:
            raise WorkbookError(f"The scheduler has had no worker for {WORKER_SECONDS} s. Start "
                                "some with "
                                "`./workbook grade --join`, in a checkout of the same version.")
        if not refusals and "" not in said:
            say("The scheduler has no worker yet; waiting for one.")
            said.add("")
        # Dask doesn't look again at a task that no worker could take when a worker enrols later.
        time.sleep(POLL_SECONDS)


def _run(client, jobs, version, call, check, address):
    """Hands all jobs to the scheduler; yields their Outcomes as they come."""
    fields = [(job.key, job.exercise, job.lines, job.first) for job in jobs]
    keys = {f"workbook-{job.key}": job.key for job in jobs}
    running = as_completed(client.map(call, [check] * len(jobs), fields, [version] * len(jobs),
                                      key=list(keys), resources={resource_of(version): 1},
                                      retries=RETRIES, pure=True), loop=client.loop)
    for future in running:
        if future.status in ("cancelled", "lost"):
            raise WorkbookError(f"The scheduler "
                                f"{'at ' + address if address else 'of this command'} has gone, "
                                f"or the connection to it. {GOES_ON}.")
        if future.status == "error":
            yield Outcome(keys[future.key], error=sentence(future.exception()))
        else:
            yield Outcome(keys[future.key], future.result())
        future.release()


def _first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
