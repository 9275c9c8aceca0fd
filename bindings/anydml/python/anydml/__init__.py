# SPDX-License-Identifier: Apache-2.0
"""The command anydml and the libraries of AnyDML, an open implementation of DirectML."""
import os
import sys

__all__ = ["get_library_path", "main"]

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def get_library_path(name: str = "directml") -> str:
    """Returns the path of libdirectml.so ("directml"), libd3d12.so ("d3d12") or libdxcore.so ("dxcore"). Raises ValueError for
    other names."""
    if name not in ("directml", "d3d12", "dxcore"):
        raise ValueError(f"name = {name!r}, must be 'directml', 'd3d12' or 'dxcore'")
    return os.path.join(_FOLDER, f"lib{name}.so")


def main() -> None:
    """Replaces this process by the command anydml, with the same arguments."""
    os.execv(os.path.join(_FOLDER, "anydml"), ["anydml", *sys.argv[1:]])
