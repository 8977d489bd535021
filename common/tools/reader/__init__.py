"""What a reader works with: exercises, hints, checks, progress.

environment  into the private environment, and what is said where there is none
listing      list and hint (standard library alone)      progress  the reader's progress file
selection    which exercise a word names                 editor    opens a file where a line is
app          the other commands' arguments (Typer)       actions   what each of them does
checking     from an exercise to its verdict             view      verdicts and tasks (Rich)
watch        checks on save (watchfiles), and keys
"""
