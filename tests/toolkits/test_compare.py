"""What the comparison of toolkits calls a difference."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compare  # noqa: E402
from compare import Compiler, Outcome  # noqa: E402

from tools import device_code  # noqa: E402
from tools.errors import WorkbookError  # noqa: E402

OLD = Compiler(Path("old/nvcc"), "13.0", "9.0", is_of_build=True)
NEW = Compiler(Path("new/nvcc"), "13.5", "9.5", is_of_build=False)


def outcome(status=0, text=("bits 1f", "1 2 3.0"), codes=(), cycles=1000, kernel="k", version="9.0"):
    return Outcome(status, list(text), list(codes), [(kernel, cycles)], [version])


def fake_nvcc(folder, release, version):
    """A compiler that writes a kernel of this origin, whatever it is given."""
    path = Path(folder) / f"nvcc-{release}-{version}"
    path.write_text(f"""#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release {release}, V{release}.1"; exit; fi
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'END'
// Cuda compilation tools, release {release}, V{release}.1
.version {version}
.target sm_100a
.visible .entry k() {{ ret; }}
END
""", encoding="utf-8")
    path.chmod(0o755)
    return path


class Compare(unittest.TestCase):
    def wrong(self, reasons=(), **changes):
        return compare.compare("lab", outcome(), outcome(**changes), reasons)[0]

    def test_equal_runs_do_not_differ(self):
        self.assertEqual(self.wrong(), [])

    def test_results_exit_codes_reports_and_kernels_have_to_be_equal(self):
        for changes, words in ((dict(status=1), "exit status 0 became 1"),
                               (dict(codes=["BW-B01"]), "codes of reports"),
                               (dict(text=("bits 1e", "1 2 3.0")), "'bits 1f' became 'bits 1e'"),
                               (dict(text=("bits 1f",)), "2 lines of output became 1"),
                               (dict(kernel="other"), "other kernels")):
            self.assertIn(words, "; ".join(self.wrong(**changes)))

    def test_tables_of_numbers_and_the_last_line_of_a_lab_are_times(self):
        self.assertEqual(self.wrong(text=("bits 1f", "1 2 4.0")), [])
        self.assertEqual(compare.compare("lab", outcome(text=["cycles 10"]), outcome(text=["cycles 11"]),
                                         ())[0], [])

    def test_cycles_may_differ_up_to_the_limit(self):
        self.assertEqual(self.wrong(cycles=1099), [])
        self.assertIn("cycles differ by +11.00 %", self.wrong(cycles=1110)[0])
        self.assertIn("cycles differ by -11.00 %", self.wrong(cycles=890)[0])

    def test_output_with_a_reason_may_differ_and_codes_may_not(self):
        self.assertEqual(self.wrong(reasons=("lab",), text=("bits 1e", "1 2 3.0")), [])
        self.assertNotEqual(self.wrong(reasons=("lab",), codes=["BW-B01"]), [])

    def compared(self, versions):
        """What is wrong with equal runs whose kernels came from PTX of these versions."""
        runs = [outcome(version=version) for version in versions]
        with mock.patch.object(compare, "run", side_effect=runs), \
                mock.patch.object(compare, "compile_kernels", return_value=["new.ptx"]) as compiled:
            wrong, _ = compare.compare_program("lab", [], [OLD, NEW], (), {"9.0", "9.3", "9.5"})
        self.assertEqual([call[0][0] for call in compiled.call_args_list], [NEW])
        return wrong

    def test_each_run_takes_its_kernels_from_the_ptx_of_its_release(self):
        self.assertEqual(self.compared(["9.0", "9.5"]), [])
        for versions, words in ((["9.0", "9.0"], "k from PTX 9.0, not 9.5"),
                                (["9.0", "9.3"], "k from PTX 9.3, not 9.5"),
                                (["9.5", "9.5"], "k from PTX 9.5, not 9.0")):
            self.assertEqual(self.compared(versions), [
                f"kernels of another compiler were run, 1 in all; the first: {words}"])
        # No compiler of the three writes this one: the program has composed it.
        self.assertEqual(self.compared(["8.4", "8.4"]), [])

    def test_a_program_is_not_compared_with_itself(self):
        for release, version in (("13.0", "9.0"), ("13.5", "9.5")):
            with tempfile.TemporaryDirectory() as folder, \
                    contextlib.redirect_stdout(io.StringIO()) as said:
                nvcc = str(fake_nvcc(folder, release, version))
                with mock.patch.object(compare.build, "cached", return_value=nvcc):
                    status = compare.main(["--nvcc", nvcc, nvcc])
            self.assertEqual(status, 1)
            self.assertIn("Name compilers of two releases", said.getvalue())

    def test_a_compiler_is_known_by_what_it_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            nvcc, other = fake_nvcc(folder, "13.5", "9.5"), fake_nvcc(folder, "13.0", "9.0")
            self.assertEqual(compare.compiler(nvcc, other), Compiler(nvcc, "13.5", "9.5", False))
            self.assertEqual(compare.compiler(nvcc, nvcc), Compiler(nvcc, "13.5", "9.5", True))
            unit = device_code.Unit(Path("k.cu"), ("-O1", "-isystem=/other/include"))
            with mock.patch.object(device_code, "units", return_value=[unit]):
                files = compare.compile_kernels(Compiler(nvcc, "13.5", "9.5", False), "lab",
                                                Path(folder))
                self.assertEqual([file.name for file in files], ["lab-0.ptx"])
                with self.assertRaisesRegex(WorkbookError, "comes from .*'13.0', '9.0'"):
                    compare.compile_kernels(Compiler(other, "13.5", "9.5", False), "lab",
                                            Path(folder))

    def test_each_explained_program_has_a_reason(self):
        for program, reason in compare.explained().items():
            self.assertNotIn(" ", program)
            self.assertGreater(len(reason), 20)


if __name__ == "__main__":
    unittest.main()
