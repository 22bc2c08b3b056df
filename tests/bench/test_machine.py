"""The guard that marks a measurement as disturbed."""
import subprocess
import sys

from bench.harness import machine


def test_waiting_is_not_busy_but_a_stolen_cpu_is():
    second = machine.os.sysconf("SC_CLK_TCK")
    fields = [1, 1, 1, 50, 50, 1, 1, 1]  # user nice system idle iowait irq softirq steal
    text = "cpu  " + " ".join(str(n * second) for n in fields) + " 0 0\ncpu0 9 9 9 9\n"
    assert machine.busy_seconds(text) == 6


def test_another_process_counts_as_load():
    with machine.OtherLoad() as load:
        subprocess.run([sys.executable, "-c", "for _ in range(20_000_000): pass"], check=True)
    assert load.cpus > 0.3


def test_the_machine_is_described():
    found = machine.describe()
    assert found["cpus"] >= 1 and found["cpu"] and len(found["date"]) == 10
