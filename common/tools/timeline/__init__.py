"""Timelines and profiles from recordings of the simulator.

`recording` reads the file; `builder` finds roles, rings, waits and hand-overs in it, as `model` has
them, and `critical` the longest chain of them; `profile` says what limits a run, `page`, `svg` and
`perfetto` draw. `statistics` reads what was counted of whole launches, `metrics` makes the rows of
`./workbook profile` of it, `profile_command` prints them.
"""
