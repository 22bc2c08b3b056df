"""``tektite.quantize``: integers of 8 bits in place of floats, by calibration after training (docs/guide/quantize.md).

    result = tektite.quantize("resnet", batches, out="resnet_int8")
    result.error               # of the results on the calibration data: root of the mean square, over theirs
    result.layers              # each with its own error, and whether it is quantized

The result is an ordinary SavedModel with FakeQuant ops. TensorFlow runs it in floats, to the same numbers; Tektite
multiplies bytes where the CPU does that faster. Layers that hurt stay in floats until the error is within the bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tektite import _models, _quantize_graph
from tektite._output import Progress
from tektite._quantize_graph import Graph, Layer
from tektite._quantize_ranges import METHODS, Statistics

ERROR = 0.1  # the default bound


@dataclasses.dataclass
class QuantizedLayer:
    """A convolution or a product with constant weights."""

    name: str
    op: str
    error: float  # of this layer's result when nothing else is quantized
    multiplications: int  # of one example
    low: float
    high: float
    quantized: bool


@dataclasses.dataclass
class Quantized:
    """What `quantize` wrote and found out."""

    path: str
    error: float
    error_of_all: float  # were all layers quantized
    layers: list[QuantizedLayer]
    histograms: dict[str, tuple[list[int], float]]  # of each layer's input: counts from -limit to limit

    @property
    def share(self) -> float:
        """Of all multiplications, those that are of integers."""
        whole = sum(layer.multiplications for layer in self.layers)
        return sum(layer.multiplications for layer in self.layers if layer.quantized) / (whole or 1)


def _function(model: Any, signature: str) -> tuple[str, Any, Any]:
    """A signature's name, its function, and what must stay alive with it."""
    tf = _models.tensorflow()
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        if not _models.is_saved_model(str(model)):
            raise ValueError(f"'{model}' is no SavedModel")
        loaded = tf.saved_model.load(str(model))
        return *_models.signature_of(loaded, str(model), signature), loaded
    if not hasattr(model, "inputs"):
        raise ValueError("the model must be a SavedModel's folder, or a Keras model")
    specs = [tf.TensorSpec(x.shape, x.dtype, name=f"x{i}") for i, x in enumerate(model.inputs)]

    @tf.function(autograph=False)  # type: ignore[untyped-decorator, unused-ignore]
    def predict(**inputs: Any) -> Any:
        given = [inputs[spec.name] for spec in specs]
        results = tf.nest.flatten(model(given[0] if len(given) == 1 else given, training=False))
        return {f"output_{i}": y for i, y in enumerate(results)}

    return "serving_default", predict.get_concrete_function(**{spec.name: spec for spec in specs}), model


def _batches(graph: Graph, data: Iterable[Any]) -> list[list[Any]]:
    """The arguments of each batch, in the order of their names."""
    tf, keys, batches = _models.tensorflow(), sorted(graph.inputs), []
    for batch in data:
        if isinstance(batch, dict):
            given = [batch.get(key) for key in keys]
        else:
            given = list(batch) if isinstance(batch, (list, tuple)) else [batch]
        if len(given) != len(keys) or any(x is None for x in given):
            raise ValueError(f"a batch must have the inputs {', '.join(keys)}")
        batches.append([tf.convert_to_tensor(x, graph.specs[key].dtype) for key, x in zip(keys, given)])
    if not batches:
        raise ValueError("there is no batch of data")
    return batches


def _relative(got: list[Any], wanted: list[Any]) -> float:
    """Root of the mean square difference of floats, over that of what is wanted."""
    import numpy as np

    apart = whole = 0.0
    for x, y in zip(got, wanted):
        if y.dtype.is_floating:
            a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
            apart, whole = apart + float(np.sum((a - b) ** 2)), whole + float(np.sum(b ** 2))
    return float(np.sqrt(apart / whole)) if whole > 0 else float(apart > 0)


def _calibrate(graph: Graph, layers: list[Layer], batches: list[list[Any]]) -> dict[str, Statistics]:
    sources = sorted({layer.source for layer in layers})
    function = _quantize_graph.call(graph, [graph.inputs[key] for key in sorted(graph.inputs)], sources)
    found = {source: Statistics() for source in sources}
    progress = Progress("calibrating", len(batches))
    for batch in batches:
        for source, values in zip(sources, function(*batch)):
            try:
                found[source].add(values.numpy())
            except ValueError as error:
                raise ValueError(f"'{_quantize_graph.node_of(source)}' {error} on the calibration data") from None
        progress.step()
    return found


