"""The machine's description, and its other load during a measurement.

    with OtherLoad() as load:
        work()
    load.cpus       # how many CPUs other programs kept busy meanwhile: 0.02
    with Distance(threads=2) as distance:
        work()
    distance.ns     # nanoseconds from one CPU to another, before or after it, whichever is more: 27.3
    describe()      # {"cpu": "AMD EPYC 9R14", "cpus": 2, "features": "avx2 avx512f ...", ...}
"""
import os
import platform
import subprocess
import time
from pathlib import Path

# A measurement counts as disturbed when other programs use more CPUs than this.
QUIET = 0.15
# A process's CPUs are far apart where a cache line takes so many times the least of the run, and 50 ns or more: caches
# that two cores share answer in 20 to 40 ns, those of other cores in 100 to 200.
FAR, FAR_NS = 2.0, 50.0
CORE_DISTANCE = Path(__file__).resolve().parents[2] / "build" / "bin" / "core_distance"
FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16")


def busy_seconds(stat: str) -> float:
    """Of all CPUs together, from the text of /proc/stat: neither idle nor waiting for a disk.  Time that the hypervisor
    assigned to other machines counts as busy."""
    user, nice, system, _idle, _wait, irq, soft, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class OtherLoad:
    """CPUs that anything but this process used between entry and exit, on average."""
    cpus = 0.0

    def __enter__(self) -> "OtherLoad":
        self._begin = self._now()
        return self

    def __exit__(self, *_) -> None:
        busy, own, wall = (b - a for a, b in zip(self._begin, self._now()))
        self.cpus = max(0.0, busy - own) / max(wall, 1e-3)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        with open("/proc/stat") as stat:
            return busy_seconds(stat.read()), time.process_time(), time.monotonic()


def transfer_ns() -> float | None:
    """Between the first two CPUs (bench/core_distance); None where that is not built or there is one CPU.  The CPUs of a
    virtual machine move among the host's cores, so that one program takes two different times, for seconds each."""
    try:
        done = subprocess.run([str(CORE_DISTANCE)], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return float(done.stdout)


class Distance:
    """The larger one of transfer_ns() at entry and exit; None on one thread, and where it cannot be measured."""
    ns: float | None = None

    def __init__(self, threads: int) -> None:
        self._counts = threads > 1

    def __enter__(self) -> "Distance":
        self.ns = transfer_ns() if self._counts else None
        return self

    def __exit__(self, *_) -> None:
        if self.ns is not None:
            self.ns = max(self.ns, transfer_ns() or 0.0)


def is_far(transfer: float | None, least: float | None) -> bool:
    """Whether `transfer`, beside the `least` that was seen in the run, says that the CPUs do not share a cache."""
    return transfer is not None and least is not None and transfer > max(FAR * least, FAR_NS)


def describe() -> dict[str, str | int]:
    with open("/proc/cpuinfo") as file:
        lines = [line.split(":", 1) for line in file if ":" in line]
    info = {key.strip(): value.strip() for key, value in reversed(lines)}
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) / 2**20
    flags = info.get("flags", "").split()
    return {"cpu": info.get("model name", platform.machine()), "cpus": os.cpu_count() or 1,
            "family/model": f"{info.get('cpu family', '?')}/{info.get('model', '?')}",
            "features": " ".join(f for f in FEATURES if f in flags),
            "memory": f"{memory:.0f} GiB", "system": platform.release(),
            "load": f"{os.getloadavg()[0]:.2f}", "date": time.strftime("%Y-%m-%d")}
