"""`./workbook grade` with checks that take a while and note who made them, for tests that disturb it:

    grade_driver.py [--without-dask] LOG SECONDS arguments of `grade`
"""

import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOG, SECONDS = "BW_TEST_GRADE_LOG", "BW_TEST_GRADE_SECONDS"
CONNECT_SECONDS = "BW_TEST_CONNECT_SECONDS"  # the most that the command waits for a scheduler


def run(job, version):
    """The real check, after a pause; appends "process key" to the log when it begins."""
    from tools.grading import worker
    if os.environ.get(LOG):
        with open(os.environ[LOG], "a", encoding="utf-8") as log:
            log.write(f"{os.getpid()} {job.key}\n")
    time.sleep(float(os.environ.get(SECONDS, "0")))
    return worker.run(job, version)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "common"), str(HERE)]
    words = sys.argv[1:]
    without_dask = words[0] == "--without-dask"
    words = words[without_dask:]
    os.environ[LOG], os.environ[SECONDS] = words[:2]
    from tools import cli, private_env, workspace
    from tools.grading import engine
    engine.CHECK = "grade_driver:run"
    if without_dask:
        engine.has_dask = lambda: False
        private_env.grading_python = lambda root: None
    if os.environ.get(CONNECT_SECONDS):
        from tools.grading import cluster
        cluster.CONNECT_SECONDS = int(os.environ[CONNECT_SECONDS])
    workspace.prepare = lambda *_: None  # the build that runs the tests has made it
    sys.exit(cli.main(ROOT, ["grade", *words[2:]]))
