"""The rows of a profile by Nsight Compute's names, from what the simulator has counted of a launch.

The rows are those of profile_metrics.txt, which profile.sh asks Nsight Compute for. A row that the
simulator knows nothing of, or only with the timing model, has no value.
"""

from dataclasses import dataclass
from pathlib import Path

_ROWS = Path(__file__).resolve().parents[1] / "profile_metrics.txt"
# Of an SM, compute capability 9.0 and 10.0 (CUDA C++ Programming Guide, "Compute Capabilities").
WARPS_OF_AN_SM = 64
SECTOR_BYTES = 32
_STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


@dataclass(frozen=True)
class Row:
    """A row: the table's name, Nsight Compute's, and what it says."""

    label: str
    metric: str
    meaning: str

    @property
    def unit(self):
        name = self.metric
        if "pct" in name.rsplit(".", 2)[-1]:
            return "%"
        for part, unit in (("time_duration", "ns"), (".ratio", "inst"), ("cycles_elapsed", "cycle"),
                           ("bank_conflicts", ""), ("inst_executed", "inst"), ("sectors", "sector"),
                           ("bytes", "byte")):
            if part in name:
                return unit
        return ""


def rows():
    """[Row], as the table has them."""
    lines = _ROWS.read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("|")) for line in lines if line and not line.startswith("#")]


class Counted:
    """The sums of a launch's record (BW_SIM_STATISTICS) that rows are made of."""

    def __init__(self, record):
        self.record = record
        self.modelled = record["timing"] == "model"
        self.cycles = record["cycles"]
        warps = record["warps"]
        self.issued = sum(warp["issued"] for warp in warps)
        self.warp_cycles = sum(warp["cycles"] for warp in warps)
        self.stalls = {}
        for warp in warps:
            for reason, cycles in warp["stalls"].items():
                self.stalls[reason] = self.stalls.get(reason, 0) + cycles
            for wait in warp["waits"]:
                self.stalls[wait["for"]] = self.stalls.get(wait["for"], 0) + wait["cycles"]
        shape = record["cluster_shape"]
        ctas = record["clusters"] * shape[0] * shape[1] * shape[2]
        resident = min(ctas, record["resident_clusters"] * shape[0] * shape[1] * shape[2])
        self.ctas_of_an_sm = max(1.0, resident / record["sms"])
        # A launch of several waves is slowed down after the run of its CTAs.
        alone = record.get("alone_cycles", 0)
        self.stretch = self.cycles / alone if alone else 1.0

    @property
    def sm_cycles(self):
        """Cycles in which an SM had a CTA, of all SMs."""
        active = self.record["cta_cycles"] * self.stretch / self.ctas_of_an_sm
        return min(active, self.record["sms"] * self.cycles)

    def stalled(self, *reasons):
        """Warps that were stalled for these reasons, for each instruction issued."""
        return _ratio(sum(self.stalls.get(reason, 0) for reason in reasons), self.issued)

    def busy(self, resource, cycles):
        """The share of these cycles of SMs in which a unit of theirs was in use, in %."""
        return _percent(self.record["used"][resource], cycles)

    @property
    def elapsed(self):
        """The launch's cycles of all SMs, with and without a CTA."""
        return self.record["sms"] * self.cycles

    def l2_bytes(self, *paths, hits=True, misses=True):
        l2 = self.record["l2"]
        return sum((l2[path]["hit_bytes"] if hits else 0) + (l2[path]["miss_bytes"] if misses else 0)
                   for path in paths or l2)

    def chip(self, resource, amount):
        """The share of a bandwidth of the chip that was in use, in %."""
        return _percent(amount, self.record["capacity_per_cycle"][resource] * self.cycles)

    def l2_share(self):
        """The share of the L2 cache's bandwidth that was in use, in %: of the direction that is used
        most, where reads and writes have a bandwidth each."""
        capacity = self.record["capacity_per_cycle"]
        return max((self.chip(resource, self.record["used"][resource]) or 0.0)
                   for resource in capacity if resource.startswith("l2_"))

    @property
    def memory_bytes(self):
        return self.record["memory"]["read_bytes"] + self.record["memory"]["written_bytes"]


def _ratio(part, whole):
    return part / whole if whole else None


def _percent(part, whole):
    return 100 * part / whole if whole else None


def _copied(counted, directions):
    """Bytes that the copy engine wrote; threads' own copies (cp.async) are loads of theirs."""
    return sum(copy["written_bytes"] for copy in counted.record["copies"]
               if copy["direction"] in directions and copy["unit"] != "cp_async")


