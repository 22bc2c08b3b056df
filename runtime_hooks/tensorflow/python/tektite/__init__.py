"""Tektite: a compiler that plugs into the stock TensorFlow wheel.

Nothing needs to be imported to use it: set ``TEKTITE=1`` and run your program. This package switches it on
from inside, compiles single functions, warms up a server, and tells what happened:

>>> import tektite
>>> tektite.enable()
>>> import tensorflow as tf
>>> tektite.is_active()
True

A part of a model, or a function that has to be compiled whole:

>>> @tf.function
... def layer(x):
...     with tektite.scope("layer"):
...         return tf.nn.softmax(x * 2.0)
>>> layer(tf.ones([2, 4])).numpy().tolist()
[[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]
>>> double = tektite.jit(lambda x: x + x, must_compile=True)
>>> double(tf.constant([1.0, 2.0])).numpy().tolist()
[2.0, 4.0]
>>> words = tektite.jit(lambda x: tf.strings.length(x), must_compile=True)
>>> words(tf.constant(["one", "three"]))
Traceback (most recent call last):
    ...
tektite._functions.NotCompiledError: <lambda>: StringLength 'StringLength' cannot be compiled: NO_IMPORTER

A report on what would be compiled, and code that is ready before the first request:

>>> report = tektite.explain(layer, tf.TensorSpec([None, 1024]))
>>> report.ops, report.clustered
(2, 2)
>>> tektite.warmup(layer, [(8, 1024), (16, 1024)])
>>> tektite.stats()["compiles"] + tektite.stats()["loaded_modules"] > 0
True
"""

from __future__ import annotations

import os
import sys
from typing import Any

from tektite._aot import aot
from tektite._explain import Cluster, Explanation, LeftOut
from tektite._functions import Jit, NotCompiledError, explain, jit, scope, wait_until_compiled, warmup
from tektite._hook import open_hook, read_stats
from tektite._quantize import Quantized, quantize

__all__ = ["Cluster", "Explanation", "Jit", "LeftOut", "NotCompiledError", "Quantized", "__version__", "aot", "enable", "explain",
           "is_active", "jit", "quantize", "scope", "stats", "wait_until_compiled", "warmup"]

__version__ = "0.1.0"


def is_active() -> bool:
    """Whether the hook is loaded, so that a switch or an annotation has an effect.

    False with ``TEKTITE=0``, before ``import tensorflow``, and where no hook fits the TensorFlow at hand.
    """
    return open_hook() is not None


def enable() -> None:
    """Compiles every graph from now on, as ``TEKTITE=1`` does; before or after ``import tensorflow``.

    Graphs that TensorFlow has optimised already stay as they are. Raises ``RuntimeError`` where
    TensorFlow was imported with ``TEKTITE=0``, or no hook fits it.
    """
    os.environ["TEKTITE"] = "1"
    if "tensorflow" not in sys.modules:
        return
    hook = open_hook()
    if hook is None:
        raise RuntimeError("tektite: TensorFlow runs without the hook: it was imported with TEKTITE=0, or there "
                           "is none for this version")
    hook.tektite_hook_enable()
    from tektite import _direct

    _direct.install()


def stats() -> dict[str, Any]:
    """Counters and reasons of this process so far.

    The compiler's own entries (``clusters``, ``compiles``, ``loaded_modules``, which were read from the disk
    cache instead, ``compile_seconds``, ``load_seconds``, ``runs``, ``fallbacks``, ``ops``, ``clustered_ops``,
    ``left_out``, ...) are missing until the first graph needed the compiler. ``loops_in_parts`` says of each loop that
    TensorFlow steers how many clusters a turn calls, and how many ops of how many are in them; ``FUNCTION_BODY`` in
    ``left_out`` why one was not compiled whole. ``comparison`` says how many classes of shapes compiled code has won
    against TensorFlow's kernels, and lost.
    ``host`` holds the hook's: ``graphs`` seen, ``repeated_graphs`` (of these, equal to earlier ones; the compiler
    counts their ops no more), ``clusters_placed``, ``ops_placed``, ``kept_loops`` and ``xla_calls`` among
    these, ``lowered_loops`` that were kept for no cluster, ``rebuilt_loops`` of TensorFlow 1 and ``unrebuilt_graphs``,
    whose loops could not be rebuilt, ``runs``, of these ``direct_runs`` past
    TensorFlow's function runtime, ``prepared_fallbacks`` (TensorFlow's kernels of a cluster, made in the background), ``remade_clusters`` and
    ``runs_in_advance`` of these,
    ``holds`` and ``releases`` of variables, ``updates`` of variables by compiled code and ``copied_updates``, those of
    them that took new memory, ``direct_calls_off``, why no call is direct, where that is so, ``not_placed`` and ``fallbacks`` by reason. Empty when not active.
    """
    hook = open_hook()
    return {} if hook is None else read_stats(hook)
