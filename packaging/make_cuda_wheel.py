"""Makes the second wheel, tektite-cuda: what compiling for NVIDIA's cards needs beside `tektite`.

    python3 packaging/make_cuda_wheel.py --output build/wheel      # tektite_cuda-VERSION-py3-none-any.whl
    pip install tektite-cuda                                       # tektite of the same version, and ptxas
    pip install 'tektite-cuda[libraries]'                          # cuBLASLt and cuDNN, too (1.3 GB)

Tektite's own code for cards is in the wheel `tektite` (LLVM's target and the emitters: 2.3 of 37 MB of the compiler), which looks
for NVIDIA's files in the packages beside it. NVIDIA's licence lets nobody else hand these out, so this wheel holds none of them: it
names NVIDIA's own packages. They are those of CUDA 12, which TensorFlow's `and-cuda` has in all versions, so that both may stand
in one environment.

    package                 file                                   what it is for
    nvidia-cuda-nvcc-cu12   nvidia/cuda_nvcc/bin/ptxas             assembles kernels; without it the driver does, more slowly
    nvidia-cublas-cu12      nvidia/cublas/lib/libcublasLt.so.12    products, with --tuning=auto
    nvidia-cudnn-cu12       nvidia/cudnn/lib/libcudnn.so.9         convolutions and attention, with --tuning=auto
"""
import argparse
from pathlib import Path

from make_wheel import ROOT, record_line, version_of_package, write

NAME = "tektite-cuda"
# The oldest whose assembler knows all instructions for sm_90a that Tektite uses (PTX 8.3).
ASSEMBLER = "nvidia-cuda-nvcc-cu12<13,>=12.3"
LIBRARIES = ("nvidia-cublas-cu12<13,>=12.3", "nvidia-cudnn-cu12<10,>=9")


def requirements(version: str) -> list[str]:
    return [f"tektite=={version}", ASSEMBLER, *(f'{each}; extra == "libraries"' for each in LIBRARIES)]


def metadata(version: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {NAME}", f"Version: {version}",
             "Summary: What Tektite needs of NVIDIA's to compile for cards", "License-Expression: Apache-2.0",
             "License-File: LICENSE", "Requires-Python: >=3.9", *(f"Requires-Dist: {each}" for each in requirements(version)),
             "Provides-Extra: libraries"]
    return "\n".join(lines) + "\n"


def make(output: Path) -> Path:
    version = version_of_package()
    info = f"tektite_cuda-{version}.dist-info"
    files = {f"{info}/METADATA": metadata(version).encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tektite ({version})\nRoot-Is-Purelib: true\n"
                              "Tag: py3-none-any\n".encode(),
             f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}
    record = [record_line(name, data) for name, data in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"tektite_cuda-{version}-py3-none-any.whl"
    write(path, files)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    print(make(parser.parse_args().output))


if __name__ == "__main__":
    main()
