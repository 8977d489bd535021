"""The tool that changes solutions systematically: what it changes, and that it changes nothing else."""

import io
import unittest
from contextlib import redirect_stdout
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (puts common/ on the path)
from support import ROOT

from tools import answer_mutants, api, regions
from tools.verdict import FAILED, PASSED, Verdict

REGION = """\
  auto stage = ring.consume_explicit();
  if (ptx::elect_one()) {
    multiply(a, b, k > 0);
    commit(stage.mbar());
  }
  __syncwarp();
  ring.consumer_step();"""


def changed(text):
    """{what: text without blanks} of a text's mutants."""
    return {one.what: "".join(one.text.split()) for one in answer_mutants.mutants(text)}


class Mutants(unittest.TestCase):
    def test_statements_are_left_out_and_swapped_where_they_stand(self):
        found = changed(REGION)
        bare = "".join(REGION.split())
        self.assertEqual(found["left out: commit(stage.mbar());"],
                         bare.replace("commit(stage.mbar());", ""))
        self.assertEqual(found["swapped: multiply(a, b, k > 0); commit(stage.mbar());"], bare.replace(
            "multiply(a,b,k>0);commit(stage.mbar());", "commit(stage.mbar());multiply(a,b,k>0);"))
        self.assertEqual(found["swapped: __syncwarp(); ring.consumer_step();"], bare.replace(
            "__syncwarp();ring.consumer_step();", "ring.consumer_step();__syncwarp();"))
        # A declaration stays where it is: without it nothing compiles.
        self.assertFalse([what for what in found if "out: auto" in what])

    def test_guards_go_and_come(self):
        found = changed("if (ptx::elect_one()) arrive();\nstep();")
        self.assertEqual(found["unguarded: if (ptx::elect_one()) arrive();"], "arrive();step();")
        self.assertEqual(found["one lane: step();"],
                         "if(ptx::elect_one())arrive();if(ptx::elect_one())step();")
        self.assertEqual(found["left out: arrive();"], "if(ptx::elect_one()){}step();")
        self.assertEqual(found["the elected lane is thread 0"], "if(threadIdx.x==0)arrive();step();")
        self.assertNotIn("one lane: arrive();", found)

    def test_words_numbers_and_operators_change_one_at_a_time(self):
        found = changed("if (++stage == n) {\n  x = full[index] + 1;\n}")
        for what, text in (("empty for full", "if(++stage==n){x=empty[index]+1;}"),
                           ("index 0 for the stage's", "if(++stage==n){x=full[0]+1;}"),
                           ("another stage's index", "if(++stage==n){x=full[index^1]+1;}"),
                           ("- for +", "if(++stage==n){x=full[index]-1;}"),
                           ("0 for 1", "if(++stage==n){x=full[index]+0;}"),
                           ("!= for ==", "if(++stage!=n){x=full[index]+1;}"),
                           ("phase for stage", "if(++phase==n){x=full[index]+1;}")):
            self.assertEqual(found[what], text)

    def test_loops_and_their_pragmas_are_one_statement(self):
        text = "#pragma unroll\nfor (int i = 0; i < 4; ++i) use(i);\ndo {\n  ask();\n} while (more());"
        begins = [text[one.begin:one.end].split("(")[0] for one in answer_mutants.statements(text)]
        self.assertEqual(begins, ["use", "#pragma unroll\nfor ", "ask", "do {\n  ask"])

    def test_statements_of_a_functions_body(self):
        text = "__device__ Scope(Ring& r) : ring(r) { wait(); fence(); }\n~Scope() { if (a) step(); }"
        found = changed(text)
        for what in ("left out: wait();", "swapped: wait(); fence();", "unguarded: if (a) step();"):
            self.assertIn(what, found)
        lambdas = "const auto f = [&](int i) { g(i); };\nf(1);"
        self.assertEqual(len(answer_mutants.statements(lambdas)), 2)

    def test_every_solution_has_mutants_that_a_region_may_hold(self):
        for exercise in (one for one in api.load_all(ROOT) if one.is_in_code):
            text = "\n".join(exercise.region.body)
            found = answer_mutants.mutants(text)
            self.assertTrue(found, exercise.id)
            for mutant in found:
                self.assertIsNone(regions.unbalanced(mutant.text), (exercise.id, mutant))
                self.assertNotEqual("".join(mutant.text.split()), "".join(text.split()))

    def test_what_a_text_is_taken_for(self):
        known = SimpleNamespace(
            wrong=(SimpleNamespace(name="no step", code=r"\A(?![\s\S]*step)", output=""),
                   SimpleNamespace(name="hangs", code="commit", output="deadlock"),
                   SimpleNamespace(name="only its output tells", code="", output="WRONG")),
            remarks=(SimpleNamespace(name="no barrier", code=r"\A(?![\s\S]*__syncwarp)", output=""),))
        self.assertEqual(answer_mutants.fitting(known, "commit(full);  // then step, __syncwarp"),
                         ["no step", "hangs, with its output", "no barrier"])
        self.assertEqual(answer_mutants.fitting(known, "__syncwarp();\nstep();"), [])

    def test_what_is_said_and_the_status(self):
        right = Verdict("3.3", PASSED, "", "", "")
        wrong = Verdict("3.3", FAILED, "", "WRONG", "Step, too.", wrong="no step")
        self.assertIn("PASSES", answer_mutants.outcome(right))
        self.assertIn("explained as 'no step'", answer_mutants.outcome(wrong))
        for verdict, status in ((right, 1), (wrong, 0)):
            with mock.patch.object(answer_mutants, "tools_of"), redirect_stdout(io.StringIO()), \
                    mock.patch.object(answer_mutants.check, "check_answer", return_value=verdict):
                self.assertEqual(answer_mutants.main(["3.3"]), status)


if __name__ == "__main__":
    unittest.main()
