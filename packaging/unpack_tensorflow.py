"""unpack_tensorflow.py WHEEL FOLDER: takes what a hook is compiled and linked against out of TensorFlow's wheel."""
import sys
import zipfile
from pathlib import Path

LIBRARIES = {"libtensorflow_framework.so.2", "libtensorflow_cc.so.2", "lib_pywrap_tensorflow_common.so",
             "_pywrap_tensorflow_internal.so"}


def main() -> None:
    wheel, folder = sys.argv[1:]
    with zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            if name.startswith("tensorflow/include/") or Path(name).name in LIBRARIES:
                file.extract(name, folder)


if __name__ == "__main__":
    main()
