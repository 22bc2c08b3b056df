"""Programs of packages that other people ship, which bench/shipped runs: short scripts of our own, random weights, nothing
downloaded.  A program is a row in one of these files' PROGRAMS; bench/setup_shipped installs the packages."""
from bench.shipped_programs import keras_hub, legacy_keras, model_garden, probability, tutorials

PROGRAMS = {program.name: program for module in (keras_hub, probability, model_garden, legacy_keras, tutorials)
            for program in module.PROGRAMS}
WORKLOADS = {program.name: program.workload for program in PROGRAMS.values()}
