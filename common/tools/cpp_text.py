"""C++ text as a compiler reads it: lines are spliced, then tokens are made.

nvcc preprocesses device code with g++, and its own front end reads the result as C++ text again, with
directives: a `%:` that a macro has put together there is one. tokens() splits a text in the way that
both compilers agree on; oddity() refuses whatever one of them might read differently, or might take
for a directive. Only these can open a file. Nothing of a region is assembled for the host, and PTX in
an `asm` statement has no directive that reads a file: ptxas refuses .include and .incbin, and of the
lines with `#` it knows only `#line`.
"""

import bisect
import re
from typing import NamedTuple

# The end of a line that goes on in the next one. GCC accepts blanks between the two characters.
_SPLICE = re.compile(r"\\[ \t\v\f]*\n")
_WORD = r"(?:[A-Za-z_$]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*"
_TOKEN = re.compile(rf"""
    (?P<space>[ \t\v\f\n]+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*.*)
  | (?P<trigraph>\?\?[=/'()!<>-])
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>\w{{0,16}})\([^\n]*?\)(?P=delimiter)")
  | (?P<open_raw>(?:u8|[uUL])?R"[^\n]*)
  | (?P<string>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<open_string>(?:u8|[uUL])?["'][^\n]*)
  | (?P<number>\.?[0-9](?:[eEpP][-+]|'?\w|\.)*)
  | (?P<word>{_WORD})
  | (?P<digraph><%|%>|%:|:>|<:(?!:)|<::[:>])
  | (?P<other>.)
""", re.X | re.S | re.A)
_DIGRAPHS = {"<%": "{", "%>": "}", "%:": "#", "<:": "[", ":>": "]"}
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_ENDS_WITH_TRIGRAPH = re.compile(r"\?\?/(?=[ \t\v\f]*\Z)")  # of a backslash
_TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~"))
_CONTROL = re.compile(r"[\x00-\x08\x0d-\x1f\x7f]")
# Names of the preprocessor, and macros of the system's headers. Some of those paste their arguments,
# which can make a digraph, open or close a block, read the clock or look for a file.
_OF_PREPROCESSOR = re.compile(r"__?[A-Z]\w*|__has_\w+|__pragma|__g(?:libc|thr)\w+|pthread_\w+", re.A)
_DIRECTIVE = re.compile(r"#[ \t]*(pragma[ \t]+\w+|\w*)", re.A)
_UNROLL = re.compile(r"#[ \t]*pragma[ \t]+(?:no)?unroll(?![\w$])", re.A)
_TOKENS_OF_UNROLL = 6  # with the white space between them, and what comes next
_QUOTED = ("string", "raw")


class Token(NamedTuple):
    """A token, white space or a comment. `text` is spliced; `start` and `end` are offsets in the text as
    it was given, `line` is the number of its first line, from 0."""

    kind: str
    text: str
    start: int
    end: int
    line: int
    is_first: bool  # nothing but white space comes before it in its line

    @property
    def is_spliced(self):
        """Whether it goes on after the end of a line that is joined with the next one."""
        return self.end - self.start != len(self.text)


def tokens(text):
    """The Tokens of a text, which together hold all of it but the splices."""
    parts, cuts, at = [], [(0, 0)], 0  # cuts: (offset in the spliced text, characters removed before it)
    for splice in _SPLICE.finditer(text):
        parts.append(text[at:splice.start()])
        removed = cuts[-1][1]
        cuts.append((splice.start() - removed, removed + splice.end() - splice.start()))
        at = splice.end()
    places = [place for place, _ in cuts]
    ends = [match.start() for match in re.finditer("\n", text)]
    is_first = True
    for match in _TOKEN.finditer("".join(parts) + text[at:]):
        # Splices right before a token and right after it are outside of it.
        start = match.start() + cuts[bisect.bisect_right(places, match.start()) - 1][1]
        end = match.end() + cuts[bisect.bisect_left(places, match.end()) - 1][1]
        line = bisect.bisect_left(ends, start)
        yield Token(match.lastgroup, match.group(), start, end, line, is_first)
        is_first = match.lastgroup == "space" and (is_first or "\n" in match.group())


def without_comments(text):
    """C++ text with comments replaced by a space each and line ends kept."""
    kept, at = [], 0
    for token in tokens(text):
        own = text[token.start:token.end]
        kept += [text[at:token.start], " " + "\n" * own.count("\n") if token.kind == "comment" else own]
        at = token.end
    return "".join(kept) + text[at:]


def oddity(text):
    """(line from 0, sentence) for the first part of `text` that is not a plain token, comment or
    `#pragma unroll`; else None."""
    control = _CONTROL.search(text)
    if control:
        return text.count("\n", 0, control.start()), (
            f"the character U+{ord(control.group()):04X} is not allowed in a program. Delete it.")
    found = list(tokens(text))
    return _directive(found) or next(
        ((token.line, sentence) for before, token in zip([None, *found], found)
         for sentence in [_oddity(token, before)] if sentence), None)


def _directive(found):
    for index, token in enumerate(found):
        if token.text != "#":
            continue
        words = "".join(one.text for one in found[index:index + _TOKENS_OF_UNROLL])
        if not (token.is_first and _UNROLL.match(words)):
            return token.line, (f"`#{_DIRECTIVE.match(words)[1]}` is not allowed between the marks, "
                                "where only statements and `#pragma unroll` are.")
    return None


def _oddity(token, before):
    """What is wrong with a token that comes right after `before`, or ""."""
    kind, text = token.kind, token.text
    if kind == "open_comment":
        return "a comment begins here (`/*`) and never ends."
    if kind == "open_string":
        return "a string begins here and never ends."
    if kind == "open_raw" or kind == "raw" and (token.is_spliced or "\\" in text):
        return ("a raw string begins here that does not end in this line, or has a backslash in it, or "
                "more than letters and digits before its `(`. Write an ordinary string.")
    if kind in _QUOTED and before and before.kind in ("word", "number"):
        return f"`{before.text}` is right before a quote. Put a space between them."
    if before and before.kind in _QUOTED and (kind in ("word", "number")
                                              or kind in _QUOTED and text[0] not in "\"'"):
        return "a letter or a digit is right after a quote. Put a space between them."
    trigraph = (_ENDS_WITH_TRIGRAPH if kind == "comment" else _TRIGRAPH).search(text)
    if trigraph:
        return _old(trigraph.group(), _TRIGRAPHS[trigraph.group()[-1]])
    if kind == "digraph":
        return _old(text[:2], _DIGRAPHS[text[:2]])
    if kind == "word" and _OF_PREPROCESSOR.fullmatch(text):
        return (f"`{text}` is not allowed between the marks: it is a name of the preprocessor or of "
                "macros in the system's headers.")
    if kind == "word" and not text.replace("$", "_").isidentifier():
        strange = next((one for one in text if not f"_{one}".isidentifier() and one != "$"), text[0])
        return f"the character U+{ord(strange):04X} is not allowed in a name. Delete it."
    if text == "\\":
        return "a backslash is outside of a string here."
    return ""


def _old(spelling, character):
    return f"`{spelling}` is an old spelling of `{character}`. Write that."
