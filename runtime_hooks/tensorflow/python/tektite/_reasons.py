"""Reasons for which ops and calls are TensorFlow's, with what each means and what can be done, for people.

    of_ops(tektite.stats())     # [{"reason": "NO_IMPORTER", "ops": 3, "example": "...", "meaning": "...", "cure": "..."}]
    of_calls(tektite.stats())   # [{"reason": "SLOWER_THAN_HOST", "calls": 12, ...}]

Meanings are the compiler's (``tektite reasons``). Reasons that say nothing about a model, such as a graph's arguments,
are left out.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tektite._hook import open_hook
from tektite._library import Status, open_library, take_text

_EXPECTED = {"HOST_BOUNDARY", "CHEAP_OUTPUT", "FETCHED"}
_CURES = {
    "COMPARING": "nothing: later calls are compiled code's",
    "CONTROL_FLOW": "tektite explain names the op inside that is in the way",
    "FUNCTION_BODY": "tektite explain names the op inside that is in the way; move it out of the loop",
    "NOT_COMPILED": "tektite.warmup before the first request, or --compile=sync",
    "NO_CODE": "see the example; please report it",
    "NO_IMPORTER": "an op that Tektite lacks (docs/op_coverage.md); keep it out of inner loops",
    "OVER_BUDGET": "--compile_budget_ms=0",
    "SLOWER_THAN_HOST": "nothing: TensorFlow's kernels were measured to be faster",
    "TOO_SMALL": "nothing: a cluster of so little work would not pay; --min_cluster_cost decides",
    "UNSUPPORTED_TYPE": "another type, where the model allows it",
}


@functools.lru_cache(maxsize=1)
def meanings() -> dict[str, str]:
    """By code, of the compiler's reasons and of the hook's; without those whose library is not there."""
    text = ""
    hook = open_hook()
    if hook is not None:
        hook.tektite_hook_reasons.restype = ctypes.c_char_p
        text = hook.tektite_hook_reasons().decode()
    try:
        library = open_library()
    except OSError:
        library = None
    if library is not None:
        library.tektite_list.restype = ctypes.c_void_p
        library.tektite_list.argtypes = [ctypes.c_char_p]
        text += take_text(library, library.tektite_list(b"reasons"), Status())
    return {code: meaning for code, _, meaning in (line.partition("\t") for line in text.splitlines())}


def _row(reason: str, example: str) -> dict[str, Any]:
    return {"reason": reason, "example": example, "meaning": meanings().get(reason, ""), "cure": _CURES.get(reason, "")}


def of_ops(stats: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [{"ops": entry["ops"], **_row(reason, entry["example"])} for reason, entry in
            stats.get("left_out", {}).items() if reason not in _EXPECTED and entry["ops"]]
    return sorted(rows, key=lambda row: -row["ops"])


def of_calls(stats: dict[str, Any]) -> list[dict[str, Any]]:
    calls: dict[str, int] = stats.get("host", {}).get("fallbacks", {})
    examples = stats.get("fallback_examples", {})
    rows = [{"calls": count, **_row(reason, examples.get(reason, ""))} for reason, count in calls.items()]
    return sorted(rows, key=lambda row: -row["calls"])
