"""Timelines and profiles from recordings of the simulator.

`recording` reads the file, `model` finds roles, rings, waits and hand-overs in it, `critical` the
longest chain of them; `profile` prints shares, `page`, `svg` and `perfetto` draw.
"""
