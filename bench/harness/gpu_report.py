"""The tables of `bench/report`: a run of `bench/gpu_acceptance` on a card, each figure beside its bar.

    text, missed = report(json.loads(file.read_text()))     # missed: names of what is wrong or below its bar

A bar is a least value; a figure that was not measured counts as neither met nor missed.
"""
from __future__ import annotations

from bench.harness.text_table import table

# Of the card's copy bandwidth, and of torch.compile's speed.
OF_COPY = {"add": 0.92, "swish": 0.92, "softmax_1k": 0.88, "softmax_16k": 0.88, "layer_norm_1k": 0.88,
           "layer_norm_16k": 0.88, "adam": 0.88, "transpose": 0.80, "column_sums": 0.80, "array_sum": 0.80,
           "bias_gradient_bf16": 0.80}
OF_TORCH = {"softmax_1k": 1.0, "softmax_16k": 1.0, "layer_norm_1k": 1.0, "layer_norm_16k": 1.0, "product_bf16": 0.98,
            "product_bf16_wide": 0.98, "product_f16": 0.98, "product_f16_wide": 0.98}
# TFLOP/s on an H200.
TFLOPS = {"product_bf16_own": 600, "attention_4k": 500, "attention_8k": 500, "attention_16k": 500}
# A kernel's time by another's: at most.
OF_TIME = {"dense_gelu_bf16": ("product_bf16", 1.03)}
# A call from the CPU's wheel against stock TensorFlow's on the CPU.
OF_STOCK = {"bert_base_bs32": 10.0}
# Models against the better rival: calls of one example, and large batches.
ONE, LARGE = 1.1, 1.0


def report(said: dict) -> tuple[str, list[str]]:
    missed: list[str] = []
    machine = said.get("machine", {})
    parts = [f"commit {said['commit']}, {machine.get('card')}, torch {machine.get('torch')}, jax {machine.get('jax')}",
             *(part(said, missed) for part in (checks, conformance, kernels, models, sanitizer)),
             f"missed: {', '.join(missed)}" if missed else "nothing that was measured is wrong or below its bar"]
    return "\n\n".join(part for part in parts if part), missed


def checks(said: dict, missed: list[str]) -> str:
    rows = []
    for name, outcome in said.get("checks", {}).items():
        missed += [] if outcome["ok"] else [name]
        rows.append([name, "right" if outcome["ok"] else "WRONG", str(outcome.get("error", outcome.get("said")))])
    return table(["result", "", "error"], rows) if rows else ""


def conformance(said: dict, missed: list[str]) -> str:
    suite = said.get("conformance")
    if not suite:
        return ""
    missed += suite["failed"] or (["conformance"] if suite["exit"] else [])
    return f"conformance: {suite['passed']} passed, {len(suite['failed'])} failed {' '.join(suite['failed'][:20])}".strip()


def sanitizer(said: dict, missed: list[str]) -> str:
    lines = []
    for check, outcome in said.get("sanitizer", {}).items():
        if isinstance(outcome, str):
            lines.append(f"sanitizer {check}: {outcome}")
            continue
        missed += [check] if outcome["exit"] else []
        lines.append(f"sanitizer {check}: exit {outcome['exit']}, {outcome['passed']} passed")
    return "\n".join(lines)


def rival_time(said: dict, name: str, engine: str) -> float | None:
    return said.get("rivals", {}).get(f"{name} {engine}", {}).get("microseconds")


def cell(value: float | None, bar: float | None, form: str, name: str, missed: list[str]) -> str:
    """A figure, its bar in brackets, and a mark where it is below."""
    if value is None:
        return "-"
    text = format(value, form)
    if bar is None:
        return text
    if value < bar:
        missed.append(name)
    return f"{text} ({format(bar, form)}){'' if value >= bar else ' !'}"


def kernels(said: dict, missed: list[str]) -> str:
    copied = said.get("rivals", {}).get("copy", {}).get("gb_per_s")
    rows = []
    for name, m in said.get("measures", {}).items():
        if "failed" in m or not m["microseconds"]:
            missed.append(name)
            rows.append([name, m.get("failed", "no kernel was timed"), "", "", "", "", "", ""])
            continue
        speed = {engine: took / m["microseconds"] for engine in ("torch", "jax")
                 if (took := rival_time(said, name, engine))}
        rows.append([name, " ".join(m.get("routes", [])) or "-", f"{m['microseconds']:.1f}", f"{m['gb_per_s']:.0f}",
                     cell(m["gb_per_s"] / copied if copied else None, OF_COPY.get(name), ".0%", f"{name} of copy", missed),
                     cell(m["tflop_per_s"] or None, TFLOPS.get(name), ".0f", f"{name} TFLOP/s", missed),
                     cell(speed.get("torch"), OF_TORCH.get(name), ".2f", f"{name} / torch", missed),
                     cell(speed.get("jax"), None, ".2f", name, missed)])
    if not rows:
        return ""
    header = ["kernel", "by", "us", "GB/s", "of copy (bar)", "TFLOP/s (bar)", "x torch (bar)", "x jax"]
    return "\n".join([f"copy: {copied or 0:.0f} GB/s", table(header, rows), *beside(said, missed)])


def beside(said: dict, missed: list[str]) -> list[str]:
    """What an epilogue costs."""
    lines = []
    for name, (other, bar) in OF_TIME.items():
        took, plain = (said["measures"].get(case, {}).get("microseconds") for case in (name, other))
        if not took or not plain:
            continue
        missed += [f"{name} / {other}"] if took / plain > bar else []
        lines.append(f"{name}: {took / plain:.3f} times {other} (at most {bar}){' !' if took / plain > bar else ''}")
    return lines


def models(said: dict, missed: list[str]) -> str:
    rows = []
    for name, m in said.get("models", {}).items():
        if not m["ok"]:
            missed.append(name)
        if "median_ms" not in m:
            rows.append([name, m.get("said", "WRONG"), "", "", "", "", "", "", ""])
            continue
        took = m["median_ms"] * 1e3
        others = {engine: other for engine in ("torch", "jax") if (other := rival_time(said, name, engine))}
        bar = LARGE if "_bs" in name else ONE
        rows.append([name, "right" if m["ok"] else "WRONG", f"{m['error']:.1e}", f"{took:.0f}",
                     f"{m['kernel_microseconds']:.0f}",
                     *(cell(other / took if (other := others.get(engine)) else None, None, ".2f", name, missed)
                       for engine in ("torch", "jax")),
                     cell(min(others.values()) / took if others else None, bar, ".2f", f"{name} / best rival", missed),
                     cell(m["stock"]["milliseconds"] * 1e3 / took if m.get("stock") else None, OF_STOCK.get(name), ".1f",
                          f"{name} / stock", missed)])
    if not rows:
        return ""
    return table(["model", "result", "error", "us", "in kernels", "x torch", "x jax", "x best (bar)",
                  "x stock on a CPU (bar)"], rows)
