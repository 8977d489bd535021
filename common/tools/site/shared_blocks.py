"""The larger blocks of recorded runs (PTX, contents of device memory): each is stored once, compressed.

Runs of a lab differ in a few numbers, and labs share their inputs. A block may also begin almost like a
shorter one: the same numbers, quantised with another scale. Then its file holds the difference, byte by
byte modulo 256, and what follows the shorter block's end as it is. `blocks.json` says of which block.
docs/site/simulator.js puts them together again.
"""

import collections
import gzip
import hashlib
import json
import math

INDEX, SUFFIX = "blocks.json", ".block.gz"
SMALLEST = 1024  # bytes; a smaller block stays in the file of its run
_SAMPLE = 4096  # bytes by which blocks are compared before any of them is compressed
_CANDIDATES = 3  # of these samples, the ones that are compressed
_WORTH = 0.8  # the sample's difference has at most this share of its own entropy


def packed(content):
    """The content compressed, without a time: equal contents give equal files."""
    return gzip.compress(content, 9, mtime=0)


class Blocks:
    """Collects the blocks of runs, then writes their files."""

    def __init__(self):
        self._known = {}

    def add(self, block):
        """Takes a block; returns its name."""
        name = hashlib.sha256(block).hexdigest()[:16]
        self._known[name] = block
        return name

    def write(self, folder):
        """Writes a file for each block, and the index: {name: of the block it is a difference from}."""
        for old in folder.glob(f"*{SUFFIX}"):
            old.unlink()
        parents, written = {}, []
        for name, block in sorted(self._known.items(), key=lambda item: (len(item[1]), item[0])):
            smallest = packed(block)
            for parent in _similar(block, written):
                difference = packed(_less(block, self._known[parent]))
                if len(difference) < len(smallest):
                    smallest, parents[name] = difference, parent
            (folder / (name + SUFFIX)).write_bytes(smallest)
            written.append((name, block[:_SAMPLE]))
        (folder / INDEX).write_text(json.dumps(parents, sort_keys=True), encoding="utf-8")


def _less(block, other):
    """The block less a shorter one that begins it."""
    return bytes(a - b & 255 for a, b in zip(block, other)) + block[len(other):]


def _similar(block, written):
    """The names of a few written blocks from which this one may differ little."""
    sample = block[:_SAMPLE]
    limit = _WORTH * _entropy(sample)
    if len(sample) < _SAMPLE or limit == 0:
        return []
    found = [(_entropy(_less(sample, other)), -at, name) for at, (name, other) in enumerate(written)
             if len(other) == _SAMPLE]
    return [name for entropy, _, name in sorted(found)[:_CANDIDATES] if entropy < limit]


def _entropy(content):
    """Bits per byte."""
    size = len(content)
    return -sum(count / size * math.log2(count / size)
                for count in collections.Counter(content).values())
