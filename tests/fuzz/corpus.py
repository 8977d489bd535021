"""Packs a folder of fuzz inputs into one file of text, and unpacks it:

    corpus.py unpack FILE FOLDER     a file for each input, as libFuzzer reads and writes them
    corpus.py pack FOLDER FILE       the other way

The first line of FILE says how many inputs follow. Each other line is an input between quotes, where a
backslash, a quote and whatever is not printable ASCII are written as \\\\, \\", \\n, \\t or \\xNN. An
input has the name that libFuzzer would give it, the SHA-1 of its bytes, unless a name and a blank
precede it.
"""

import hashlib
import re
import sys
from pathlib import Path

_HEAD = re.compile(r"(\d+) inputs?\b.*")
_LINE = re.compile(r'(?:(?P<name>[\w.-]+) )?"(?P<text>(?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)")
_SIMPLE = {"\\": "\\", '"': '"', "n": "\n", "t": "\t"}


class CorpusError(Exception):
    """A file of inputs that can't be read; the message begins with file:line."""


def name_of(data):
    """libFuzzer's name of an input."""
    return hashlib.sha1(data).hexdigest()


def escaped(data):
    """An input as text of one line, without quotes."""
    backwards = {ord(meaning): "\\" + letter for letter, meaning in _SIMPLE.items()}
    return "".join(backwards.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")
                   for byte in data)


def _unescaped(text, place):
    def meaning(match):
        word = match.group(1)
        if len(word) == 3:
            return chr(int(word[1:], 16))
        if word not in _SIMPLE:
            raise CorpusError(f"{place}: `\\{word}` is no escape: \\\\, \\\", \\n, \\t and \\xNN are.")
        return _SIMPLE[word]
    return _ESCAPE.sub(meaning, text).encode("latin-1")


def parse(text, path):
    """{name: bytes} of a file of inputs, in its order."""
    lines = text.split("\n")
    head = _HEAD.fullmatch(lines[0])
    if not head or lines[-1] != "":
        raise CorpusError(f"{path}:1: a file of inputs begins with `N inputs` and ends with the end of "
                          "a line.")
    found = {}
    for number, line in enumerate(lines[1:-1], 2):
        match = _LINE.fullmatch(line)
        if not match or not line.isascii():
            raise CorpusError(f"{path}:{number}: an input is a line of ASCII between quotes, or a name, "
                              "a blank and that.")
        data = _unescaped(match["text"], f"{path}:{number}")
        name = match["name"] or name_of(data)
        if name in found:
            raise CorpusError(f"{path}:{number}: the input {name} is in the file already.")
        found[name] = data
    if len(found) != int(head.group(1)):
        raise CorpusError(f"{path}:1: it announces {head.group(1)} inputs and holds {len(found)}; "
                          "pack it again if that is meant.")
    return found


def render(inputs):
    """The file's text for {name: bytes}."""
    lines = [f"{len(inputs)} inputs (tests/fuzz/README.md)"]
    for name, data in sorted(inputs.items()):
        lines.append(("" if name == name_of(data) else f"{name} ") + f'"{escaped(data)}"')
    return "\n".join(lines) + "\n"


def unpack(file, folder):
    """A file for each input of `file`; other files of the folder stay."""
    inputs = parse(file.read_text(encoding="utf-8"), file)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs.items():
        (folder / name).write_bytes(data)


def pack(folder, file):
    """Writes the files of a folder into `file`."""
    if not folder.is_dir():
        raise CorpusError(f"{folder} is no folder of inputs.")
    inputs = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in inputs:
        if not re.fullmatch(r"[\w.-]+", name):
            raise CorpusError(f"{folder}/{name}: a name has letters, digits, _, - and dots.")
    file.write_text(render(inputs), encoding="utf-8")


def main(words):
    if len(words) != 3 or words[0] not in ("pack", "unpack"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        (pack if words[0] == "pack" else unpack)(Path(words[1]), Path(words[2]))
    except (CorpusError, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
