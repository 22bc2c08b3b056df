"""The main figures of each kind of machine, and the tables that show the kinds beside each other.

    kinds = json.loads(DATA.read_text())                    # bench/machines.json: figures by kind, group and workload
    kinds.setdefault(kind_of(describe()), {})["training"] = entry(of_turns(lines), describe(), "1a2b3c4", "bench/publish")
    table_of(kinds, "training")                             # a row for each workload, columns for each kind

A run replaces the group that it measured for its own kind; the other kinds keep theirs, with commit and date.
"""
import statistics
from dataclasses import dataclass
from typing import Any

from bench.harness import figures
from bench.harness.engines import ROOT, STOCK, TEKTITE
from bench.harness.report import CARRIES_MEANS, find, title
from bench.harness.summary import best_rival

DATA = ROOT / "bench/machines.json"


@dataclass(frozen=True)
class Group:
    title: str
    about: str
    models: tuple[str, ...]
    rivals: tuple[str, ...]
    seconds: float  # timed, for each process
    threads: tuple[int, ...] = (2, 1)
    base: str = "stock TensorFlow"  # speed-ups are over it


GROUPS = {
    "inference": Group("Inference", "One call of a model.",
                       ("resnet50", "mobilenetv2", "efficientnetb0", "vit_tiny", "bert_base", "gpt2_decode", "lstm_unroll", "mlp", "dlrm",
                        "softmax_chain", "seed_case", "black_scholes"), ("openvino",), 0.5),
    "training": Group("Training", "One step of Adam.", ("mlp_train", "transformer_train", "gru_train", "resnet50_train"), ("xla", "jax"), 1.0),
    "recurrent": Group("Recurrent layers", "One call, and one step of Adam where the name says so.",
                       ("lstm", "gru", "bilstm_text", "conv_lstm", "bilstm_train"), ("xla", "jax"), 0.5),
    "generation": Group("Text generation", "KerasHub's models with random weights write 48 tokens behind 16 for two rows, greedily. XLA is\n"
                        "`compile(jit_compile=True)`. Engines are alive at once and take turns; times are the least tenth of all calls.",
                        ("gpt2", "gemma", "llama", "mistral", "opt", "bloom", "gpt_neox", "bart"), ("xla", "jax"), 1.0, (1,)),
    "low_precision": Group("Eight and four bits", "`tektite quantize` puts FakeQuant at every convolution and product of ResNet50, MobileNetV2 and "
                           "BERT-base; OpenVINO reads the\nsame graph and computes the rest in bf16 where it can; LiteRT's converter quantizes the "
                           "f32 model. blocks (four of a transformer, 128\ntokens) and decoding (the products of a step of GPT-2, one token) are Keras's "
                           "`quantize`, which only TensorFlow reads. Weights are\nrandom. Engines are alive at once and take turns; times are the "
                           "least tenth of all calls.",
                           ("resnet50", "mobilenetv2", "bert_base", "blocks_int8", "blocks_int4", "decoding_int8", "decoding_int4"),
                           ("openvino", "litert", "tf"), 1.0, (1,), "Tektite in f32"),
}


def kind_of(machine: dict[str, Any]) -> str:
    """\"Intel with AMX\", \"AMD with AVX2\": what decides between two kernels."""
    vendor = next((name for name in ("AMD", "Intel") if name in machine["cpu"]), machine["cpu"])
    features = machine["features"].split()
    best = next((name for flag, name in (("amx_tile", "AMX"), ("avx512f", "AVX-512")) if flag in features), "AVX2")
    return f"{vendor} with {best}"


def entry(figures_of: dict[str, dict[str, dict]], machine: dict[str, Any], commit: str, command: str) -> dict[str, Any]:
    return {"commit": commit, "date": machine["date"], "cpu": machine["cpu"], "command": command, "figures": figures_of}


def of_turns(lines: list[dict]) -> dict[str, dict[str, dict]]:
    """Of summarise()'s lines; workloads without a figure are left out."""
    found: dict[str, dict[str, dict]] = {}
    for own in lines:
        if own["engine"] != TEKTITE or "ratio" not in own:
            continue
        stock, best = (find(lines, own["model"], STOCK, own["threads"]), best_rival(lines, own["model"], own["threads"]))
        figure = {"base_ms": stock["ms"], "tektite": own["ratio"], "rival": best["ratio"], "rival_name": best["engine"]}
        if any(line["disturbed"] for line in (own, stock, best)):
            figure["disturbed"] = True
        if own.get("wrong"):
            figure["wrong"] = True
        found.setdefault(own["model"], {})[str(own["threads"])] = figure
    return found


