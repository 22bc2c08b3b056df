"""Prints the version: __version__ of the Python package, the one place that says it."""
from make_wheel import version_of_package

if __name__ == "__main__":
    print(version_of_package())
