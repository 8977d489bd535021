"""Finding a CUDA Toolkit: order of places, age, completeness, the private environment."""

import io
import json
import os
import re
import unittest
import zipfile
from unittest import mock

from support import QUICK_VENV, CheckoutTest, make_toolkit, write_script

from tools import console, private_env, setup, toolkit


class Finding(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.empty = self.folder / "empty"
        self.empty.mkdir()

    def find(self, **env):
        env.setdefault("PATH", str(self.empty))
        return toolkit.find(self.folder, env)

    def test_cuda_home_comes_before_path(self):
        first, second = make_toolkit(self.folder / "a"), make_toolkit(self.folder / "b")
        found, _ = self.find(CUDA_HOME=str(first), PATH=str(second / "bin"))
        self.assertEqual(found.nvcc, first / "bin" / "nvcc")
        found, _ = self.find(PATH=str(second / "bin"))
        self.assertEqual(found.nvcc, second / "bin" / "nvcc")

    def test_newer_releases_are_taken(self):
        make_toolkit(self.folder / "a", release="13.2")
        found, _ = self.find(CUDA_HOME=str(self.folder / "a"))
        self.assertEqual((found.release, found.private), ("13.2", False))

    def test_an_old_toolkit_is_passed_over_and_named(self):
        old = make_toolkit(self.folder / "old", release="12.9")
        new = make_toolkit(self.folder / "new")
        found, rejected = self.find(CUDA_HOME=str(old), PATH=str(new / "bin"))
        self.assertEqual(found.nvcc, new / "bin" / "nvcc")
        self.assertEqual([(r.nvcc, r.reason) for r in rejected],
                         [(old / "bin" / "nvcc", "it is release 12.9, older than 13.0 "
                           "(BW_TOOLKIT_ANY_RELEASE=1 uses it all the same)")])

    def test_an_old_toolkit_can_be_asked_for_and_comes_with_a_caution(self):
        old = make_toolkit(self.folder / "old", release="12.9")
        found, rejected = self.find(CUDA_HOME=str(old), BW_TOOLKIT_ANY_RELEASE="1")
        self.assertEqual((found.release, rejected), ("12.9", []))
        self.assertIn("12.9 is older than 13.0", found.caution())

    def test_the_supported_releases_need_no_caution_and_newer_ones_do(self):
        for release, words in (("13.0", None), ("13.5", None), ("13.6", "newer than 13.5"),
                               ("13.10", "newer than 13.5"), ("14.0", "newer than 13.5")):
            folder = make_toolkit(self.folder / release, release=release)
            found, _ = self.find(CUDA_HOME=str(folder))
            if words:
                self.assertIn(words, found.caution())
            else:
                self.assertIsNone(found.caution())

    def test_doctor_says_which_releases_are_supported_and_cautions(self):
        root = self.checkout()
        newer = make_toolkit(self.folder / "newer", release="14.2")
        result = self.run_workbook(root, "doctor", CUDA_HOME=newer)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("CUDA Toolkit 14.2 is newer than 13.5", " ".join(result.stdout.split()))
        supported = make_toolkit(self.folder / "supported", release="13.3")
        self.assertIn("supported: 13.0 to 13.5",
                      self.run_workbook(root, "doctor", CUDA_HOME=supported).stdout)

    def test_commands_that_compile_caution_and_go_on(self):
        newer, said = make_toolkit(self.folder / "newer", release="14.2"), io.StringIO()
        with mock.patch.dict(os.environ, {"CUDA_HOME": str(newer), "BW_TOOLKIT_IGNORE_SYSTEM": ""}):
            found = setup._ensure_toolkit(self.folder, console.Console(said))
        self.assertEqual(found.nvcc, newer / "bin" / "nvcc")
        self.assertIn("CUDA Toolkit 14.2 is newer than 13.5", said.getvalue())


class PrivateEnvironment(CheckoutTest):
    def install(self, pins):
        site = private_env.folder(self.folder) / "venv/lib/python3.11/site-packages"
        make_toolkit(site / "nvidia" / "cu13")
        (private_env.folder(self.folder) / "installed.json").write_text(json.dumps(list(pins)),
                                                                        encoding="utf-8")

    def find(self):
        return toolkit.find(self.folder, {"BW_TOOLKIT_IGNORE_SYSTEM": "1"})[0]

    def test_a_complete_installation_is_used(self):
        self.install(private_env.TOOLKIT_PINS)
        self.assertTrue(self.find().private)

    def test_an_interrupted_installation_is_not_used(self):
        self.install(private_env.TOOLKIT_PINS[:-1])
        self.assertIsNone(self.find())
        (private_env.folder(self.folder) / "installed.json").write_text("{cut", encoding="utf-8")
        self.assertIsNone(self.find())

    def test_other_versions_than_the_pinned_ones_are_not_used(self):
        self.install(pin.replace("==13.", "==14.") for pin in private_env.TOOLKIT_PINS)
        self.assertIsNone(self.find())

    def test_every_pin_is_exact_and_of_one_release_line(self):
        for release, pins in private_env.TOOLKITS["wheels"].items():
            names = [pin.split("==")[0] for pin in private_env.TOOLKIT_PINS]
            self.assertEqual([pin.split("==")[0] for pin in pins], names)
            for pin in pins:
                # The C++ libraries of newer releases have a version line of their own.
                line = r"13(\.\d+)+" if "cccl" in pin else re.escape(release) + r"\.\d+"
                self.assertRegex(pin, rf"^[a-z-]+=={line}$")

        for pin in private_env.DISASSEMBLER_PINS:
            self.assertRegex(pin, r"^nvidia-cuda-nvdisasm==13\.\d+\.\d+$")


class Disassembler(CheckoutTest):
    """nvdisasm comes from the toolkit, PATH, or, where neither has it, from a wheel."""

    def setUp(self):
        super().setUp()
        self.empty = self.folder / "empty"
        self.empty.mkdir()

    def bare_toolkit(self):
        return make_toolkit(self.folder / "bare", without=("bin/nvdisasm",))

    def find(self, folder, path):
        return toolkit.find_nvdisasm(self.folder, folder / "bin" / "nvcc", {"PATH": str(path)})

    def put_wheel(self, script):
        """A package index of one wheel whose nvdisasm is a shell script; its pip settings."""
        (pin,) = private_env.DISASSEMBLER_PINS
        name, version = pin.replace("-", "_").split("==")
        index = self.folder / "index"
        index.mkdir(exist_ok=True)
        with zipfile.ZipFile(index / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            program = zipfile.ZipInfo("nvidia/cu13/bin/nvdisasm")
            program.external_attr = 0o100755 << 16
            wheel.writestr(program, f"#!/bin/sh\n{script}\n")
            info = f"{name}-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA",
                           f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL",
                           "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}

    def test_the_toolkits_own_comes_before_the_one_on_path(self):
        other = make_toolkit(self.folder / "other")
        own = make_toolkit(self.folder / "own")
        self.assertEqual(self.find(own, other / "bin"), own / "bin" / "nvdisasm")

    def test_path_is_searched(self):
        script = write_script(self.folder / "path" / "nvdisasm", "exit 0\n")
        self.assertEqual(self.find(self.bare_toolkit(), script.parent), script)
        self.assertIsNone(self.find(self.bare_toolkit(), self.empty))

    def test_a_private_compiler_has_the_pinned_one_alone(self):
        home = private_env.folder(self.folder) / "venv/lib/python3.11/site-packages/nvidia/cu13"
        other = write_script(self.folder / "path" / "nvdisasm", "exit 0\n")
        stamp = private_env.folder(self.folder) / "installed.json"
        for release in (private_env.TOOLKITS["oldest"], private_env.TOOLKITS["newest"]):
            make_toolkit(home, release)
            for pins, expected in ((["nvidia-cuda-nvdisasm==13.0.85"], None),
                                   (private_env.DISASSEMBLER_PINS, home / "bin" / "nvdisasm")):
                stamp.write_text(json.dumps(list(pins)), encoding="utf-8")
                self.assertEqual(self.find(home, other.parent), expected)

    def test_setup_adds_it_to_a_toolkit_of_the_machine_that_lacks_it(self):
        root = self.checkout()
        pip = self.put_wheel("exit 0")
        before = self.run_workbook(root, "doctor", CUDA_HOME=self.bare_toolkit())
        self.assertEqual(before.returncode, 1)
        self.assertIn("Missing: nvdisasm. `./workbook setup` installs it", before.stdout)
        result = self.run_workbook(root, "setup", CUDA_HOME=self.bare_toolkit(), **pip)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"Ready: CUDA Toolkit 13.0 ({self.folder}/bare)", result.stderr)
        found = toolkit.find_nvdisasm(root, self.bare_toolkit() / "bin/nvcc", {"PATH": ""})
        self.assertIn(root / ".workbook", found.parents)
        after = self.run_workbook(root, "doctor", CUDA_HOME=self.bare_toolkit())
        self.assertEqual(after.returncode, 0, after.stdout)

    def test_only_tests_ask_for_it_and_run_goes_without(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim", CUDA_HOME=self.bare_toolkit(),
                                   **self.put_wheel("exit 0"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((root / ".workbook" / "venv").exists())

    def test_tests_run_without_it_after_a_word_of_warning(self):
        root = self.checkout()
        for pip, words in (({"PIP_NO_INDEX": "1"}, "pip could not install nvidia-cuda-nvdisasm"),
                           (self.put_wheel("exit 1"), "does not run")):
            result = self.run_workbook(root, "test", "4", CUDA_HOME=self.bare_toolkit(),
                                       PYTHONPATH=QUICK_VENV, **pip)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("has no nvdisasm, and it could not be installed", result.stderr)
            self.assertIn(words, result.stderr)
            self.assertIsNone(private_env.nvdisasm(root))


if __name__ == "__main__":
    unittest.main()
