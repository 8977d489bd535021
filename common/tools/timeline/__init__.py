"""Timelines and profiles from recordings of the simulator.

`recording` reads the file; `builder` finds roles, rings, waits and hand-overs in it, as `model` has
them, and `critical` the longest chain of them; `profile` prints shares, `page`, `svg` and `perfetto`
draw.
"""
