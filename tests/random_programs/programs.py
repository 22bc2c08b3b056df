"""Random programs: how one is made, what it should compute, and how close to that is close enough.

    program = make_program(seed)                 # needs TensorFlow, without Tektite
    print(program.source())                      # Python that defines f
    wanted = evaluate(program, sizes)            # results, and the error each may have

The effect of an inexact op on a program's results is measured: the program is evaluated once more by line with every
operand and result of such an op changed by a few units in the last place (`TWINS` times), zeros whose sign is free by
that, and results may differ from TensorFlow's by some multiple of how far these are apart.  The first twin evaluates lines
of several roundings (loops, gradients) in double precision, which shows what cancels within one.  Where the twins disagree
about what is finite, nothing is compared.  Ops that jump (floor, compare, argmax) are only applied to values that are
exact.
"""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import numpy as np
import tensorflow as tf

from tests.random_programs.loops import collected, turns_of
from tests.random_programs.operations import FLOATS, FREE_ZEROS, INTS, Known, random_line
from tests.random_programs.positions import masked, positions, selected

TWINS = 3
SEVERAL_ROUNDINGS = 100  # units of such a line
SLACK = 16  # times the twins' distance
OF_NAN = -1.0  # allowed where TensorFlow has NaN, computing op by op
MOST_ELEMENTS = 20000
LEAST_DILATED = 5  # pixels that a filter of three taps takes
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 3e4, 1e-4, -2.5]
# Beside the others where sizes are unknown: as many as all of them.
OF_SIZES = ((24, positions), (6, masked), (14, selected))
SIZES = {"A": (1, 2, 3, 5, 8, 17, 33), "B": (1, 2, 4, 7, 16, 40), "C": (1, 3, 8, 20)}


@dataclasses.dataclass
class Input:
    dtype: str
    dims: tuple[str | int, ...]
    kind: str  # "argument", "variable", "constant"
    special: bool
    seed: int

    def value(self, sizes: dict[str, int]) -> np.ndarray:
        shape = [sizes[d] if isinstance(d, str) else d for d in self.dims]
        rng = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if self.dtype in INTS:
            low = 0 if self.dtype.startswith("u") else -5
            return rng.integers(low, 12, shape).astype(self.dtype)
        x = rng.normal(0, 1.5, shape)
        if self.special and x.size:
            places = rng.random(shape) < 0.2
            x = np.where(places, rng.choice(SPECIAL, shape), x)
        return x.astype(tf.as_dtype(self.dtype).as_numpy_dtype)


@dataclasses.dataclass
class Program:
    seed: int
    inputs: list[Input]
    lines: list[tuple[str, str, int]]  # name, text, units in the last place that it may be wrong by
    outputs: list[str]
    states: dict[int, str]  # variables that are assigned to, and the last value of each
    exact: dict[str, bool]
    signature: str  # "static", "sizes unknown", "rank unknown"
    sizes: list[dict[str, int]]

    def results(self) -> list[str]:
        """The results of a call: its outputs, and the variables' values after it."""
        return [*self.outputs, *self.states.values()]

    def source(self) -> str:
        arguments = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        body = "\n".join(f"    {name} = {text}" for name, text, _ in self.lines)
        return f"def f({arguments}):\n{body}\n    return [{', '.join(self.outputs)}]\n"

    def describe(self) -> str:
        inputs = "".join(f"# x{i}: {x.kind} {x.dtype}{list(x.dims)}{' special' if x.special else ''}\n"
                         for i, x in enumerate(self.inputs))
        return f"# seed {self.seed}, {self.signature}, {self.sizes}\n{inputs}{self.source()}"


