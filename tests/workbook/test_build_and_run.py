"""A whole small project: configure, build, run, test; and what a broken one shows."""

import re
import shutil
import unittest

from support import QUICK_VENV, ROOT, CheckoutTest, make_toolkit, write_script

from tools import build, private_env


class Run(CheckoutTest):
    def test_options_and_exit_status_get_through(self):
        root = self.checkout()
        first = self.run_workbook(root, "run", "5", "--sim", "--", "3", "--m", "-h")
        self.assertEqual(first.returncode, 3, first.stderr)
        self.assertEqual(first.stdout, "option 3\noption --m\noption -h\n")
        self.assertIn("in the simulator", first.stderr)

    def test_a_second_run_neither_configures_nor_builds(self):
        root = self.checkout()
        self.run_workbook(root, "run", "5", "--sim")
        stamps = self.stamps(root)
        second = self.run_workbook(root, "run", "5", "--sim")
        self.assertEqual(second.returncode, 0)
        self.assertNotIn("Configuring", second.stderr)
        self.assertNotIn("Building", second.stderr)
        self.assertEqual(self.stamps(root), stamps)

    def test_what_only_some_runs_need_is_built_for_them(self):
        root = self.checkout()
        observers = root / "build" / "sim" / "observers"
        for arguments, env, is_built in ((("run", "5", "--sim"), {}, False),
                                         (("run", "5", "--sim", "--seed", "3"), {}, False),
                                         (("run", "5", "--sim"), {"BW_SIM_CHECKS": "races"}, True),
                                         (("run", "5", "--sim", "--explore"), {}, True),
                                         (("timeline", "5"), {}, True)):
            result = self.run_workbook(root, *arguments, **env)
            self.assertNotIn("unknown target", result.stderr)
            self.assertEqual(observers.exists(), is_built, (arguments, env, result.stderr))
            if is_built:
                observers.unlink()

    def test_the_variables_that_request_the_observers_are_those_of_the_simulator(self):
        text = (ROOT / "common/simulator/session/equip.cpp").read_text(encoding="utf-8")
        asked = text[text.index("request_for_observers"):text.index("return nullptr;")]
        self.assertEqual(set(re.findall(r"\bBW_SIM_\w+", asked)), set(build.REQUESTS))

    def test_another_toolkit_configures_anew(self):
        root = self.checkout()
        self.run_workbook(root, "run", "5", "--sim")
        other = make_toolkit(self.folder / "other", release="13.1")
        self.run_workbook(root, "run", "5", "--sim", CUDA_HOME=other)
        cache = (root / "build/sim/CMakeCache.txt").read_text(encoding="utf-8")
        self.assertIn(f"={other}/bin/nvcc\n", cache)

    def test_a_checkout_that_was_moved_still_builds(self):
        root = self.checkout()
        self.run_workbook(root, "run", "5", "--sim")
        moved = root.rename(self.folder / "moved")
        result = self.run_workbook(moved, "run", "5", "--sim")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_many_schedules_end_with_the_first_that_fails(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim", "--schedules", "9", "--", "0", "seed=4")
        self.assertEqual(result.returncode, 70, result.stderr)
        self.assertEqual(result.stdout, "option 0\noption seed=4\nBW_SIM_SEED 4\nagain: with "
                                        "BW_SIM_SEED=4 BW_SIM_UNTIL_EVENT=0.3.1250 a run ...\n")
        self.assertIn("Seed 4 fails (exit status 70), number 5 of 9. Again: "
                      "./workbook run 5 --sim --seed 4 -- 0 seed=4", result.stderr)
        self.assertIn("What every role did right before that: ./workbook run 5 --sim --seed 4 "
                      "--until-event 0.3.1250 -- 0 seed=4", result.stderr)
        again = self.run_workbook(root, "run", "5", "--sim", "--seed", "4", "--", "0", "seed=4")
        self.assertEqual((again.returncode, again.stdout), (70, result.stdout))
        later = self.run_workbook(root, "run", "5", "--sim", "--schedules", "9", "--seed", "5", "--",
                                  "0", "seed=4")
        self.assertEqual((later.returncode, later.stdout), (0, ""))
        self.assertIn("9 schedules, seeds 5 to 13: none fails.", later.stderr)

    def test_a_schedule_can_be_ended_and_explored(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim", "--seed", "7", "--until", "300",
                                   "--explore", "--", "0")
        self.assertEqual(result.stdout, "option 0\nBW_SIM_SEED 7\nBW_SIM_CYCLE_LIMIT 300\n"
                                        "BW_SIM_EXPLORE 1000000\n")

        result = self.run_workbook(root, "run", "5", "--sim", "--explore-lanes", "--", "0")
        self.assertEqual(result.stdout, "option 0\nBW_SIM_EXPLORE 1000000\nBW_SIM_EXPLORE_LANES 1\n")

        result = self.run_workbook(root, "run", "5", "--sim", "--until-event", "0.3.1250", "--", "0")
        self.assertEqual(result.stdout, "option 0\nBW_SIM_UNTIL_EVENT 0.3.1250\n")

    def test_bad_schedules_are_refused(self):
        root = self.checkout()
        for event in ("12", "0.1", "0.1.0", "0.1.x", "-1.0.1"):
            result = self.run_workbook(root, "run", "5", "--sim", f"--until-event={event}")
            self.assertEqual(result.returncode, 2, event)
            self.assertIn("is not an event", " ".join(result.stderr.split()))
        for option, value in (("--schedules", "0"), ("--schedules", "many"), ("--seed", "-1"),
                              ("--until", "0"), ("--explore", "x")):
            result = self.run_workbook(root, "run", "5", "--sim", option, value)
            self.assertEqual(result.returncode, 2, option)
            self.assertIn("is not a number from", " ".join(result.stderr.split()))
        result = self.run_workbook(root, "run", "1.1", "--schedules", "3")
        self.assertEqual(result.returncode, 2, result.stderr)

    def stamps(self, root):
        return {path.name: path.stat().st_mtime_ns
                for path in (root / "build/sim/build.ninja",
                             root / "build/sim/bin/05_blockwise_fp8_gemm")}


class BrokenBuild(CheckoutTest):
    def test_the_compilers_error_is_shown_and_no_traceback(self):
        root = self.checkout()
        good = self.program.read_text(encoding="utf-8")
        self.program.write_text("int main() { return no_such_name; }\n", encoding="utf-8")
        result = self.run_workbook(root, "run", "5", "--sim")
        self.assert_clear_error(result, "The build failed", "no_such_name", "main.cpp:1",
                                "workbook-build.log")
        self.program.write_text(good, encoding="utf-8")
        self.assertEqual(self.run_workbook(root, "run", "5", "--sim").returncode, 0)

    def test_cmakes_error_is_shown(self):
        root = self.checkout()
        (root / "CMakeLists.txt").write_text("message(FATAL_ERROR \"zstd was not found\")\n",
                                             encoding="utf-8")
        result = self.run_workbook(root, "run", "5", "--sim")
        self.assert_clear_error(result, "could not configure", "zstd was not found")


class Test(CheckoutTest):
    def names(self, *arguments):
        result = self.run_workbook(self.root, "test", *arguments, "--", "--show-only")
        self.assertEqual(result.returncode, 0, result.stderr)
        return {line.split(": ")[1] for line in result.stdout.splitlines() if "Test #" in line}

    def test_selection_by_chapter_and_slowness(self):
        self.root = self.checkout()
        self.assertEqual(self.names(), {"five", "four", "unit"})
        self.assertEqual(self.names("5"), {"five"})
        self.assertEqual(self.names("05", "--all"), {"five", "never"})
        self.assertEqual(self.names("--all"), {"five", "four", "never", "unit"})

    def test_sanitized_tests_are_the_simulators_in_a_build_of_their_own(self):
        self.root = self.checkout()
        self.assertEqual(self.names("--sanitize"), {"unit"})
        result = self.run_workbook(self.root, "test", "--sanitize", "--", "--verbose")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("option sanitized=address,undefined", result.stdout)
        self.assertTrue((self.root / "build/sim-sanitize/bin/05_blockwise_fp8_gemm").exists())
        self.assertFalse((self.root / "build/sim").exists())
        self.assert_clear_error(self.run_workbook(self.root, "test", "5", "--sanitize"),
                                "not those of a chapter", code=2)

    def test_a_failed_test_fails_the_command_and_none_at_all_too(self):
        root = self.checkout()
        self.assertEqual(self.run_workbook(root, "test").returncode, 0)
        failed = self.run_workbook(root, "test", "--all")
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("never", failed.stdout)
        self.assertNotEqual(self.run_workbook(root, "test", "1").returncode, 0)


class MissingTools(CheckoutTest):
    def path_without(self, *hidden):
        """A PATH with everything of /usr/bin but the hidden tools."""
        tools = self.folder / "path"
        tools.mkdir()
        for name in ("cmake", "ctest", "ninja", "g++", "c++", "gcc", "cc", "as", "ld", "ar",
                     "ranlib", "sh", "uname"):
            found = shutil.which(name)
            if found and name not in hidden:
                (tools / name).symlink_to(found)
        return tools

    def test_no_apt_get_and_no_ninja(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim", PATH=self.path_without("ninja"))
        self.assert_clear_error(result, "ninja-build", "no apt-get")

    def test_no_compiler(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim",
                                   PATH=self.path_without("g++", "c++", "gcc", "cc"))
        self.assert_clear_error(result, "g++", "no apt-get")

    def test_an_old_cmake_and_no_network_for_a_newer_one(self):
        root = self.checkout()
        tools = self.path_without("cmake")
        write_script(tools / "cmake", "echo cmake version 3.16.3\n")
        result = self.run_workbook(root, "run", "5", "--sim", PATH=tools, PIP_NO_INDEX="1",
                                   PIP_FIND_LINKS=str(self.folder), PYTHONPATH=QUICK_VENV)
        self.assert_clear_error(result, "pip could not install cmake==3.31")
        doctor = self.run_workbook(root, "doctor", PATH=tools)
        self.assertIn("CMake 3.24 or newer", doctor.stdout)

    def test_a_toolkit_that_cannot_be_fetched(self):
        root = self.checkout()
        result = self.run_workbook(root, "run", "5", "--sim", BW_TOOLKIT_IGNORE_SYSTEM="1",
                                   PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder),
                                   PYTHONPATH=QUICK_VENV)
        compiler = private_env.TOOLKITS["wheels"][private_env.TOOLKITS["pinned"]][0]
        self.assert_clear_error(result, f"pip could not install {compiler}", "set CUDA_HOME")
        self.assertFalse(private_env.is_complete(root))

    def test_nothing_is_fetched_where_nothing_is_missing(self):
        root = self.checkout()
        tools = self.path_without()
        for name in ("apt-get", "sudo", "pip", "pip3", "curl", "wget"):
            write_script(tools / name, f"touch {self.folder}/fetched\nexit 1\n")
        result = self.run_workbook(root, "run", "5", "--sim", PATH=tools)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.folder / "fetched").exists())
        self.assertFalse((root / ".workbook" / "venv").exists())


if __name__ == "__main__":
    unittest.main()
