"""The answers to chapter 7's predict exercises, read from the event log of a run."""
