"""What `timeline --json` prints of a run; docs/verdicts.md describes the fields."""

from . import profile

# Changes when a field goes away or means something else.
SCHEMA = 1


def of(options, launch, models):
    """The summary of a launch that was run with these options: of its first recorded cluster."""
    measured = profile.measure(models[0])
    share, sentence = profile.limits(measured.chain)
    stages = {ring.name: ring.stages for ring in models[0].rings}
    return {
        "options": list(options), "kernel": launch.kernel, "status": launch.status,
        "notes": launch.notes(), "cluster": models[0].index, "cycles": measured.cycles,
        "roles": [{"name": role.name, "warps": list(role.warps), "cycles": role.cycles,
                   "busy": role.issuing, "data": role.data, "waiting": _largest_first(role.waiting)}
                  for role in measured.roles],
        "rings": [{"name": name, "stages": stages[name], "cycles": states}
                  for name, states in measured.rings.items()],
        "tensor_core": [{"cta": rank, "busy": busy} for rank, busy in measured.tensor_busy.items()],
        "loads_in_flight": measured.loads_busy,
        "bytes": measured.bytes,
        "chain": [{"kind": kind, "role": who, "cycles": cycles}
                  for (kind, who), cycles in measured.chain.items()],
        "limit": {"share": share, "sentence": sentence},
    }


def _largest_first(waiting):
    return dict(sorted(waiting.items(), key=lambda entry: -entry[1]))
