"""What a check says of systematically changed solutions:

    python3 -m tools.answer_mutants 3.1 ...    (with common/ on PYTHONPATH; the programs are built)

Each mutant is the solution's lines with one change: a statement left out, two statements in the other
order, a guard gone or added, another barrier, index, scope, parity, count or operator. Mutants that the
exercise keeps as wrong answers are left out. Of the others the tool prints what the check says, so that
an author sees which pass unremarked, which get no explanation, and whose explanation does not fit.
--by-text runs nothing: it prints which kept answers each mutant would be taken for by its text.

The exit status is 1 if a mutant passes without a remark.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from . import api, check, cpp_text, exercises, regions
from .errors import WorkbookError
from .try_exercise import tools_of
from .verdict import BROKEN, PASSED

_CONTROL = ("if", "for", "while", "switch")
_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")
# Words that are easily taken for each other: one occurrence at a time, in both directions.
_PAIRS = (("producer_step", "consumer_step"), ("producer_mbar", "consumer_mbar"),
          ("wait_producer", "wait_consumer"), ("produce", "consume"), ("row", "column"), ("a", "b"),
          ("full", "empty"), ("first", "second"), ("scale_first", "scale_second"), ("kM", "kN"),
          ("a_tile", "b_tile"), ("kStrideBytes", "kLeadingBytes"), ("kCoreRows", "kCoreRowBytes"),
          ("kRowBytes", "kMmaBytes"), ("true", "false"), ("k", "k_block"), ("stage", "phase"),
          ("kABytes", "kBBytes"), ("kWarpsPerTmem", "kLanesPerWarp"), ("rank_m", "rank_n"),
          ("begin", "end"), ("share", "origin"), ("quotient", "divisor"),
          ("producer_stage", "consumer_stage"), ("input", "accumulators"))
# One spelling for another, in one direction: (pattern, replacement, what it changes).
_TEXTS = ((r"ptx::elect_one\(\)", "threadIdx.x == 0", "the elected lane is thread 0"),
          (r"template wait_for_pair<\w+>\(", "wait(", "a wait of CTA scope"),
          (r"<(?:CtaGroup|opc\.cta_group|Config::kCtaGroup)>", "<1>", "one CTA for the group's"),
          (r"consume_explicit\(\)", "consume()", "every lane arrives"),
          (r"_read<", "<", "a wait for the destination"),
          (r"(?<=[\[(])(?:[\w.]+->)*[\w.]*index\(\)(?=[\])])", "0", "index 0 for the stage's"),
          (r"(?<=[\[(])(?:input_stage_)?(?:index|stage)(?=[\])])", "0", "index 0 for the stage's"),
          (r"(?<=\[)(?:input_stage_)?(?:index|stage)(?=\])", r"\g<0> ^ 1", "another stage's index"))
_OPERATORS = {"+": "-", "-": "+", "/": "%", "%": "/", "<": "<=", ">": ">=", "==": "!=", "||": "&&",
              "<<": ">>", ">=": ">", "^": "|", "|": "^", "*": "+"}
_OPERATOR = re.compile(r"(?<=\s)(?:<<|>=|==|\|\||[-+/%<>*^|])(?=\s)")


@dataclass(frozen=True)
class Mutant:
    """Changed lines, and what was changed."""

    what: str
    text: str


@dataclass(frozen=True)
class Statement:
    """Offsets of a statement; `body` is where the statement that an `if` guards begins, or -1;
    `block` numbers the block that holds it."""

    begin: int
    end: int
    body: int
    block: int
    is_declaration: bool


def statements(text):
    """The Statements of a region, those inside of others included."""
    found = []
    tokens = [token for token in cpp_text.tokens(text) if token.kind not in ("space", "comment")]
    _block(text, tokens, 0, len(tokens), 0, found)
    return found


def _block(text, tokens, at, end, number, found):
    """Adds the statements of tokens[at:end], one block."""
    while at < end:
        at = _statement(text, tokens, at, number, found)


def _statement(text, tokens, at, number, found):
    """Adds the statement at a token and those in it; the index after it."""
    first = at
    while tokens[at].text == "#":  # a pragma belongs to the loop below it
        line = tokens[at].line
        while tokens[at].line == line:
            at += 1
    body, word = -1, tokens[at].text
    if word == "{":
        end = _after_bracket(tokens, at)
        _block(text, tokens, at + 1, end - 1, tokens[at].start + 1, found)
        return end
    if word in _CONTROL:
        at += 1 + (tokens[at + 1].text == "constexpr")
        at = _after_bracket(tokens, at)
        body = tokens[at].start if word == "if" else -1
        at = _statement(text, tokens, at, -1 - tokens[at].start, found)
        if at < len(tokens) and tokens[at].text == "else":
            body = -1
            at = _statement(text, tokens, at + 1, -1 - tokens[at].start, found)
    elif word == "do":
        at = _statement(text, tokens, at + 1, -1 - tokens[at].start, found)
        at = _after_bracket(tokens, at + 1) + 1
    else:
        while tokens[at].text != ";":
            after = _after_bracket(tokens, at) if tokens[at].text in _OPEN else at + 1
            if _is_function_body(tokens, at, after):
                _block(text, tokens, at + 1, after - 1, tokens[at].start + 1, found)
                return after
            at = after
        at += 1
    own = text[tokens[first].start:tokens[at - 1].end]
    is_declaration = bool(re.match(r"(?:const|constexpr|auto|float|uint32_t|WorkTile)\b", own))
    found.append(Statement(tokens[first].start, tokens[at - 1].end, body, number, is_declaration))
    return at


def _is_function_body(tokens, at, after):
    """Whether tokens[at:after] is the body of a function that is defined here, and not a lambda's."""
    return (tokens[at].text == "{" and tokens[at - 1].text == ")"
            and (after == len(tokens) or tokens[after].text not in (";", ")", ",")))


