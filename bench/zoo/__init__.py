"""Models and functions that Tektite was not tuned for, which bench/sweep runs.  A case is a function of a batch size in
one of these files' CASES; its workloads are called like `unet_b1` and `unet_b8`, where Workload.name is the first
half."""
from bench.zoo import applications, functions, layers, numerics, programs

BATCHES = (1, 8)
CASES = {case.name: case for module in (applications, layers, functions, numerics, programs)
         for case in module.CASES}
WORKLOADS = {f"{case.name}_b{batch}": case.workload(batch) for case in CASES.values() for batch in BATCHES}
