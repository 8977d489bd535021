"""Two runs of `./workbook timeline --against`: their ratio, and what else differs than was named."""

import shlex

_LABEL = 60  # characters


def label(options):
    """A run's name: its options."""
    return " ".join(options) or "default options"


def headline(first, second):
    """One sentence about two runs, each (options, Launch)."""
    names = [_short(label(options)) for options, _ in (first, second)]
    launches = [launch for _, launch in (first, second)]
    unended = [name for name, launch in zip(names, launches) if launch.status != "finished"]
    if unended or not launches[0].cycles:
        return f"No ratio: {' and '.join(unended) or names[0]} did not run to its end."
    cycles = [launch.cycles for launch in launches]
    return (f"{cycles[1] / cycles[0]:.2f} x the cycles: {cycles[1]:,} with {names[1]}, "
            f"{cycles[0]:,} with {names[0]}.")


def warnings(first, second):
    """Sentences about options in which the runs differ although the second one names them not."""
    given, named = _by_name(first), _by_name(second)
    beyond = {name: value for name, value in given.items() if name not in named}
    if not beyond:
        return []
    changed = [name for name in named if named[name] != given.get(name)]
    more = f"in more than {_listed(changed)}" if changed else "in options that --against does not name"
    kept = [word for name, value in beyond.items() for word in (name, *value)]
    repeated = " ".join(map(shlex.quote, [*second, *kept]))
    return [f"The runs differ {more}: the second one has its own default of {_listed(list(beyond))}. "
            f"Repeat what should stay: --against \"{repeated}\"."]


def _by_name(options):
    """{"--k": ("512",)} of an option's words; words before the first option belong to ""."""
    found, name = {}, ""
    for word in options:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            found[name] = (value,) if value else ()
        else:
            found[name] = (*found.get(name, ()), word)
    return found


def _listed(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _short(text):
    return text if len(text) <= _LABEL else text[:_LABEL - 1] + "…"
