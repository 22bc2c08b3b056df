"""Runs clang-tidy on C++ files, several at once, and prints what it finds; scripts/test --tidy calls it.

    tidy.py build/cmake --jobs 2             files that differ from the branch `main`
    tidy.py build/cmake --all                every file that the build compiles
    tidy.py build/cmake jit/ir/text/parser.cc     these

The last line is the summary: "312 files, 0 with findings".  Exit code 1 where there are findings or none could be
looked for.  A file takes some 15 s.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("clang-tidy-14", "clang-tidy")
FINDING = re.compile(r"^(?P<file>/[^:]+):(?P<place>\d+:\d+): (?:warning|error): (?P<text>.*)$")


def take_apart(build: Path) -> Path:
    """A folder with a compile_commands.json in which each file has a row of its own, where the build compiles several as one."""
    rows = []
    for row in json.loads((build / "compile_commands.json").read_text()):
        whole = Path(row["directory"], row["file"])
        parts = re.findall(r'^#include "(.+)"$', whole.read_text(), re.M) if whole.parent.name == "Unity" else [row["file"]]
        rows += [{**row, "file": part, "command": row["command"].replace(f" -c {row['file']}", f" -c {part}")} for part in parts]
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    written = folder / f"{os.getpid()}.json"  # tests do this side by side
    written.write_text(json.dumps(rows))
    written.replace(folder / "compile_commands.json")
    return folder


def compiled_files(build: Path) -> list[Path]:
    """The project's own, from compile_commands.json."""
    rows = json.loads((build / "compile_commands.json").read_text())
    files = {Path(row["directory"], row["file"]).resolve() for row in rows}
    return sorted(file for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(ROOT / "build"))


def changed_files() -> set[Path]:
    """Against `main`, and what is not committed or not tracked yet."""
    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", "-C", str(ROOT), *words], text=True, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"tidy: cannot tell which files differ from main (--all takes every file): {done.stderr.strip()}")
        return done.stdout.splitlines()

    base = git("merge-base", "HEAD", "main")[0]
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names}


def choose(args: argparse.Namespace) -> list[Path]:
    files = compiled_files(args.build)
    if args.files:
        wanted = {file.resolve() for file in args.files}
        unknown = wanted - set(files)
        if unknown:
            sys.exit(f"tidy: the build does not compile {', '.join(map(str, sorted(unknown)))}")
        return sorted(wanted)
    if args.all:
        return files
    changed = changed_files()
    return [file for file in files if file in changed]


def findings(program: str, build: Path, file: Path) -> list[str]:
    # The flags are g++'s, of which clang does not know every warning.
    done = subprocess.run([program, "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option", str(file)],
                          text=True, capture_output=True, check=False)
    found = [f"{Path(match['file']).relative_to(ROOT)}:{match['place']}: {match['text']}"
             for line in done.stdout.splitlines() if (match := FINDING.match(line))
             and Path(match["file"]).is_relative_to(ROOT)]
    if done.returncode and not found:
        found = [f"{file.relative_to(ROOT)}: clang-tidy failed: {(done.stderr or done.stdout).strip()[-300:]}"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build folder with compile_commands.json")
    parser.add_argument("files", type=Path, nargs="*", help="only these")
    parser.add_argument("--all", action="store_true", help="every file, not only those that differ from main")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_intermixed_args()
    program = next((name for name in PROGRAMS if shutil.which(name)), None)
    if program is None:
        sys.exit("tidy: no clang-tidy here: apt-get install clang-tidy")
    if not (args.build / "compile_commands.json").exists():
        sys.exit(f"tidy: no compile_commands.json in {args.build}: run scripts/setup --all first")
    args.build = take_apart(args.build)
    files, begin, bad, seen = choose(args), time.monotonic(), 0, set()
    with ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(findings, program, args.build, file): file for file in files}
        for number, job in enumerate(as_completed(jobs), 1):
            found = [line for line in job.result() if line not in seen]  # a header's come once
            seen |= set(found)
            bad += bool(found)
            print(f"[{number}/{len(files)}] {jobs[job].relative_to(ROOT)}, {time.monotonic() - begin:.0f} s", flush=True)
            for line in found:
                print(f"  {line}", flush=True)
    print(f"{len(files)} files, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