# Known with and without the timing model.
_ALWAYS = {
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum": lambda c: _copied(c, ("load",)),
    "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum": lambda c: _copied(c, ("store",)),
    "gpu__time_duration.sum": lambda c: c.record["nanoseconds"],
    "sm__cycles_elapsed.max": lambda c: c.cycles,
    "sm__warps_active.avg.pct_of_peak_sustained_active":
        lambda c: _percent(c.warp_cycles * c.ctas_of_an_sm,
                           WARPS_OF_AN_SM * c.record["cta_cycles"]),
}
# Known with the timing model only. Which waits a GPU counts under which reason was measured on an H100
# (tests/timeline/stall_reasons.cu).
_MODELLED = {
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed":
        lambda c: c.busy("tensor_cycles", c.elapsed),
    "smsp__issue_active.avg.pct_of_peak_sustained_active":
        lambda c: _percent(c.issued, c.record["capacity_per_cycle"]["issue_slots"] * c.sm_cycles),
    "smsp__inst_executed.sum": lambda c: c.issued,
    _STALLED.format("wait"): lambda c: c.stalled("fixed"),
    _STALLED.format("not_selected"): lambda c: c.stalled("issue"),
    _STALLED.format("math_pipe_throttle"): lambda c: c.stalled("pipe"),
    _STALLED.format("short_scoreboard"): lambda c: c.stalled("shared"),
    _STALLED.format("long_scoreboard"):
        lambda c: c.stalled("global", "mbarrier", "tcgen05_wait", "bulk_group", "cp_async_group",
                            "global_order"),
    _STALLED.format("mio_throttle"): lambda c: c.stalled("shared_queue"),
    _STALLED.format("lg_throttle"): lambda c: c.stalled("global_queue"),
    _STALLED.format("barrier"):
        lambda c: c.stalled("named_barrier", "cluster_barrier", "wgmma_group"),
    _STALLED.format("sleeping"): lambda c: c.stalled("sleep"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed":
        lambda c: _percent(c.record["threads_shared_memory"]["passes"], c.elapsed),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum":
        lambda c: c.record["threads_shared_memory"]["conflict_passes"],
    "l1tex__t_sector_hit_rate.pct":
        lambda c: _percent(c.record["l1"]["hit_bytes"],
                           c.record["l1"]["hit_bytes"] + c.record["l1"]["miss_bytes"]),
    "l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum": lambda c: c.l2_bytes("thread_load"),
    "l1tex__m_l1tex2xbar_write_bytes_mem_lg_op_st.sum": lambda c: c.l2_bytes("thread_store"),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": lambda c: c.l2_share(),
    "lts__t_sector_hit_rate.pct": lambda c: _percent(c.l2_bytes(misses=False), c.l2_bytes()),
    "lts__t_sectors_op_read.sum": lambda c: c.l2_bytes("tma_load", "thread_load") // SECTOR_BYTES,
    "lts__t_sectors_op_write.sum": lambda c: c.l2_bytes("tma_store", "thread_store") // SECTOR_BYTES,
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": lambda c: c.chip("hbm_bytes", c.memory_bytes),
    "dram__bytes_read.sum": lambda c: c.record["memory"]["read_bytes"],
    "dram__bytes_write.sum": lambda c: c.record["memory"]["written_bytes"],
}


def values(record):
    """{metric: number} of a launch's record; rows without a value are left out."""
    counted = Counted(record)
    found = {}
    for metric, value in {**_ALWAYS, **(_MODELLED if counted.modelled else {})}.items():
        number = value(counted)
        if number is not None:
            found[metric] = number
    return found


def units(record):
    """[(unit, share of what it can do that was used, in %)] with the timing model, busiest first. Units
    of SMs: of those cycles in which an SM had a CTA."""
    counted = Counted(record)
    if not counted.modelled:
        return []
    cycles = counted.sm_cycles
    slots = record["capacity_per_cycle"]["issue_slots"]
    found = [("the tensor cores", counted.busy("tensor_cycles", cycles)),
             ("the SMs' shared memory", counted.busy("shared_memory_cycles", cycles)),
             ("the schedulers' issue slots", counted.busy("issue_slots", slots * cycles)),
             ("the L2 cache's bandwidth", counted.l2_share()),
             ("the memory's bandwidth", counted.chip("hbm_bytes", counted.memory_bytes))]
    return sorted(((name, share or 0.0) for name, share in found), key=lambda unit: -unit[1])
