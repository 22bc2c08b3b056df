"""Special values in every op of the import table: compiled code answers as TensorFlow's kernels do.

A result's class must be equal: NaN, an infinity and its sign, zero and its sign, or a finite number within some
units in the last place.  KNOWN lists where it is not, and why; docs/numbers.md says the same for people.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.shared_results import once

pytestmark = pytest.mark.slow  # half a minute on either side
WORKER = Path(__file__).parent / "special_values.py"
IMPORT_LIST = Path(__file__).parents[2] / "clustering" / "importer" / "import_list.inc"
FLAGS = "--min_cluster_cost=0 --compile=sync --compare=false"

# Names of results, and why they may differ.
KNOWN = {
    r"rows\.Softmax/|layers\.Softmax": "oneDNN's softmax leaves a row's other elements at 0 beside NaN",
    r"TopK|rows\.(Arg)?Sort/": "TensorFlow's order of NaN depends on how its algorithm goes",
    r"SegmentM(ax|in)|TensorScatterM(ax|in)": "TensorFlow keeps NaN or not by the order of rows",
    r"Cast\.(b?float\d+)\.(u?int(8|16)|uint32|uint64)/|CastToint8": "TensorFlow's vectors and scalars differ",
    r"Erf\.float64|elementwise\.Erf1": "TensorFlow's erf of infinity in double precision is NaN",
    r"(Conv\dD|Depthwise|MatMul|Einsum|Backprop|BatchNorm|GradientOf|Pool|LinSpace|Resize|CrossEntropy|Fused|Dense|"
    r"Gelu|Mish|AdjustContrast)\w*.*/(turn|inf|-inf|row14|row15|row16|all)": "order of additions and overflow on the way",
    r"(Sum|Mean|Prod|EuclideanNorm|Cumsum|Cumprod)\w*(\[.*\]|\w*)/turn|rows\.(Sum|Mean|Cumsum|Norm|MatVec)/(row16|all)":
        "order of additions and overflow on the way",
    r"(Conv\dD|Backprop|Depthwise)\w*/nan": "padding is zeros, and meets the weights",
    r"RsqrtGrad\.float(32|64)/pairs": "a product on the way leaves the range of normal numbers",
    r"MaxPool(3D)?Grad": "a window that begins with NaN gives it TensorFlow's gradient",
    r"GradientOfBatchNorm": "differences of sums that nearly cancel",
    r"(Mean|EuclideanNorm|Sum|Prod)Half|float16|Sigmoid1|Half|Segment\w*Brain": "16-bit floats are rounded once",
    r"CumulativeLogsumexp\w*/(nan|turn)": "TensorFlow's comparisons pass NaN by or not",
    r"Erfinv\w*/turn": "TensorFlow's small numbers have lost their digits",
    r"[Qq]uantize\w*(Measured|OfZeros|Axis\dFalse)\w*/(nan|turn)": "TensorFlow's least number beside NaN is any",
    r"elementwise\.Igammac?/": "TensorFlow's sums of single precision end early: 0.72248 at (300, 310), where double is 0.722489",
    r"elementwise\.Betainc/turn1": "TensorFlow's single precision is 1 at (200, 2^63, 1e-38), where double is 0",
    r"IgammaGradA\w*/turn|RandomGammaGrad\w*/turn": "TensorFlow's density underflows, and its slope is 0 from there on",
    r"FusedBatchNormV3TrainingOne\S*/zeros": "oneDNN's mean of one number adds it to 0, and loses the sign of -0",
    r"windows\.LRN": "TensorFlow's band of ones and zeros meets what is not finite in every channel",
    r"denormal\.(Asin|Asinh|Atan|Atanh|Expm1|Log1p|Sign|Sin|Sinh|Atan2|Pow|InvGrad|RsqrtGrad|SigmoidGrad|SqrtGrad|"
    r"Xdivy|Xlogy|Xlog1py|Log|Relu|Relu6)/": "denormals are 0 on some threads",
}
if "avx512f" not in Path("/proc/cpuinfo").read_text():
    KNOWN[r"QuantizeV2quint8MIN_FIRST"] = "TensorFlow's vectors of AVX2 make 0 of what is too large"
# Zeros whose sign depends on the place in a vector.
ZEROS = r"egment|uantize|Logsumexp|Relu|Max|Min|Clip|Grad|Xdivy|Xlog|LinSpace|Einsum|AdjustContrast|AvgPool"
# Ops without floats, or whose values do not pass through arithmetic.
NO_FLOATS = set("""AssignAddVariableOp AssignSubVariableOp AssignVariableOp BitwiseAnd BitwiseOr LogicalAnd LogicalNot
LogicalOr OneHot PopulationCount ReadVariableOp ResourceGather ResourceGatherNd Size VariableShape Case If
PartitionedCall StatefulPartitionedCall StatelessCase StatelessIf StatelessMultinomial StatelessRandomGetKeyCounter StatelessRandomNormal
StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessWhile While EmptyTensorList
TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem TensorListLength TensorListPopBack
TensorListPushBack TensorListReserve TensorListResize TensorListSetItem TensorListStack RngReadAndSkip RngSkip StatefulUniformFullInt
StatefulUniform StatefulUniformInt StatelessRandomGetAlg StatelessRandomGetKeyCounterAlg StatefulStandardNormalV2
StatefulTruncatedNormal StatelessTruncatedNormal StatelessTruncatedNormalV2 TensorListConcatV2 TensorListSplit
TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3
TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3""".split())
# Complex numbers, spectra and matrices: tests/importer/import_cases_complex.py and import_cases_matrices.py hold
# special values of their own, and TensorFlow's results are compared with there.  Updates of some rows of a variable:
# tests/importer/import_cases_row_updates.py and the draws of tests/properties/state.py do.
ATTACKED_ELSEWHERE = set("""Angle Cholesky Complex ComplexAbs Conj FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D
IRFFT3D Imag MatrixInverse MatrixSolve MatrixTriangularSolve Qr RFFT RFFT2D RFFT3D Real SelfAdjointEigV2 Svd
TridiagonalMatMul TridiagonalSolve""".split())
DEFAULT_ULPS = 16.0
# Of the largest finite result, for results that are sums.
SUMS = 4e-6


def run(path: Path, tektite: str) -> dict[str, np.ndarray]:
    env = {k: v for k, v in os.environ.items() if k not in ("TEKTITE", "TEKTITE_FLAGS")}
    env.update(TEKTITE=tektite, TEKTITE_FLAGS=FLAGS, TF_CPP_MIN_LOG_LEVEL="3")
    subprocess.run([sys.executable, str(WORKER), str(path)], env=env, check=True, timeout=900)
    with np.load(path) as results:
        return dict(results)


def differing(got: np.ndarray, want: np.ndarray, any_zero: bool) -> np.ndarray:
    """Of each element whether its class or its value is another one."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.array([True])
    if want.dtype.kind != "f":
        return np.asarray(got != want)
    a, b = got.astype(np.float64), want.astype(np.float64)
    unit = float(np.finfo(want.dtype).eps)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        largest = np.max(np.abs(b), initial=0, where=finite)
        room = np.maximum(DEFAULT_ULPS * unit * np.abs(b), SUMS * min(largest, 1e30))
        close = finite & (a != 0) & (b != 0) & (np.abs(a - b) <= room)
        same = (a == b) & (any_zero | (np.signbit(a) == np.signbit(b)))
        return ~(same | close | (np.isnan(a) & np.isnan(b)))


