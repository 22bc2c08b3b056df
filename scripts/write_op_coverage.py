"""Writes docs/op_coverage.md: the ops that XLA compiles for CPUs, as the installed wheel says, and what Tektite does with
each.

    build/venv/bin/python scripts/write_op_coverage.py            after a new op, or with another wheel
    build/venv/bin/python scripts/write_op_coverage.py --check    change nothing; exit code 1 where the page is not current

XLA registers a kernel for the device XLA_CPU_JIT for each op that it compiles, when it compiles for the first time.
"""
import os
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/op_coverage.md"
IMPORTERS = ROOT / "clustering/importer/import_list.inc"
COMPLEX = ROOT / "clustering/importer/math/complex_list.inc"

HEAD = """# Ops

Which TensorFlow ops Tektite compiles, beside those that XLA compiles for CPUs in the same wheel, {version}.
An op that is not compiled runs in TensorFlow's own kernel between clusters; `tektite explain` names it.

Written by `scripts/write_op_coverage.py` out of the wheel, `clustering/importer/import_list.inc` and `complex_list.inc`;
do not edit it here.

| | ops |
|---|---|
| XLA compiles for CPUs | {xla} |
| of these Tektite compiles | {both} |
| of these have nothing to compile | {edges} |
| Tektite compiles beside them | {more} |
"""
# Why ops are not compiled, in this order: a reason stands for the ops whose whole name its pattern matches.
EDGES = "Nothing to compile: edges and order of a graph"
REASONS = {
    EDGES: r"NoOp|ControlTrigger|_Arg|_Retval|_ArrayToList|_ListToArray|_EagerConst|_XlaAotOnlyVarHandleOp|FakeParam|"
           r"PlaceholderWithDefault|DeviceIndex|SymbolicGradient|VarIsInitializedOp",
    "Talk between devices, and parts of tensors for several of them: programs for TPUs have them":
        r"Xla(AllReduce|ReduceScatter|Send|Recv|Spmd.*|ConcatND|SplitND)|Collective.*|"
        r"AssignVariableXlaConcatND|ReadVariableXlaSplitND",
    "Programs in XLA's own language, which only XLA reads": r"XlaCallModule|XlaCustomCall.*",
    "XLA's sizes that values decide on: Tektite's rows have counts of their own":
        r"XlaSetBound|Xla(Set|Remove)DynamicDimensionSize",
    "XLA's kernel of this wheel refuses it: it asks for an attribute that the op lacks": r"XlaIf",
    "XLA's kernel for CPUs ends the process": r"XlaReplicaId",
    "XLA's own algorithms, whose results are not unique or differ by device":
        r"ApproxTopK|XlaSelfAdjointEig|XlaSvd|XlaRngBitGenerator|XlaDequantize",
    "Random numbers whose state belongs to a kernel of TensorFlow's": r"Random(Standard|Uniform|Shuffle).*|"
        r"TruncatedNormal|ParameterizedTruncatedNormal",
    "Random numbers that depend on how TensorFlow's threads share the rows": r".*Multinomial",
    "Random numbers by methods that each element's parameters choose": r"StatelessParameterizedTruncatedNormal|StochasticCastToInt",
    "Tensors with scales and zero points": r"Uniform.*",
    "Stacks and gradients of arrays in TensorFlow 1's loops: their state does not run along the graph's edges":
        r"TensorArrayGrad.*|Stack.*",
    "No function of TensorFlow's makes it": r"Conv",
    "No importer yet": r".*",
}


def xla_ops() -> tuple[set[str], str]:
    """The ops, and the wheel's version."""
    os.environ.update(TEKTITE="0", TF_CPP_MIN_LOG_LEVEL="3")
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0))
    registered = kernels.get_all_registered_kernels().kernel
    return {kernel.op for kernel in registered if kernel.device_type == "XLA_CPU_JIT"}, tf.__version__


def compiled_ops() -> set[str]:
    return set(re.findall(r"^TEKTITE_IMPORT\((\w+),", IMPORTERS.read_text(encoding="utf-8"), re.MULTILINE))


def complex_ops() -> set[str]:
    """The ops whose operands or results may be complex."""
    always = re.findall(r"^TEKTITE_IMPORT\((\w+),.*\bkOfComplex\b", IMPORTERS.read_text(encoding="utf-8"), re.MULTILINE)
    also = re.findall(r"^TEKTITE_COMPLEX\((\w+),", COMPLEX.read_text(encoding="utf-8"), re.MULTILINE)
    return {*always, *also}


def left_out(ops: set[str]) -> dict[str, list[str]]:
    """The ops by reason; each is in one place, the first that matches."""
    by_reason: dict[str, list[str]] = {reason: [] for reason in REASONS}
    for op in sorted(ops):
        by_reason[next(reason for reason, pattern in REASONS.items() if re.fullmatch(pattern, op))].append(op)
    return by_reason


def page(xla: set[str], ours: set[str], version: str) -> str:
    def listed(title: str, ops: list[str]) -> str:
        text = textwrap.fill(", ".join(f"`{op}`" for op in ops), 120, break_on_hyphens=False)
        return f"\n## {title}\n\n{text}\n" if ops else ""

    missing = left_out(xla - ours)
    head = HEAD.format(version=f"tensorflow-cpu {version}", xla=len(xla), both=len(xla & ours),
                       edges=len(missing[EDGES]), more=len(ours - xla))
    return (head + "".join(listed(reason, ops) for reason, ops in missing.items())
            + listed("Compiled", sorted(xla & ours)) + listed("Compiled, and not by XLA", sorted(ours - xla))
            + listed("Compiled for complex numbers, too", sorted(complex_ops())))


def main(arguments: list[str]) -> int:
    xla, version = xla_ops()
    wanted = page(xla, compiled_ops(), version)
    if arguments == ["--check"]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted else 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
