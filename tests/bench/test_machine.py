"""The guard that marks a measurement as disturbed."""
import os
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


def test_the_way_between_two_cpus_is_measured():
    assert machine.CORE_DISTANCE.exists(), "built with the kernel benchmarks"
    found = machine.transfer_ns()
    assert found is None if len(os.sched_getaffinity(0)) < 2 else 1 < found < 1e6


def test_without_the_program_there_is_no_distance(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "CORE_DISTANCE", tmp_path / "absent")
    assert machine.transfer_ns() is None
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(machine, "CORE_DISTANCE", failing)
    assert machine.transfer_ns() is None
