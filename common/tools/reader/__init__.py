"""What a reader works with: exercises, hints, checks, progress.

listing      list and hint                               progress  the reader's progress file
selection    which exercise a word names                 editor    opens a file where a line is
actions      what the other commands do                  checking  from an exercise to its verdict
view         verdicts and tasks                          screen    painted words in a terminal's width
watch        checks on save, and keys                    own_code  programs with the reader's lines
"""
