"""Speed measurements: workloads in models/, processes and arithmetic in harness/."""