def _after_bracket(tokens, at):
    """The index after the bracket that closes the one at `at`."""
    depth = 0
    while True:
        depth += (tokens[at].text in _OPEN) - (tokens[at].text in _CLOSE)
        at += 1
        if not depth:
            return at


def mutants(text):
    """The Mutants of a region's text, each different text once."""
    found, seen = [], {_bare(text), ""}
    for mutant in (*_of_statements(text), *_of_words(text), *_of_operators(text)):
        bare = _bare(mutant.text)
        if bare not in seen and cpp_text.oddity(mutant.text) is None:
            seen.add(bare)
            found.append(mutant)
    return found


def _bare(text):
    return re.sub(r"\s+", "", cpp_text.without_comments(text))


def _of_statements(text):
    every = statements(text)
    for one in every:
        own = text[one.begin:one.end]
        shown = " ".join(own.split())[:60]
        if not one.is_declaration:
            empty = "{}" if one.block < 0 else ""
            yield Mutant(f"left out: {shown}", text[:one.begin] + empty + text[one.end:])
            is_guarded = any(other.begin < one.begin and one.end <= other.end
                             and "elect_one" in text[other.begin:one.begin] for other in every)
            if not is_guarded and not re.match(r"#|if|for|while|do|return", own):
                yield Mutant(f"one lane: {shown}",
                             f"{text[:one.begin]}if (ptx::elect_one()) {own}{text[one.end:]}")
        if one.body >= 0:
            yield Mutant(f"unguarded: {shown}", text[:one.begin] + text[one.body:])
    for one, other in zip(every, every[1:]):
        if one.block == other.block and not (one.is_declaration or other.is_declaration):
            yield Mutant(f"swapped: {' '.join(text[one.begin:other.end].split())[:60]}",
                         text[:one.begin] + text[other.begin:other.end] + text[one.end:other.begin]
                         + text[one.begin:one.end] + text[other.end:])


def _of_words(text):
    for pair in _PAIRS:
        for word, other in (pair, pair[::-1]):
            for match in re.finditer(rf"\b{word}\b(?!_)", text):
                yield Mutant(f"{other} for {word}", text[:match.start()] + other + text[match.end():])
    for pattern, replacement, what in _TEXTS:
        for match in re.finditer(pattern, text):
            yield Mutant(what, text[:match.start()] + match.expand(replacement) + text[match.end():])


def _of_operators(text):
    for match in _OPERATOR.finditer(text):
        other = _OPERATORS[match.group()]
        yield Mutant(f"{other} for {match.group()}", text[:match.start()] + other + text[match.end():])
    for match in re.finditer(r"(?<![\w.<])\d+(?![\w.])", text):
        other = {"0": "1", "1": "0"}.get(match.group(), "1")
        yield Mutant(f"{other} for {match.group()}", text[:match.start()] + other + text[match.end():])


def kept(exercise):
    """The exercise's kept answers, without blanks and comments."""
    return {_bare(one.answer) for one in (*exercise.wrong, *exercise.remarks)}


def fitting(exercise, text):
    """The names of the kept answers that a text is taken for, the first one first, by their `code`."""
    code = regions.without_comments(text)
    return [one.name + (", with its output" if one.output else "")
            for one in (*exercise.wrong, *exercise.remarks)
            if one.code and re.search(one.code, code, re.M)]


def outcome(verdict):
    """In one line what the check says."""
    if verdict.status == PASSED:
        return f"right, but: {verdict.remark}" if verdict.remark else "PASSES UNREMARKED"
    if verdict.status == BROKEN:
        return "does not compile"
    if verdict.explanation:
        return f"explained as '{verdict.wrong}': {verdict.explanation}"
    return f"NO EXPLANATION: {verdict.found} {' '.join(' '.join(verdict.report).split())[:300]}"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m tools.answer_mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+", help="1.3, or 1 for a chapter")
    parser.add_argument("--list", action="store_true", help="the mutants, without checking them")
    parser.add_argument("--by-text", action="store_true", help="what they would be taken for, without "
                        "checking them")
    parser.add_argument("--json", type=Path, help="also write them to this file, a line each")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    unremarked = 0
    try:
        known = [one for one in api.load_all(chosen.root) if one.is_in_code]
        wanted = [one for one in known if one.id in chosen.ids or str(one.number[0]) in chosen.ids]
        if not wanted:
            exercises.find(known, chosen.ids[0])
        is_checked = not (chosen.list or chosen.by_text)
        tools = tools_of(chosen.root) if is_checked else None
        for exercise in wanted:
            print(f"{exercise.id} {exercise.title}", flush=True)
            for mutant in mutants("\n".join(exercise.region.body)):
                if _bare(mutant.text) in kept(exercise):
                    continue
                said = "; ".join(fitting(exercise, mutant.text)) if chosen.by_text else ""
                if is_checked:
                    said = outcome(check.check_answer(chosen.root, exercise, tools,
                                                      mutant.text.split("\n")))
                    unremarked += said.startswith("PASSES")
                print(f"  {mutant.what}\n    {said}" if said else f"  {mutant.what}", flush=True)
                if chosen.json:
                    with open(chosen.json, "a", encoding="utf-8") as out:
                        out.write(json.dumps({"id": exercise.id, "what": mutant.what, "said": said,
                                              "text": mutant.text}) + "\n")
    except WorkbookError as error:
        print(f"{error.details}\nerror: {error}", file=sys.stderr)
        return 1
    return 1 if unremarked else 0


if __name__ == "__main__":
    sys.exit(main())
