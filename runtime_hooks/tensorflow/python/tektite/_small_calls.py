"""Functions too small for a cluster, which Python calls often.

Why: a cluster must be worth the function call that runs it, so what a function of a few small ops computes is left to
TensorFlow. But where Python calls a function that is one cluster, the call goes past TensorFlow's function runtime
(_direct.py), which spares more than any cluster costs. Marking cannot know who calls: loops and input pipelines call
functions, too. So a function that Python has called often gets a copy whose ops say that Python alone calls it::

    f        ops                                        what graphs call
    f_calls  the same ops, with _tektite_from_python    what Python calls from then on (_xla_calls.py)

Limits: none where calls are to be reproducible. All ops must be ones that are compiled, at most _MOST_OPS of them, and
connected: a copy that is no cluster goes again.
"""

from __future__ import annotations

from typing import Any

from tektite import _xla_calls
from tektite._explain import explain_or_none
from tektite._hook import is_switched_on
from tektite._private_state import part

_MOST_OPS = 256  # what costs more is compiled anyway, or is held up by one of them
_ASKED = "_tektite_small"  # in an AtomicFunction's dictionary
_FROM_PYTHON = "_tektite_from_python"
_NO_FAILURE = _xla_calls.NO_FAILURE | {"TOO_SMALL"}


def _is_reproducible() -> bool:
    """Calls that are to be reproducible do not change sides."""
    return is_switched_on("reproducible") or bool(part("util._pywrap_determinism").is_enabled())


def _is_small(atomic: Any) -> bool:
    """Whether all of it can be compiled, as one cluster if any: TensorFlow may make it smaller still."""
    said = explain_or_none(atomic.graph.as_graph_def().SerializeToString())
    return said is not None and len(said.clusters) <= 1 and all(op.reason in _NO_FAILURE for op in said.left_out)


def wrap(atomic: Any) -> bool:
    """Whether Python calls a copy of ``atomic`` from now on. The second question about one takes the copy away: it is
    no cluster either, since parts of it have nothing to do with each other."""
    memo = atomic.__dict__
    if _ASKED in memo:
        _xla_calls.wrap(atomic, None)
        return False
    memo[_ASKED] = True
    if _xla_calls.has_mark(atomic) or _is_reproducible():
        return False
    definition = atomic.cached_definition
    if len(definition.node_def) > _MOST_OPS or not _is_small(atomic):
        return False
    copy = type(definition)()
    copy.CopyFrom(definition)
    copy.signature.name += "_calls"
    for node in copy.node_def:
        node.attr[_FROM_PYTHON].b = True
    wrapper = part("eager.polymorphic_function.atomic_function").from_function_def(copy, atomic.function_type)
    wrapper._cached_graph = atomic.graph  # errors show the user's lines
    _xla_calls.wrap(atomic, wrapper)
    return True
