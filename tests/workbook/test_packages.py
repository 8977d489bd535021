"""What the build files ask for, what is missing, and what happens then."""

import os
import unittest
from unittest import mock

from support import ROOT, CheckoutTest, write_script

from tools import packages, private_env, setup
from tools.errors import WorkbookError


class Lists(CheckoutTest):
    def write(self, text):
        path = self.folder / "common" / "part" / "CMakeLists.txt"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    def test_calls_are_read_from_the_build_files(self):
        self.write("bw_require_package(zstd TARGET z::z DEBIAN libzstd-dev HEADER zstd.h\n"
                   "                   LIBRARY zstd)\n"
                   "bw_require_package(blas FOR tests TARGET b DEBIAN libopenblas-dev HEADER cblas.h)\n"
                   "# bw_require_package(no TARGET n DEBIAN libno-dev HEADER no.h)\n"
                   "function(bw_require_package name)\n")
        found = packages.libraries(self.folder)
        self.assertEqual([(f.name, f.header, f.debian, f.purpose) for f in found],
                         [("blas", "cblas.h", "libopenblas-dev", "tests"),
                          ("zstd", "zstd.h", "libzstd-dev", "")])

    def test_this_repository_names_googletest(self):
        self.assertIn("libgtest-dev", [found.debian for found in packages.libraries(ROOT)])

    def test_headers_that_the_compiler_lacks_are_found_out(self):
        present = packages.Library("here", "vector", "libhere-dev")
        absent = packages.Library("gone", "no/such/header.h", "libgone-dev")
        self.assertEqual(packages.missing_libraries([present, absent, present]), [absent])

    def test_a_header_without_its_library_is_missing_too(self):
        """netlib's cblas.h comes without OpenBLAS: the compiler is content, the linker is not."""
        here = packages.Library("c", "vector", "libc6-dev", linked="c")
        odd = packages.Library("blas", "vector", "libopenblas-dev", linked="no_such_library")
        self.assertEqual(packages.missing_libraries([here]), [])
        self.assertEqual(packages.missing_libraries([odd, here]), [odd])
        self.write("bw_require_package(blas FOR simulator_bench OPTIONAL TARGET b DEBIAN libb-dev\n"
                   "                   HEADER vector LIBRARY no_such_library)\n")
        self.assertEqual(packages.missing_packages(self.folder, (packages.SIMULATOR_BENCH,)),
                         ["libb-dev"])

    def test_what_is_linked_is_named_for_every_library(self):
        self.assertEqual([found.name for found in packages.libraries(ROOT) if not found.linked], [])

    def test_libraries_are_asked_for_only_by_what_needs_them(self):
        for purpose in (packages.SIMULATOR, packages.TESTS, packages.SIMULATOR_BENCH):
            with self.subTest(purpose=purpose):
                library = packages.Library("b", "no/such/b.h", "libb-dev", purpose)
                self.assertTrue(library.is_for((purpose, "other")))
                self.assertFalse(library.is_for(("other",)))
        self.write("bw_require_package(b FOR simulator_bench TARGET b DEBIAN libb-dev\n"
                   "                   HEADER no/such/b.h)\n")
        self.assertNotIn("libb-dev", packages.missing_packages(self.folder))
        self.assertIn("libb-dev", packages.missing_packages(self.folder,
                                                            (packages.SIMULATOR_BENCH,)))

    def test_a_build_for_the_gpu_needs_no_library(self):
        self.assertEqual([found.name for found in packages.libraries(ROOT) if found.is_for(())],
                         [])
        self.assertEqual([found.name for found in packages.libraries(ROOT)
                          if found.is_for((packages.TESTS,))], ["GoogleTest"])

    def test_a_bare_machine_misses_everything(self):
        self.write("bw_require_package(z TARGET z DEBIAN libz-dev HEADER vector)\n")
        with mock.patch.dict(os.environ, PATH=str(self.folder)):
            self.assertEqual(packages.missing_packages(self.folder),
                             ["g++", "cmake", "ninja-build", "libz-dev"])


