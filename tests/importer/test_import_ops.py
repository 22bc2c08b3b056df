"""Every op that can be imported, against TensorFlow: results, errors, refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import import_cases_arrays
import import_cases_assertions
import import_cases_complex
import import_cases_contents
import import_cases_convolution
import import_cases_elementwise
import import_cases_growing
import import_cases_images
import import_cases_layers
import import_cases_loops
import import_cases_matrices
import import_cases_movement
import import_cases_optimizers
import import_cases_positions
import import_cases_quantization
import import_cases_quantized_types
import import_cases_random
import import_cases_row_updates
import import_cases_segments
import import_cases_selections
import import_cases_windows
import import_cases_xla
from import_oracle import Case, Refused, check, close
from import_refusals import REFUSED_WITH_SYMBOLS

ROOT = Path(__file__).parents[2]
CASES = (
    import_cases_assertions.CASES
    + import_cases_elementwise.CASES
    + import_cases_movement.CASES
    + import_cases_convolution.CASES
    + import_cases_layers.CASES
    + import_cases_images.CASES
    + import_cases_optimizers.CASES
    + import_cases_positions.CASES
    + import_cases_quantization.CASES
    + import_cases_quantized_types.CASES
    + import_cases_random.CASES
    + import_cases_row_updates.CASES
    + import_cases_segments.CASES
    + import_cases_selections.CASES
    + import_cases_windows.CASES
    + import_cases_loops.CASES
    + import_cases_growing.CASES
    + import_cases_arrays.CASES
    + import_cases_complex.CASES
    + import_cases_contents.CASES
    + import_cases_matrices.CASES
    + import_cases_xla.CASES
)
UNTESTABLE = {"Const", "_Arg"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results(case: Case, binary: Path) -> None:
    check(case, binary)


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.refused and not c.fails and not c.differs], ids=lambda case: case.name
)
def test_results_with_symbolic_sizes(case: Case, binary: Path) -> None:
    """Without knowing the sizes, or at least the largest input's first one, results are the same; import_refusals.py
    lists the cases that the importer refuses."""
    refusal = ""
    try:
        check(case, binary, symbolic=lambda size, place: True)
    except Refused:
        batch = max(case.inputs, key=lambda x: x.size).shape[0]
        try:
            check(case, binary, symbolic=lambda size, place: place == 0 and size == batch)
        except Refused as refused:
            refusal = str(refused)
    expected = REFUSED_WITH_SYMBOLS.get(case.name, "")
    assert bool(refusal) == bool(expected) and expected in refusal, refusal or "it imports: remove it from the list"


def test_refusals_are_of_cases_that_exist() -> None:
    assert REFUSED_WITH_SYMBOLS.keys() <= {case.name for case in CASES}


def test_every_op_has_a_case() -> None:
    rows = (ROOT / "clustering/importer/import_list.inc").read_text()
    listed = set(re.findall(r"^TEKTITE_IMPORT\((\w+),", rows, re.MULTILINE))
    used = set().union(*(close(case).ops for case in CASES))
    assert listed <= used, listed - used


# The beginnings of names of ops that change variables.
WRITERS = re.compile(r"Assign\w*Variable|Resource(Apply|CountUpTo|Scatter|SparseApply|StridedSliceAssign)|Rng|"
                     r"Stateful(?!Partitioned)")


def test_every_op_that_changes_a_variable_is_listed() -> None:
    """The hook asks the lists (tektite_op_assigns): what they leave out would let it keep results of old values."""
    rows = (ROOT / "clustering/importer/import_list.inc").read_text() + (ROOT / "clustering/host_op_list.inc").read_text()
    listed = set(re.findall(r"^TEKTITE_(?:IMPORT|HOST_OP)\((\w+),.*k(?:Writes|Updates)Variable", rows, re.MULTILINE))
    definitions = {name: op_def_registry.get(name) for name in dir(tf.raw_ops)}
    changing = {name for name, definition in definitions.items() if definition is not None and WRITERS.match(name)
                and any(arg.type == tf.resource.as_datatype_enum for arg in definition.input_arg)}
    assert changing == listed


def test_every_op_with_several_outputs_is_listed() -> None:
    """An edge inside a function names an output of its op, and only this list tells which one that is."""
    rows = (ROOT / "clustering/importer/import_list.inc").read_text() + (ROOT / "clustering/host_op_list.inc").read_text()
    source = (ROOT / "clustering/graph_def/op_outputs.cc").read_text()
    listed = dict(re.findall(r'\{"(\w+)",\s*((?:"[\w ]+"\s*)+)\}', source))
    for op in re.findall(r"^TEKTITE_(?:IMPORT|HOST_OP)\((\w+),", rows, re.MULTILINE):
        definition = op_def_registry.get(op)
        if definition is None or len(definition.output_arg) < 2:
            continue
        if any(arg.number_attr or arg.type_list_attr for arg in definition.output_arg):
            continue
        names = listed.get(op, "").replace('"', "").split()
        assert names == [arg.name for arg in definition.output_arg], op
