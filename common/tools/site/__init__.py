"""The documentation site: what `./workbook docs` makes of the texts, the headers and recorded runs.

    pages.py        the repository's texts, turned into what Doxygen reads
    generated.py    pages that the build writes: instruction tables, contract, reference by layer
    recordings.py   recorded runs for the page that steps through an mbarrier
    doxygen.py      runs Doxygen and takes its warnings for errors
    finish.py       links to files, figures and listings in what Doxygen wrote
    make.py         all of it, in order
"""