def gradient_of(function: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def updated(variable: int, method: str, old: Any, value: Any) -> Any:
    """The value that an assignment computes from a variable's old value; a program that runs has the variable itself
    assigned to."""
    del variable
    if old.shape != value.shape:
        raise ValueError("a variable keeps its shape")
    return {"assign": value, "assign_add": old + value, "assign_sub": old - value}[method]


def globals_of_programs() -> dict[str, Any]:
    return {"tf": tf, "np": np, "gradient_of": gradient_of, "updated": updated, "turns_of": turns_of, "collected": collected}


def random_input(rng: random.Random) -> Input:
    dtype = rng.choices(("float32", *FLOATS[1:], "int32", "int64", "uint8", "int8", "bool"),
                        (12, 2, 1, 1, 3, 1, 1, 1, 2))[0]
    dims = tuple(rng.choice(("A", "A", "B", "B", "C", 1, 3, 4)) for _ in range(rng.choices(range(5), (1, 2, 5, 3, 2))[0]))
    kind = rng.choices(("argument", "variable", "constant"), (6, 1, 1))[0]
    if kind != "argument":
        dims = tuple(rng.choice((1, 2, 3, 4, 8)) for _ in dims)
    return Input(dtype, dims, kind, rng.random() < 0.3, rng.randrange(2**31))


def perturbed(x: tf.Tensor, rng: np.random.Generator, ulps: int) -> tf.Tensor:
    if x.dtype.name not in FLOATS:
        return x
    noise = rng.uniform(-1, 1, x.shape) * ulps * EPSILON[x.dtype.name]
    if x.dtype.name in ("float16", "bfloat16"):  # a unit up or down, or nothing
        noise = rng.integers(-1, 2, x.shape) * EPSILON[x.dtype.name]
    wide = tf.cast(x, tf.float64)
    return tf.cast(wide + wide * noise, x.dtype)


def with_other_zeros(x: tf.Tensor, rng: np.random.Generator) -> tf.Tensor:
    """Zeros of any sign."""
    if x.dtype.name not in FLOATS:
        return x
    return tf.where((x == 0) & (rng.random(x.shape) < 0.5), -x, x)


class Evaluation:
    """The values of a program's lines, and those of its twins."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.values: dict[str, Any] = {}
        self.twins: list[dict[str, Any]] = [{} for _ in range(TWINS)]
        self.globals = globals_of_programs()

    def put(self, name: str, value: Any) -> None:
        for values in [self.values, *self.twins]:
            values[name] = tf.constant(value)

    def carry(self, name: str, earlier: Evaluation, state: str) -> None:
        """A variable begins with what the call before has left in it."""
        for values, old in zip([self.values, *self.twins], [earlier.values, *earlier.twins]):
            values[name] = old[state]

    def evaluate(self, text: str, values: dict[str, Any]) -> Any:
        """With the values as globals: a lambda sees no locals of eval's."""
        return eval(text, {**self.globals, **values})

    def evaluate_in_double(self, text: str, values: dict[str, Any], value: tf.Tensor) -> tf.Tensor:
        """As far from `value`, the result in its own type, as that element is that is farthest: of the row, of gradients
        (which may cancel to nothing) of all."""
        wide = {k: tf.cast(v, tf.float64) if k in text and v.dtype.name in FLOATS else v for k, v in values.items()}
        try:
            result = tf.cast(self.evaluate(text, wide), value.dtype)
        except (tf.errors.OpError, TypeError, ValueError):  # a type stands in the line
            return self.evaluate(text, values)
        distance = tf.abs(result - value)
        if value.dtype.name not in FLOATS or not value.shape.rank or not np.all(np.isfinite(as_double(distance))):
            return result
        return value + tf.reduce_max(distance, None if "gradient_of" in text else -1, keepdims=True)

    def line(self, name: str, text: str, ulps: int) -> tf.Tensor:
        value = self.evaluate(text, self.values)
        if not isinstance(value, tf.Tensor):
            raise TypeError("not a dense tensor")
        if "conv" in text and convolves_nothing(text, self.values, value):
            raise ValueError("oneDNN's result of an empty image has other sizes than the op")
        self.values[name] = value
        for twin in self.twins:
            if ulps == 0:
                twin[name] = self.evaluate(text, twin)
            else:
                changed = {k: perturbed(v, self.rng, ulps) if k in text else v for k, v in twin.items()}
                in_double = ulps >= SEVERAL_ROUNDINGS and twin is self.twins[0]
                result = self.evaluate_in_double(text, changed, value) if in_double else self.evaluate(text, changed)
                twin[name] = perturbed(result, self.rng, ulps)
            if ulps or any(word in text for word in FREE_ZEROS):
                twin[name] = with_other_zeros(twin[name], self.rng)
        return value

    def distance(self, name: str) -> np.ndarray:
        return apart(self.values[name], [twin[name] for twin in self.twins])


def convolves_nothing(text: str, values: dict[str, Any], value: tf.Tensor) -> bool:
    """An image without pixels, or one that a filter in dilated places does not fit into: memory that nobody has written."""
    operand = re.search(r"conv2d\((\w+),", text)
    image = values[operand[1]].shape[1:3] if operand and operand[1] in values else [0]
    is_outside = "dilations=[2" in text and "VALID" in text and min(image) < LEAST_DILATED
    return value.shape.num_elements() == 0 or is_outside


def apart(x: Any, twins: list[Any]) -> np.ndarray:
    """How far apart a value and its twins are; NaN where they disagree about what is finite."""
    value = as_double(x)
    with np.errstate(all="ignore"):
        result = np.zeros(value.shape)
        for twin in twins:
            other = as_double(twin)
            if other.shape != value.shape:
                return np.full(value.shape, np.nan)
            same = (value == other) | (np.isnan(value) & np.isnan(other))
            result = np.maximum(result, np.where(same, 0, np.abs(value - other)))
        return np.where(np.isinf(result), np.nan, result)


def plain(x: Any) -> np.ndarray:
    """np.asarray refuses scalars of bfloat16."""
    return np.asarray(x.numpy() if hasattr(x, "numpy") else x)


def as_double(x: Any) -> np.ndarray:
    return plain(x).astype(np.float64)


def make_program(seed: int, of_sizes: bool = False) -> Program:
    """`of_sizes`: no size of an argument is known at tracing, and half of the lines compute with them."""
    rng = random.Random(f"sizes {seed}" if of_sizes else seed)
    sizes = {k: rng.choice(v) for k, v in SIZES.items()}
    inputs = [random_input(rng) for _ in range(rng.randint(1, 4))]
    run = Evaluation(seed)
    known: list[Known] = []
    states: dict[int, Known] = {}
    for i, x in enumerate(inputs):
        value = x.value(sizes)
        run.put(f"x{i}", value)
        known.append(Known(f"x{i}", x.dtype, value.shape, True, not x.special))
        if x.kind == "variable" and x.dtype != "bool" and rng.random() < 0.7:
            known[-1] = states[i] = known[-1]._replace(exact=x.dtype in INTS or rng.random() < 0.5)
    lines: list[tuple[str, str, int]] = []
    wanted = rng.choice((2, 4, 6, 8, 12, 20))
    for _ in range(wanted * 6):
        if len(lines) >= wanted:
            break
        line = random_line(rng, known, states, OF_SIZES if of_sizes else ())
        used = [] if line is None else [v for v in known if v.name in line.text]
        if line is None or not used or (line.steep and not all(v.exact for v in used)) \
                or (line.tame and not all(v.tame for v in used)):
            continue
        ulps = 0 if line.exact else line.ulps
        name = f"v{len(lines)}_"
        try:
            value = run.line(name, line.text, ulps)
        except Exception:  # noqa: BLE001  whatever TensorFlow says to a line that makes no sense
            continue
        if value.dtype.name not in (*FLOATS, *INTS, "bool") or value.shape.num_elements() > MOST_ELEMENTS \
                or value.shape.rank > 6:
            continue
        lines.append((name, line.text, ulps))
        exact = (line.exact or value.dtype.name in INTS) and all(v.exact for v in used)
        tame = all(v.tame for v in used) and bool(np.all(np.isfinite(as_double(value))))
        known.append(Known(name, value.dtype.name, tuple(value.shape), exact, tame))
        if line.text.startswith("updated("):
            states[int(line.text[len("updated("):].split(",")[0])] = known[-1]
    made = [v for v in known if v.name.startswith("v")]
    read = " ".join(text for _, text, _ in lines)
    outputs = [v.name for v in made if v.name not in read or rng.random() < 0.15]
    more = [{k: rng.choice((*v, 0) if rng.random() < 0.3 else v) for k, v in SIZES.items()}
            for _ in range(rng.choice((0, 1, 2)))]
    signature = "sizes unknown" if of_sizes else rng.choices(("static", "sizes unknown", "rank unknown"), (4, 5, 1))[0]
    last = {i: v.name for i, v in states.items()}
    return Program(seed, inputs, lines, outputs, last, {v.name: v.exact for v in known}, signature, [sizes, *more])


def spec_of(x: Input, program: Program) -> tf.TensorSpec:
    if program.signature == "rank unknown":
        return tf.TensorSpec(None, x.dtype)
    unknown = program.signature == "sizes unknown"
    sizes = program.sizes[0]
    return tf.TensorSpec([(None if unknown else sizes[d]) if isinstance(d, str) else d for d in x.dims], x.dtype)


def run_program(program: Program, rounds: int = 1) -> list[list[np.ndarray] | str]:
    """The outputs of each of the calls and what it leaves in variables, or the kind of error, in a tf.function.  A call
    that fails is the last where there are variables that it may have assigned to.  Programs without assignments are
    called for several rounds, the last of which counts."""
    held: dict[int, Any] = {}

    def assign(variable: int, method: str, old: Any, value: Any) -> Any:
        del old
        getattr(held[variable], method)(value)
        return held[variable].read_value()

    scope = {**globals_of_programs(), "updated": assign}
    exec(program.source(), scope)
    for i, x in enumerate(program.inputs):
        if x.kind != "argument":
            value = x.value(program.sizes[0])
            held[i] = tf.Variable(value) if x.kind == "variable" else tf.constant(value)
    places = [i for i, x in enumerate(program.inputs) if x.kind == "argument"]

    def body(*arguments):
        given = {**{i: tf.convert_to_tensor(v) for i, v in held.items()}, **dict(zip(places, arguments))}
        return scope["f"](*(given[i] for i in range(len(program.inputs))))

    def fresh():
        specs = [spec_of(program.inputs[i], program) for i in places]
        return tf.function(body, input_signature=specs if program.signature != "static" else None, autograph=False)

    def call(sizes: dict[str, int]) -> list[np.ndarray] | str:
        arguments = [tf.constant(program.inputs[i].value(sizes)) for i in places]
        try:
            return [plain(r) for r in function(*arguments)] + [plain(held[i]) for i in program.states]
        except tf.errors.OpError as error:
            return f"error {type(error).__name__}"
        except (TypeError, ValueError, IndexError) as error:
            return f"cannot be traced: {type(error).__name__}"

    function = fresh()
    results: list[list[np.ndarray] | str] = []
    for _ in range(1 if program.states else rounds):
        results = []
        for sizes in program.sizes:
            results.append(call(sizes))
            if program.states and isinstance(results[-1], str):
                break
    return results


def tolerances(program: Program) -> list[list[np.ndarray] | None]:
    """For each call and output the largest difference of each element that is no mistake, NaN: any; None for a call
    that fails."""
    result: list[list[np.ndarray] | None] = []
    earlier: Evaluation | None = None
    for sizes in program.sizes:
        run = Evaluation(program.seed + 1)
        try:
            for i, x in enumerate(program.inputs):
                if earlier and i in program.states:
                    run.carry(f"x{i}", earlier, program.states[i])
                else:
                    run.put(f"x{i}", x.value(sizes if x.kind == "argument" else program.sizes[0]))
            for line in program.lines:
                run.line(*line)
        except Exception:  # noqa: BLE001
            result.append(None)
            if program.states:
                break
            continue
        result.append([tolerance(run, name, program.exact[name]) for name in program.results()])
        earlier = run
    return result


def tolerance(run: Evaluation, name: str, exact: bool) -> np.ndarray:
    value = run.values[name]
    if exact or value.dtype.name not in FLOATS:
        return np.where(run.distance(name) == 0, 0, np.nan)  # twins differ by zeros' signs alone
    return np.where(np.isnan(as_double(value)), OF_NAN, room(value, run.distance(name)))


def room(value: Any, distance: np.ndarray) -> np.ndarray:
    """How far from TensorFlow's value another may be whose twins are that far apart."""
    with np.errstate(all="ignore"):
        own = np.where(np.isfinite(as_double(value)), np.abs(as_double(value)), 0) * EPSILON[value.dtype.name]
    tiny = 2.0**-126 if value.dtype.name == "float32" else 2.0**-14 * EPSILON["float16"] * 4 \
        if value.dtype.name == "float16" else 2.0**-126
    # Denormals may be flushed, also those that something is multiplied by afterwards.
    return SLACK * (distance + own) + tiny * SLACK**2


def mistakes(got: np.ndarray, want: np.ndarray, allowed: np.ndarray) -> str:
    """Empty where there are none.  `allowed` has the shape that TensorFlow computes op by op: where its function has lost
    the result (an empty one from some loops with branches), or has a number in place of a NaN (a maximum beside a NaN goes
    by the order that a kernel happens to read in), it is no witness."""
    if want.shape != allowed.shape and got.shape == allowed.shape:
        return ""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} where {want.dtype}{list(want.shape)} is right"
    if got.dtype.kind in "biu":
        bad = got != want
        if allowed.shape == want.shape:
            bad &= ~np.isnan(allowed)
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        if allowed.shape != b.shape:
            return ""
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | np.isnan(allowed) | ((allowed == OF_NAN) & ~np.isnan(b))
            bad = ~(same | (np.abs(a - b) <= allowed))
    if not np.any(bad):
        return ""
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    return (f"{np.sum(bad)} of {want.size} elements ({got.dtype}{list(got.shape)}) differ, at {place}: "
            f"{got[place]!r} where {want[place]!r} is right, {allowed[place]:.3g} allowed")
