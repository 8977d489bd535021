"""Grades a class: submissions to verdicts, on this machine's cores or on a cluster.

submissions  finds and reads what was handed in           plan     from there to checks, by content
version      inputs of a verdict other than the text      worker   one check, in a worker process
engine       runs checks: the process pool, or Dask       cluster  Dask: schedulers and their workers
store        the verdicts on disk, resumed                command  `./workbook grade`
figures      what a class did, in numbers                 report   CSV and HTML
bench        `./workbook bench grade`
"""
