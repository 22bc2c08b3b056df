"""What is known of TensorFlow: rows some of whose draws end its process, and differences that docs/numbers.md lists."""

from __future__ import annotations

import re

# Rows, and which inputs end stock TensorFlow.
ENDS_TENSORFLOW = {
    "BatchMatMulV2": "bfloat16 with broadcasting; [5,1,33,5] by the transposed [1,5] ends it, or has any result",
    "BatchMatMulV3": "bfloat16 with broadcasting",
    "ConjugateTranspose": "a scalar of float32: oneDNN's kernel checks that there are dimensions",
}

# Rows whose kernels read behind the end of an operand that is too small.
READS_BEYOND = {"ResourceApplyAdadelta"}

# Row, draw and difference; and the reason.
KNOWN: list[tuple[str, str, str, str]] = [
    ("Conv.*", "", "CPU implementations do not yet support dilation rates", "TensorFlow has no gradient of these types"),
    ("Depthwise.*", "", "does not support dilations", "TensorFlow has them in oneDNN alone"),
    (".*Conv[23][Dd].*", "", r"^result 0: \w+\[0, .*is right$", "oneDNN's result of an empty batch has the image's sizes"),
    ("(_Fused)?Conv2D", "gradient", "must have the same out_depth", "the gradient refuses oneDNN's result of an empty batch"),
    ("_FusedDepthwise.*", "", "InternalError", "TensorFlow's kernel has no result for one channel"),
    (".*GatherNd", "", "params is empty", "TensorFlow takes no places of an empty tensor, though their parts are empty"),
    ("MaxPool3DGradGrad", "", "received empty tensor", "TensorFlow takes no empty batch"),
    ("MaxPoolGradGrad(V2)?", "", r"where np\.\w+\(0(\.0)?\) is right", "where windows are pixels TensorFlow clears its result, which is the operand"),
    ("SplitV", "", "only one output", "its optimizer takes the op out of graphs"),
    ("Erf", "float64", "nan.* is right", "TensorFlow's erf of infinity in double precision is NaN"),
    ("Reverse", "", "Invalid input first dimension", "TensorFlow's kernel for small types refuses what is empty"),
    ("BatchMatMulV[23]", "", r"\[\d+, 1, \d+, 1\]\) differ.*is right", "TensorFlow writes beside columns of batches [n,1] that are broadcast"),
    ("Sqrt", "complex", "zero has the other sign", "TensorFlow's square root of -0i is +0i"),
    ("EuclideanNorm", "float16", r"inf\)? is right", "TensorFlow's squares of f16 overflow"),
    ("MatrixDiagV[23]", "gradient", "diag_index is out of bound", "TensorFlow's gradient asks at tracing for sizes that a call tells"),
    ("SparseMatMul", "rank unknown, gradient", "TypeError", "TensorFlow's gradient of f32 and bf16 asks for the rank in a graph"),
    ("Mean", "complex", r"nan\)? is right", "TensorFlow divides as by a complex number, and NaN spoils both parts"),
]

# Row and difference: where oneDNN may be wrong, TensorFlow without it (TF_ENABLE_ONEDNN_OPTS=0) says what is right.
ONEDNN = [
    # Its columns of one channel, with a stride beyond 1 and a result of width 1, are other images' ones; of bfloat16 they change from call to call.
    ("(_Fused)?Conv2D", r"\[\d+, \d+, 1, \d+\]\) differ.*is right"),
]


def may_be_onednn(op: str, difference: str) -> bool:
    return any(re.fullmatch(row, op) and re.search(what, difference) for row, what in ONEDNN)


def is_known(op: str, text: str, difference: str) -> bool:
    return any(re.fullmatch(row, op) and re.search(draw, text) and re.search(what, difference) for row, draw, what, _ in KNOWN)


# Rows that compiled code cannot run alone: TensorFlow's optimizer takes them out of graphs.
NOT_ALONE = "InvertPermutation PreventGradient Rank Shape ShapeN Size Snapshot StopGradient".split()
# The suite runs draw 0 of a row, or this one where that leaves the row to TensorFlow.
NUMBERS = {"Any": 2, "DepthToSpace": 1, "Erfinv": 1, "Identity": 2, "Igamma": 1, "IgammaGradA": 2, "Max": 1, "Min": 2, "Polygamma": 1,
           "Prod": 1, "RandomGammaGrad": 1, "Reshape": 1, "Transpose": 1, "Zeta": 1}