def of_rows(rows: list[dict], base: str, own: str, rivals: dict[str, str]) -> dict[str, dict[str, dict]]:
    """Of run_model()'s rows of generate.py and low_precision.py: medians of a model's rows.  `rivals` names runs.  Rows without
    the base or an own figure are left out."""
    found: dict[str, dict[str, dict]] = {}
    for model, threads in dict.fromkeys((row["model"], row["threads"]) for row in rows):
        good = [row for row in rows if (row["model"], row["threads"]) == (model, threads) and {base, own} <= set(row["ms"])]
        if not good:
            continue
        gain = {run: statistics.median(row["ms"][base] / row["ms"][run] for row in good if run in row["ms"])
                for run in (own, *rivals) if any(run in row["ms"] for row in good)}
        best = max((run for run in rivals if run in gain), key=lambda run: gain[run], default=None)
        figure = {"base_ms": statistics.median(row["ms"][base] for row in good), "tektite": gain[own],
                  "rival": 1.0 if best is None else gain[best], "rival_name": STOCK if best is None else rivals[best]}
        if any(row.get("wrong") for row in good):
            figure["wrong"] = True
        found.setdefault(model, {})[str(threads)] = figure
    return found


def table_of(kinds: dict[str, dict], group: str) -> str:
    """Speed-ups over stock TensorFlow, with the best rival's behind them."""
    of_kind = {kind: groups[group]["figures"] for kind, groups in kinds.items() if group in groups}
    places = [(kind, threads) for kind, found in of_kind.items() for threads in sorted({t for row in found.values() for t in row})]
    models = [model for model in dict.fromkeys((*GROUPS[group].models, *(m for found in of_kind.values() for m in found)))
              if any(model in found for found in of_kind.values())]
    rows = [[model, *(cell(of_kind[kind].get(model, {}).get(threads)) for kind, threads in places)] for model in models]
    rows.append(["geometric mean", *(mean(of_kind[kind], threads, models) for kind, threads in places)])
    if CARRIES_MEANS in models:
        rest = [model for model in models if model != CARRIES_MEANS]
        rows.append([f"without {CARRIES_MEANS}", *(mean(of_kind[kind], threads, rest) for kind, threads in places)])
    return figures.table(["workload", *(f"{kind}, {title(int(threads))}" for kind, threads in places)], rows)


def cell(figure: dict | None) -> str:
    """1.61 (openvino 1.35); (1.61) where results differ too much, ~ where the machine was disturbed."""
    if figure is None:
        return "-"
    rival = "" if figure["rival_name"] == STOCK else f" ({figure['rival_name']} {figures.short(figure['rival'])})"
    gain = figures.short(figure["tektite"])
    return (f"({gain})" if figure.get("wrong") else gain) + "~" * figure.get("disturbed", False) + rival


def mean(found: dict[str, dict], threads: str, models: list[str]) -> str:
    """Of the speed-ups, and of those over the best rival, or the base where no rival is faster."""
    here = [found[model][threads] for model in models if threads in found.get(model, {}) and not found[model][threads].get("wrong")]
    if not here:
        return "-"
    gain, lead = (figures.short(figures.geometric_mean(values)) for values in (
        [figure["tektite"] for figure in here], [figure["tektite"] / max(figure["rival"], 1.0) for figure in here]))
    return f"{gain}; {lead} times the rival"


def sources(kinds: dict[str, dict], group: str) -> str:
    """A line for each kind: where and when, and the command."""
    return "\n".join(f"- {kind}: {groups[group]['cpu']}, {groups[group]['date']}, commit {groups[group]['commit']},\n  `{groups[group]['command']}`"
                     for kind, groups in kinds.items() if group in groups)


READ = ("Speed-ups over {base} in the same run; in brackets the fastest rival{where}.\n"
        "~: other programs used the machine. (n): results differ from stock TensorFlow's by more than the workload allows; no part of means.")


def how_to_read(group: str) -> str:
    base = GROUPS[group].base
    return READ.format(base=base, where=", where one is faster than stock TensorFlow" if base == GROUPS["inference"].base else "")


def readme(kinds: dict[str, dict]) -> str:
    return (f"## What it gains\n\n{how_to_read('inference')}\n[bench/RESULTS.md](bench/RESULTS.md) has the other tables, and the cases where Tektite is not "
            f"ahead.\n\n{table_of(kinds, 'inference')}\n\nMeasured by `bench/publish`, or as said, on\n\n{sources(kinds, 'inference')}\n")


def sections(kinds: dict[str, dict]) -> list[str]:
    """Of bench/RESULTS.md, those of groups that README.md does not have."""
    return [f"## {group.title}\n\n{group.about}\n{how_to_read(name)}\n\n{table_of(kinds, name)}\n\n{sources(kinds, name)}\n"
            for name, group in GROUPS.items() if name != "inference" and any(name in groups for groups in kinds.values())]
