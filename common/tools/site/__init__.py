"""The documentation site: what `./workbook docs` makes of the texts, the headers and recorded runs.

    pages.py        the repository's texts: their order, and where their links lead
    code_pages.py   the pages of the reports' codes
    generated.py    pages that the build writes: instruction tables, contract, reference by layer
    book/           runs Sphinx over all of these; its configuration, extension and templates
    doxygen.py      the reference: runs Doxygen and takes its warnings for errors
    finish.py       what Doxygen's pages still lack
    frame.py        the site's header, and the frame of pages written by hand
    toys.py         the pages that move
    recordings.py   recorded runs for them
    launches.py     the labs' launches, which pages run again (shared_blocks.py, questions.py)
    panels.py       the panels that run labs in the chapters' pages
    listings.py     files and folders that the texts link to
    make.py         all of it, in order
"""
