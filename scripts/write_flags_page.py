"""Writes docs/flags.md, the table of flags, out of jit/base/flag_list.inc.

    python3 scripts/write_flags_page.py            after a change of the list
    python3 scripts/write_flags_page.py --check    change nothing; exit code 1 where the page is not current
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST, PAGE = ROOT / "jit/base/flag_list.inc", ROOT / "docs/flags.md"
ROW = re.compile(r'^TEKTITE_FLAG\((\w+), (\w+), (.+?), (true|false), "(.*)"\)$', re.MULTILINE)

HEAD = """# Flags

`TEKTITE_FLAGS="--name=value ..."` sets them, for TensorFlow as for the `tektite` command, which prints this
list as `tektite flags`. A bool needs no value: `--verify` is `--verify=true`. Code compiled under another
value of a flag that changes code is not used again.

Written by `scripts/write_flags_page.py` out of `jit/base/flag_list.inc`; do not edit it here.

| flag | default | changes code | what it does |
|---|---|---|---|
"""


def page(text: str) -> str:
    rows = ROW.findall(text)
    if len(rows) != text.count("\nTEKTITE_FLAG("):
        raise ValueError(f"{LIST}: a row that this script cannot read")
    lines = [f"| `--{name}` | {default_text(default)} | {'yes' if affects == 'true' else 'no'} | {what} |\n"
             for _, name, default, affects, what in rows]
    return HEAD + "".join(lines)


def default_text(default: str) -> str:
    value = default.strip('"')
    return f"`{value}`" if value else "empty"


def main(arguments: list[str]) -> int:
    wanted = page(LIST.read_text(encoding="utf-8"))
    if arguments == ["--check"]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted else 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