def describe(name: str, got: np.ndarray, want: np.ndarray, bad: np.ndarray) -> str:
    if bad.shape != want.shape:
        return f"{name}: {got.dtype}{list(got.shape)} where TensorFlow has {want.dtype}{list(want.shape)}"
    place = tuple(np.argwhere(bad)[0])
    return f"{name}: {int(bad.sum())} differ, at {[int(i) for i in place]} {got[place]}, TensorFlow {want[place]}"


@pytest.fixture
def results(tmp_path_factory) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    spec = importlib.util.find_spec("tektite")
    if spec is None or not (Path(spec.origin).parent / "lib" / "libtektite.so").exists():
        pytest.fail("the plugin is not installed here (scripts/setup does it)")

    def run_both_sides():
        folder = tmp_path_factory.mktemp("special")
        with ThreadPoolExecutor(2) as pool:
            stock, compiled = pool.map(lambda switch: run(folder / f"{switch}.npz", switch), ("0", "1"))
        return stock, compiled

    return once(tmp_path_factory, "special_values", run_both_sides)


def test_special_values_are_tensorflows(results):
    stock, compiled = results
    wrong = []
    for name, want in stock.items():
        if name in ("ops", "compiled") or any(re.search(pattern, name) for pattern in KNOWN):
            continue
        bad = differing(compiled[name], want, bool(re.search(ZEROS, name)))
        if np.any(bad):
            wrong.append(describe(name, compiled[name], want, bad))
    assert not wrong, "\n".join([f"{len(wrong)} results differ", *wrong[:40]])


def test_what_is_known_to_differ_does(results):
    """A reason without a difference has been settled, and goes."""
    stock, compiled = results
    for pattern in KNOWN:
        names = [name for name in stock if re.search(pattern, name) and name not in ("ops", "compiled")]
        assert any(np.any(differing(compiled[name], stock[name], False)) for name in names), pattern


def test_every_importer_is_attacked(results):
    stock, compiled = results
    rows = set(re.findall(r"^TEKTITE_IMPORT\((\w+),", IMPORT_LIST.read_text(), re.MULTILINE))
    missing = rows - set(stock["ops"]) - NO_FLOATS - ATTACKED_ELSEWHERE
    # XLA's own run in functions for XLA alone: import_cases_xla.py has special values of theirs.
    missing = {op for op in missing if not re.match("Xla|ResourceScatter|ResourceSparseApply|ResourceStridedSlice", op)}
    assert not missing, sorted(missing)
    assert len(compiled["compiled"]) >= 0.9 * len({name.split("/")[0] for name in stock})