class OneCommandForAll(CheckoutTest):
    """A user who installs by hand is told everything at once, venv included."""

    def asked_for(self, venv_works):
        asked = []

        def refuse(names, _console):
            asked.extend(names)
            raise WorkbookError("not here")

        with mock.patch.object(packages, "missing_packages", lambda *_: ["ninja-build"]), \
                mock.patch.object(packages, "install", refuse), \
                mock.patch.object(private_env, "venv_module_works", lambda: venv_works), \
                self.assertRaises(WorkbookError):
            setup.ensure(self.folder, None)
        return asked

    def test_what_makes_virtual_environments_is_asked_for_with_the_rest(self):
        self.assertEqual(self.asked_for(False), ["ninja-build", "python3-venv"])
        self.assertEqual(self.asked_for(True), ["ninja-build"])


class Installing(CheckoutTest):
    def install(self, uid, *, sudo=None, apt="exit 0"):
        """Runs install() with stubs on PATH; returns the commands that they saw."""
        tools, record = self.folder / "bin", self.folder / "record"
        log = f'echo "$(basename $0) $*" >> {record}\n'
        if apt is not None:
            write_script(tools / "apt-get", log + apt + "\n")
        if sudo is not None:
            write_script(tools / "sudo", log + sudo + "\n")
        path = f"{tools}:/usr/bin:/bin" if apt is not None else str(self.folder)
        from tools.console import Console
        with mock.patch.dict(os.environ, PATH=path), \
                mock.patch("os.geteuid", return_value=uid), \
                mock.patch.object(packages.shutil, "which", _only_in(tools)):
            try:
                packages.install(["ninja-build", "libgtest-dev"], Console())
            finally:
                self.record = record.read_text(encoding="utf-8") if record.exists() else ""

    def test_root_installs_without_sudo(self):
        self.install(0, sudo="exit 0")
        self.assertRegex(self.record, "(?m)^apt-get .*install --yes --no-install-recommends "
                                      "ninja-build libgtest-dev$")
        self.assertNotIn("sudo", self.record)

    def test_a_user_with_sudo_uses_it_without_being_asked(self):
        self.install(1000, sudo="exit 0")
        self.assertRegex(self.record, "(?m)^sudo -n DEBIAN_FRONTEND=noninteractive apt-get .*"
                                      "install .* ninja-build libgtest-dev$")

    def test_a_user_without_sudo_gets_the_exact_command(self):
        for sudo in (None, "exit 1"):
            with self.assertRaisesRegex(WorkbookError,
                                        "sudo apt-get install ninja-build libgtest-dev"):
                self.install(1000, sudo=sudo)
            self.assertNotIn("apt-get", self.record)

    def test_another_distribution_gets_the_names(self):
        with self.assertRaisesRegex(WorkbookError, "ninja-build, libgtest-dev .*no apt-get"):
            self.install(0, apt=None)

    def test_a_package_manager_that_was_interrupted_is_brought_back_first(self):
        done = self.folder / "configured"
        write_script(self.folder / "bin" / "dpkg",
                     f'echo "dpkg $*" >> {self.folder}/record\ntouch {done}\n')
        self.install(0, apt=f"""test -e {done} && exit 0
case "$*" in *install*) echo "E: dpkg was interrupted, you must manually run 'dpkg --configure -a'"
exit 100;; esac""")
        self.assertRegex(self.record, r"(?s)apt-get [^\n]*install.*dpkg --configure -a\n"
                                      r"apt-get [^\n]*install")

    def test_a_failed_installation_shows_its_output(self):
        with self.assertRaises(WorkbookError) as caught:
            self.install(0, apt="echo E: disk full; exit 100")
        self.assertIn("disk full", caught.exception.details)


def _only_in(folder):
    """A shutil.which() that knows nothing but a folder."""
    return lambda name, **_: str(folder / name) if (folder / name).exists() else None


if __name__ == "__main__":
    unittest.main()
