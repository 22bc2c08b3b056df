"""One row of bench/low_precision: a model in f32 and in less, all alive at once, in turns.

    row = run_model("resnet50", threads=1, seconds=1.0)
    row["ms"]["int8"], row["difference"], row["errors"]
    print(figures.table(HEADER, [cells(row)]))
"""
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from bench.harness import figures
from bench.harness.engines import ENGINES, ROOT, STOCK, TEKTITE, default_python, environment
from bench.harness.onnx_export import graph_file
from bench.harness.process import Task, Worker, WorkerFailed, in_turns, prepare
from bench.harness.quantized_models import FAKE_QUANT, KERAS_MODES, WORKLOADS
from bench.harness.sweep import quick
from bench.models import WORKLOADS as MODELS

QUANTIZED, FLOATS = "bench.harness.quantized_models", "bench.models"
F32, INT8, OPENVINO, LITERT, STOCK_LOW = "f32", "int8", "OpenVINO int8", "LiteRT int8", "stock"
# OpenVINO's default computes in bf16 what is not in int8, where the processor has that.
RIVAL, CONVERTED = ENGINES["openvino_bf16"], ENGINES["litert_int8"]
HEADER = ["model", "f32 ms", "low ms", "OpenVINO's ms", "LiteRT's ms", "f32 / low", "OpenVINO / low", "LiteRT / low", "stock / low",
          "difference", "products in bytes"]
KERAS = [f"{model}_{mode}" for model in ("blocks", "decoding") for mode in KERAS_MODES]
NAMES = [*FAKE_QUANT, *KERAS]


def prepare_model(model: str) -> None:
    """WorkerFailed where the quantized model cannot be made."""
    if model in KERAS:
        return  # Keras makes it in each process, and OpenVINO does not read it
    command = [default_python(), "-m", QUANTIZED, model]
    done = subprocess.run(command, cwd=ROOT, env=environment(ENGINES[STOCK], 1), capture_output=True, text=True)
    if done.returncode:
        raise WorkerFailed((done.stderr.strip().splitlines() or ["no message"])[-1])
    floats, task = Task(FLOATS, model, 1), Task(QUANTIZED, model, 1)
    prepare(floats, MODELS[model])
    with suppress(WorkerFailed):  # then it has no figure
        prepare(floats, MODELS[model], [CONVERTED])
    if not graph_file(WORKLOADS[model], task.cache).exists():
        with suppress(WorkerFailed):  # OpenVINO reads the frozen graph, which is written before the ONNX file
            prepare(task, WORKLOADS[model], [RIVAL])


def run_model(model: str, threads: int, seconds: float) -> dict:
    """Milliseconds of a call, the least tenth of all; a rival that fails has none."""
    row: dict = {"model": model, "threads": threads, "ms": {}, "errors": {}, "difference": None, "stats": {}}
    if model in KERAS:
        runs = {F32: (QUANTIZED, model.rsplit("_", 1)[0] + "_f32", ENGINES[TEKTITE]),
                STOCK_LOW: (QUANTIZED, model, ENGINES[STOCK])}
    else:
        runs = {F32: (FLOATS, model, ENGINES[TEKTITE]), OPENVINO: (QUANTIZED, model, RIVAL), LITERT: (FLOATS, model, CONVERTED)}
    runs[INT8] = (QUANTIZED, model, ENGINES[TEKTITE])
    workers: dict[str, Worker] = {}
    prepare_model(model)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with Worker(Task(QUANTIZED, model, threads), ENGINES[STOCK]) as stock:
                stock.outputs(folder / "stock.npz")
            for run, (module, workload, engine) in runs.items():
                try:
                    workers[run] = Worker(Task(module, workload, threads), engine)
                    workers[run].warm(engine.warm_seconds)
                except WorkerFailed as error:
                    row["errors"][run] = str(error)
                    if run in workers:
                        workers.pop(run).close()
            times = in_turns(workers, seconds)
            row["ms"] = {run: quick(ms) for run, ms in times.items()}
            if INT8 in workers:
                workers[INT8].settled_outputs(folder / "ours.npz")
                row["difference"] = figures.largest_difference(folder / "stock.npz", folder / "ours.npz")
                row["stats"] = workers[INT8].stats()[0] or {}
        finally:
            for worker in workers.values():
                worker.close()
    return row


def cells(row: dict) -> list[str]:
    ms = row["ms"]

    def ratio(run: str) -> str:
        return figures.short(ms[run] / ms[INT8]) if run in ms and INT8 in ms else "-"

    difference = row["difference"]
    return [row["model"], *(figures.short(ms.get(run)) for run in (F32, INT8, OPENVINO, LITERT)), ratio(F32), ratio(OPENVINO),
            ratio(LITERT), ratio(STOCK_LOW), "-" if difference is None else f"{difference:.1e}", str(row["stats"].get("byte_products", "-"))]
