"""Every workload of bench/compare, by name.  A new one is a row in one of these files."""
from bench.models import functions, language, recurrent, training, vision

WORKLOADS = {w.name: w for module in (vision, language, recurrent, functions, training)
             for w in module.WORKLOADS}