def _layer_errors(graph: Graph, layers: list[Layer], ranges: dict[str, tuple[float, float]],
                  batch: list[Any]) -> tuple[list[float], list[int]]:
    """Of each layer's result when it alone is quantized; and its multiplications for one example."""
    feeds = [graph.inputs[key] for key in sorted(graph.inputs)]
    names = sorted({layer.source for layer in layers})
    values = dict(zip(names, _quantize_graph.call(graph, feeds, names)(*batch)))
    examples = max(int(batch[0].shape[0]) if batch[0].shape.rank else 1, 1)
    rounded = _quantize_graph.quantized(graph, layers, ranges)
    errors, work = [], []
    progress = Progress("measuring layers", len(layers))
    for layer in layers:
        results = [_quantize_graph.call(side, [layer.source], [layer.name])(values[layer.source]) for side in (graph, rounded)]
        errors.append(_relative(results[1], results[0]))
        work.append(_quantize_graph.multiplications(graph, layer, int(results[0][0].shape.num_elements())) // examples)
        progress.step()
    return errors, work


def quantize(model: Any, data: Iterable[Any], out: str, *, method: str = "mse", error: float = ERROR,
             signature: str = "") -> Quantized:
    """Writes a quantized SavedModel to `out`, a folder that is not there yet or is empty.

    `model`: a SavedModel's folder or a Keras model. `data`: batches that look like what it will see, each an array, a list
    of arrays in the order of the inputs' names, or a dictionary. `method`: how the range of a layer's input follows from
    the numbers there, `minmax`, `percentile` (99.99) or `mse` (the least square error). `error`: the bound for the results.
    `signature`: of the SavedModel; without it `serving_default`, or the first.
    Raises ValueError where the model or the data do not fit.
    """
    if method not in METHODS:
        raise ValueError(f"method '{method}' is none of {', '.join(METHODS)}")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"'{out}' is there already")
    name, function, alive = _function(model, signature)
    graph = _quantize_graph.freeze(function)
    batches = _batches(graph, data)
    layers = _quantize_graph.layers(graph)
    statistics = _calibrate(graph, layers, batches)
    padded = {layer.source for layer in layers if layer.padded}
    ranges = {source: found.range(method, source in padded) for source, found in statistics.items()}
    layers = [layer for layer in layers if ranges[layer.source][0] < ranges[layer.source][1]]
    errors, work = _layer_errors(graph, layers, ranges, batches[0]) if layers else ([], [])
    order = [layer for _, layer in sorted(zip(errors, layers), key=lambda pair: pair[0])]  # the most exact ones first
    count, of_all, reached = _most_layers(graph, order, ranges, batches, error)
    chosen = {layer.name for layer in order[:count]}
    _quantize_graph.save(_quantize_graph.quantized(graph, order[:count], ranges), name, out)
    del alive
    rows = [QuantizedLayer(layer.name, layer.op, of, count, *ranges[layer.source], layer.name in chosen)
            for layer, of, count in zip(layers, errors, work)]
    histograms = {layer.name: (statistics[layer.source].counts.tolist(), statistics[layer.source].limit) for layer in layers}
    return Quantized(out, reached, of_all, rows, histograms)


def _most_layers(graph: Graph, order: list[Layer], ranges: dict[str, tuple[float, float]], batches: list[list[Any]],
                 bound: float) -> tuple[int, float, float]:
    """How many of the layers, from the first on, keep the error in its bound; the errors of all, and of those."""
    feeds, fetches = [graph.inputs[key] for key in sorted(graph.inputs)], [graph.outputs[key] for key in sorted(graph.outputs)]
    plain = _quantize_graph.call(graph, feeds, fetches)
    wanted = [plain(*batch) for batch in batches]
    progress = Progress("choosing layers", max(len(order), 1).bit_length() + 1)

    def error_of(count: int) -> float:
        function = _quantize_graph.call(_quantize_graph.quantized(graph, order[:count], ranges), feeds, fetches)
        progress.step()
        return _relative([y for batch in batches for y in function(*batch)], [y for ys in wanted for y in ys])

    of_all = error_of(len(order))
    if of_all <= bound:
        return len(order), of_all, of_all
    fits, fits_error, too_many = 0, 0.0, len(order)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        error = error_of(middle)
        if error <= bound:
            fits, fits_error = middle, error
        else:
            too_many = middle
    return fits, of_all, fits_error
