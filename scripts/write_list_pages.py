"""Writes the pages of docs/ that are tables out of the compiler's lists: flags.md, reasons.md, ir/loop_ir.md and
design/call_states.md.

    python3 scripts/write_list_pages.py            after a change of a list
    python3 scripts/write_list_pages.py --check    change nothing; exit code 1 where a page is not current
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ROOT / "jit/base/flag_list.inc"
OPS_LEFT_OUT, FALLBACKS = ROOT / "clustering/reason_list.inc", ROOT / "jit/serving/fallback_list.inc"
HOST_REASONS = ROOT / "runtime_hooks/tensorflow/reasons/host_reason_list.inc"

FLAGS_HEAD = """# Flags

`TEKTITE_FLAGS="--name=value ..."` sets them, for TensorFlow as for the `tektite` command, which prints this
list as `tektite flags`. A bool needs no value: `--verify` is `--verify=true`. Code compiled under another
value of a flag that changes code is not used again.

Written by `scripts/write_list_pages.py` out of `jit/base/flag_list.inc`; do not edit it here.

| flag | default | changes code | what it does |
|---|---|---|---|
"""
REASONS_HEAD = """# Reasons

Where the host's own kernels run, one of these codes says why; `tektite reasons` prints the list. Codes are
stable: scripts may rely on them.

Written by `scripts/write_list_pages.py` out of `clustering/reason_list.inc`, `jit/serving/fallback_list.inc` and
`runtime_hooks/tensorflow/reasons/host_reason_list.inc`; do not edit it here.

## Why an op is in no cluster

`tektite explain` and `tektite.explain` name the ops, `left_out` of `tektite.stats()` counts them.

| code | why |
|---|---|
"""
CALL_STATES = ROOT / "jit/serving/call_state_list.inc"
CALL_STATES_HEAD = """# The states of a class of calls

Serving asks one question per call: what is worth it now? `jit/serving/call_state.h` holds the answers so far. The
states up to *packing* are those of a cluster's code, which several classes of calls may share; a class of calls goes on
from *packing*. [comparisons.md](comparisons.md) says how the sides are compared.

Written by `scripts/write_list_pages.py` out of `jit/serving/call_state_list.inc`; do not edit it here.

| state | who runs a call | next | when |
|---|---|---|---|
"""
LOOP_CODES = ROOT / "jit/llvm/code_list.inc"
LOOP_IR_HEAD = """# The loop IR

What kernel emitters write, and `jit/llvm` lowers to LLVM IR: a structured program over scalars and explicit vectors, with loops that
carry values, loads and stores with masks, and arithmetic named by the tensor IR's ops. `jit/llvm/loop_ir.h` has the
semantics and the builder's calls; `--dump_to=DIR` leaves the program of each kernel as text.

- **Types**: an element type and a number of lanes, or a pointer. Index arithmetic is s64; indices count elements. f16 and bf16
  have no arithmetic. Masks are vectors of bool.
- **Numbers**: IEEE without reassociation or contraction; `fma` is the only fused operation. Division, shifts, `max` and `min` are
  those of the [tensor IR](ops.md).
- **Sizes**: `size` is an entry of a table that a launch fills from the call's sizes.
- **The host** runs chunks `chunk_begin` to `chunk_end` of a kernel. **A device** runs blocks of threads, each of which runs all of
  the program; they meet at barriers. Warps, signals and copies in the background are in `jit/llvm/warp_matrix.h` and
  `jit/llvm/warpgroup.h`.

Written by `scripts/write_list_pages.py` out of `jit/llvm/code_list.inc`; do not edit it here. Operands in brackets may be left
out.

| instruction | operands; immediate |
|---|---|
"""
FALLBACKS_HEAD = """
## Why a call is the host's

In `tektite.stats()`, `fallbacks` counts calls that the compiler refused, and `fallbacks` under `host` all
calls that the host's kernels ran instead.

| code | why |
|---|---|
"""
HOST_HEAD = """
## Why TensorFlow keeps a call or a cluster before the compiler is asked

`fallbacks` under `host` counts calls; `not_placed` there counts clusters that were not put into a graph.

| code | why |
|---|---|
"""


def rows(path: Path, macro: str, pattern: str, end: str = r"\)") -> list[tuple[str, ...]]:
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"^{macro}\({pattern}{end}$", text, re.MULTILINE)
    if len(found) != text.count(f"\n{macro}("):
        raise ValueError(f"{path}: a row that this script cannot read")
    return found


def flags_page() -> str:
    lines = [f"| `--{name}` | {default_text(default)} | {'yes' if affects == 'true' else 'no'} | {what} |\n"
             for _, name, default, affects, what
             in rows(FLAGS, "TEKTITE_FLAG", r'(\w+), (\w+), (.+?), (true|false), "(.*)"')]
    return FLAGS_HEAD + "".join(lines)


def default_text(default: str) -> str:
    value = default.strip('"')
    return f"`{value}`" if value else "empty"


def reasons_page() -> str:
    def table(found: list[tuple[str, ...]]) -> str:
        return "".join(f"| `{code}` | {why} |\n" for code, why in found)

    return (REASONS_HEAD + table(rows(OPS_LEFT_OUT, "TEKTITE_REASON", r'(\w+), "(.*)"'))
            + FALLBACKS_HEAD + table(rows(FALLBACKS, "TEKTITE_FALLBACK", r'(\w+), \w+, "(.*)"'))
            + HOST_HEAD + table(rows(HOST_REASONS, "TEKTITE_HOST_REASON", r'(\w+), "(.*)"')))


def call_states_page() -> str:
    transitions = rows(CALL_STATES, "TEKTITE_CALL_TRANSITION", r'(\w+), \w+, (\w+), "(.*)"')
    lines = []
    for state, runs in rows(CALL_STATES, "TEKTITE_CALL_STATE", r'(\w+), "(.*)"'):
        following = [(words(to), when) for start, to, when in transitions if start == state] or [("", "")]
        first, *others = following
        lines += [f"| {words(state)} | {runs} | {first[0]} | {first[1]} |\n"]
        lines += [f"| | | {to} | {when} |\n" for to, when in others]
    return CALL_STATES_HEAD + "".join(lines)


def words(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def loop_ir_page() -> str:
    found = rows(LOOP_CODES, "TEKTITE_LOOP_CODE", r'(\w+), "(\w+)"\)(?: *// (.*))?', end="")
    return LOOP_IR_HEAD + "".join(f"| `{name}` | {what} |\n" for _, name, what in found)


def main(arguments: list[str]) -> int:
    pages = {ROOT / "docs/flags.md": flags_page(), ROOT / "docs/reasons.md": reasons_page(),
             ROOT / "docs/ir/loop_ir.md": loop_ir_page(), ROOT / "docs/design/call_states.md": call_states_page()}
    if arguments == ["--check"]:
        return 0 if all(page.exists() and page.read_text(encoding="utf-8") == wanted
                        for page, wanted in pages.items()) else 1
    for page, wanted in pages.items():
        page.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
