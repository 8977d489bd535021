"""Finding a CUDA Toolkit: order of places, age, completeness, the private environment."""

import json
import unittest

from support import CheckoutTest, make_toolkit

from tools import private_env, toolkit


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
                         [(old / "bin" / "nvcc", "it is release 12.9")])

    def test_an_incomplete_toolkit_is_passed_over_with_the_part_it_lacks(self):
        for part, words in (("bin/ptxas", "ptxas"), ("nvvm/bin/cicc", "cicc"),
                            ("include/cuda_runtime.h", "runtime's headers"),
                            ("include/crt/host_config.h", "crt headers"),
                            ("include/cccl/cuda/std/cstdint", "cccl")):
            folder = make_toolkit(self.folder / part.replace("/", "_"), without=(part,))
            _, rejected = self.find(CUDA_HOME=str(folder))
            self.assertIn(words, rejected[0].reason)

    def test_an_nvcc_that_does_not_run_is_passed_over(self):
        folder = make_toolkit(self.folder / "broken")
        (folder / "bin" / "nvcc").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        _, rejected = self.find(CUDA_HOME=str(folder))
        self.assertEqual(rejected[0].reason, "it does not run")

    def test_system_toolkits_can_be_left_aside(self):
        folder = make_toolkit(self.folder / "a")
        found, rejected = self.find(CUDA_HOME=str(folder), BW_TOOLKIT_IGNORE_SYSTEM="1")
        self.assertEqual((found, rejected), (None, []))


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
        self.install(pin.replace("13.0", "13.9") for pin in private_env.TOOLKIT_PINS)
        self.assertIsNone(self.find())

    def test_every_pin_is_exact_and_of_one_release_line(self):
        for pin in private_env.TOOLKIT_PINS:
            self.assertRegex(pin, r"^[a-z-]+==13\.0\.\d+$")


if __name__ == "__main__":
    unittest.main()
