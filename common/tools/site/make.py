"""Makes the site: `python3 -m tools.site.make [--root DIR] [--output DIR]` (common/ on PYTHONPATH).

The programs that it runs are built before: `./workbook docs` and the CMake target `docs` see to it.
"""

import argparse
import shutil
import sys
from pathlib import Path

from .. import chapters, codes
from ..errors import WorkbookError
from . import code_pages, doxygen, finish, generated, pages, recordings

# The concept pages, in the order in which one needs them.
CONCEPTS = ("mbarrier", "proxies", "tmem", "descriptors", "scaling", "block_scales",
            "warp_specialisation", "deadlock_report", "schedules", "races", "timeline", "profile",
            "simulator")
INTERACTIVE = (("mbarrier.html", "Step through an mbarrier"),
               ("operands.html", "Explore swizzles and descriptors"))
TIMELINES = tuple((f"timeline_{run.name}.html", f"Timeline: {run.title.split(':')[0].lower()}")
                  for run in recordings.RUNS)
_ASSETS = ("interactive.css", "mbarrier.js", "operands.js", "operand_layout.js")


def targets():
    """The CMake targets that the site runs."""
    return [generated.LISTING, generated.TIMING_LISTING, *recordings.programs()]


def make(root, tools, output):
    """Writes the site into output/html; returns its first page."""
    absent = doxygen.missing()
    if absent:
        raise WorkbookError("The site is made by Doxygen; missing here: " + ", ".join(absent)
                            + " (as Debian and Ubuntu call them). `./workbook docs` installs them "
                            "where it may; nothing else needs them.")
    root, output = Path(root).resolve(), Path(output).resolve()
    work = output / "making"
    shutil.rmtree(work, ignore_errors=True)
    (work / "pages").mkdir(parents=True)
    found = pages.load(root, generated.pages(root))
    rewriter = pages.Rewriter(root, found)
    for page in found:
        (work / "pages" / f"{page.label}.md").write_text(rewriter.rewrite(page), encoding="utf-8")
    doxygen.run(root, work, navigation(found))
    shell = (root / "docs/site/shell.html").read_text(encoding="utf-8")
    finish.run(root, work, rewriter,
               lambda title, body: shell.replace("@TITLE@", title).replace("@BODY@", body))
    _interactive(root, tools, work / "html", shell)
    code_pages.write(root, work / "html", shell)
    _texts_for_assistants(root, found, work / "html")
    finished = output / "html"
    shutil.rmtree(finished, ignore_errors=True)
    (work / "html").rename(finished)
    return finished / "index.html"


def _texts_for_assistants(root, found, target):
    """llms.txt and the texts as they are in the repository, in the same folders: its links work."""
    names = {page.path for page in found if (root / page.path).is_file()}
    names.update(path.relative_to(root).as_posix() for path in (root / codes.PAGES).glob("*.md"))
    for name in sorted({*names, "llms.txt"}):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)


def _interactive(root, tools, target, shell):
    source = root / "docs/site"
    for name in _ASSETS:
        shutil.copyfile(source / name, target / name)
    recordings.write_timelines(root, tools, target)
    scripts = "".join(f'<script src="{name}"></script>\n'
                      for name in recordings.write(root, tools, target))
    for name, title in INTERACTIVE:
        body = (source / name).read_text(encoding="utf-8").replace("@RECORDINGS@", scripts)
        (target / name).write_text(shell.replace("@TITLE@", title).replace("@BODY@", body),
                                   encoding="utf-8")


def navigation(found):
    """[(title, page, children)]: the tree next to each page."""
    by_path = {page.path: page for page in found}

    def entry(path, title=None, children=()):
        page = by_path[path]
        return (title or page.title.split(", and ")[0], page.file, list(children))

    def generated_page(name):
        return by_path[f"generated/{name}.md"].file

    texts = [entry(f"chapters/{chapter.name}/README.md") for chapter in chapters.CHAPTERS]
    more = [f"chapters/06_hopper_fp8_gemm/{name}.md" for name in ("appendix", "lab_notebook")]
    texts += [entry(path) for path in more if path in by_path]
    concepts = [entry(f"docs/concepts/{name}.md") for name in CONCEPTS
                if f"docs/concepts/{name}.md" in by_path]
    groups = [page for page in found if page.path.startswith("generated/instructions_")]
    types = [page for page in found if page.path.startswith("generated/contract_")
             and page.path != "generated/contract_types.md"]
    look_up = [entry(path) for path in ("docs/glossary.md", "docs/symptoms.md", "docs/pitfalls.md",
                                             "docs/your_kernel.md", "docs/race_suites.md")
               if path in by_path]
    return [
        entry("chapters/README.md", children=texts),
        entry("docs/concepts/README.md", children=concepts),
        ("Try it", generated_page("try_it"),
         [(title, name, []) for name, title in INTERACTIVE + TIMELINES]),
        ("Look it up", generated_page("look_up"), [
            entry("docs/commands.md"),
            *look_up,
            entry("generated/codes.md"),
            entry("docs/timing.md", children=[entry("generated/timing_numbers.md")]),
            entry("generated/instructions.md", children=[entry(page.path) for page in groups]),
            entry("docs/contract.md", "The design map"),
            entry("generated/contract_types.md", children=[entry(page.path) for page in types])]),
        entry("generated/reference.md", children=[
            entry("common/simulator/README.md"), entry("tests/hardware/README.md"),
            ("Types", "classlist", []), ("Files", "filelist", [])]),
        entry("CONTRIBUTING.md", "The project", [
            entry("docs/style.md"), entry("docs/exercises.md"), entry("docs/teaching.md"),
            entry("docs/verdicts.md"), entry("AGENTS.md"), entry("CHANGELOG.md")]),
    ]


def main(arguments=None):
    from ..try_exercise import tools_of
    parser = argparse.ArgumentParser(prog="python3 -m tools.site.make", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[3])
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args(arguments)
    try:
        first = make(chosen.root, tools_of(chosen.root), chosen.output or chosen.root / "build/docs")
    except WorkbookError as error:
        print(f"{error.details or ''}\nerror: {error}", file=sys.stderr)
        return 1
    print(f"written: {first}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
