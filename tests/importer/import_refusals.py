"""The cases that have no code for unknown sizes, and part of the importer's reason; test_import_ops.py reads them.

A case that is not here must import with symbols for its sizes, or at least for the largest input's first one.
"""

from import_cases_random import class_cases

REFUSED_WITH_SYMBOLS: dict[str, str] = {
    # How TensorFlow divides the rows among its threads depends on how many there are.
    **{case.name: "logits of" for case in class_cases() if case.inputs[0].shape[0] > 1 and not case.refused},
    # The number of results is the size.
    "Unpack0": "parts of size",
    "ComplexUnstack": "parts of size",
    # Its ranges are scalars where the size is 1.
    "QuantizeV2Axis0MIN_COMBINED": "a range for one index",
    "QuantizeV2Axis0SCALED": "a range for one index",
    # Beside a size of 0, an unknown one of 0 would not count.
    "ReshapeOf(5, 0)To[-1, 0]": "is 0",
    # Whether the diagonal is inside, and where it begins, depends on both sizes.
    "MatrixDiagPartV32(3, 5)": "a diagonal that may not be there",
    "MatrixDiagPartV3-1(3, 5)": "a diagonal that may not be there",
    "MatrixDiagPartV3-1(6, 2)": "a diagonal that may not be there",
    "MatrixSetDiagV30(3, 5)": "a matrix that is not square",
    "MatrixSetDiagV30(6, 2)": "a matrix that is not square",
    "MatrixSetDiagV32(3, 5)": "a diagonal that may not be there",
    "MatrixSetDiagV3-1(3, 5)": "a diagonal that may not be there",
    "MatrixSetDiagV3-1(6, 2)": "a diagonal that may not be there",
    # The largest input is the filter, whose first size is one of its window.
    "Conv2DBackpropInputStrided": "filter size",
    "Conv2DBackpropInputWide": "filter size",
    "Conv2DBackpropInputThirds": "filter size",
    "Conv2DBackpropInputSpecial2": "filter size",
    "Conv3DValid": "filter size",
    "Conv3DBackpropInputV2Valid": "filter size",
    "Conv3DBackpropInputV2Strided": "filter size",
}
