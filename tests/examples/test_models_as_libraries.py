"""The programs of examples/ahead_of_time, built outside of this tree, and the page about tfcompile."""
import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/ahead_of_time"


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_png(path: Path, width: int, height: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * 5 + y * 3 + c * 70) % 256 for x in range(width) for c in range(3)) for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(FOLDER, folder / "source")
    run(ROOT / "build/venv/bin/python", folder / "source/models.py", folder / "models",
        env={**os.environ, "TEKTITE": "0", "TF_CPP_MIN_LOG_LEVEL": "3"})
    run("cmake", "-S", folder / "source", "-B", folder / "build", f"-DMODELS={folder}/models")
    run("cmake", "--build", folder / "build")
    return folder


@pytest.mark.slow
def test_the_programs_do_what_they_say(programs):
    write_png(programs / "picture.png", 120, 100)
    weights = programs / "models/classifier.weights"
    assert re.fullmatch(r"class \d, probability 0\.[1-9]\d*\n", run(programs / "build/classify", programs / "picture.png", weights))
    none = subprocess.run([programs / "build/classify", programs / "picture.png", programs / "none"], capture_output=True, text=True)
    assert none.returncode == 1 and "cannot be opened" in none.stderr
    lines = run(programs / "build/classify_text", "a", "a longer text " * 30, "a").splitlines()
    assert len(lines) == 3 and lines[0] == lines[2] != lines[1]
    for line in lines:
        assert abs(sum(map(float, line.split(":")[1].split())) - 1) < 1e-3
    trained = re.fullmatch(r"400 steps, loss (\S+), weights (.*)\n", run(programs / "build/train"))
    assert float(trained[1]) < 1e-3
    assert [round(float(w)) for w in trained[2].split()] == list(range(1, 9))


@pytest.mark.slow
def test_the_page_about_tfcompile_is_right(tmp_path):
    page = (ROOT / "docs/guide/tfcompile.md").read_text()
    model, command, program, build = re.findall(r"^```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert command.startswith("tektite aot")
    (tmp_path / "main.c").write_text(program)
    environment = {**os.environ, "TEKTITE": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run(ROOT / "build/venv/bin/python", "-c", model, cwd=tmp_path, env=environment)
    options = command.split()[1:]
    run(ROOT / "build/venv/bin/python", "-m", "tektite", *options, cwd=tmp_path, env=environment)
    assert run("sh", "-c", build, cwd=tmp_path) == "58 64 139 154\n"
