"""Every workload of bench/compare, by name.  A new one is a row in one of these files."""
from bench.models import blocks, functions, generation, language, mixed_precision, recurrent, training, vision

MODULES = (vision, blocks, language, generation, recurrent, functions, training, mixed_precision)
WORKLOADS = {w.name: w for module in MODULES for w in module.WORKLOADS}
