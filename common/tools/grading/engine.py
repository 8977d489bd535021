"""Runs checks on the available cores: by Dask distributed where it is installed, else by the standard
library's process pool. Order, retries and queues are theirs."""

import contextlib
import importlib
import importlib.util
import multiprocessing
import signal
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool

from ..errors import WorkbookError
from .outcome import GOES_ON, Outcome, sentence

# What makes a check: "module:function", looked up where it runs.
CHECK = "tools.grading.worker:run"


def has_dask():
    """Whether Dask can be used by this Python."""
    return importlib.util.find_spec("distributed") is not None


@contextlib.contextmanager
def outcomes(jobs, version, programs, workers, cluster, check, say):
    """An iterator of Outcomes, as they come; whatever ends the block ends the workers.

    `programs`: what the checks run; `cluster`: the address of a scheduler, None: this machine;
    `check`: as CHECK; `say` shows a line.
    """
    if cluster is not None or has_dask():
        from . import cluster as dask
        with dask.outcomes(jobs, version, programs, workers, cluster, check, say) as found:
            yield found
        return
    with _pool(workers) as pool:
        yield _from_pool(pool, jobs, version, check)


@contextlib.contextmanager
def _pool(workers):
    """A process pool that is gone at the end of the block, its processes too."""
    pool = futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_worker)
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())  # nothing public ends them
        pool.shutdown(wait=False)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        raise
    pool.shutdown()


def _begin_worker():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the command's
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _from_pool(pool, jobs, version, check):
    running = {pool.submit(_call, check, job, version): job.key for job in jobs}
    for future in futures.as_completed(running):
        try:
            yield Outcome(running[future], future.result())
        except BrokenProcessPool:
            raise WorkbookError("A worker process was ended from outside, and with it the process pool. "
                                f"{GOES_ON}. With Dask (`./workbook setup --grading`) another "
                                "worker takes "
                                "over.") from None
        except Exception as error:  # the check's own: the other jobs go on
            yield Outcome(running[future], error=sentence(error))
        running.pop(future)


def _call(target, job, version):
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)(job, version)
