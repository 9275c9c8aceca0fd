# SPDX-License-Identifier: Apache-2.0
"""Settings that pyproject.toml does not support: the wheel contains libraries for one platform and supports every Python 3;
an sdist contains the project's source, from which the libraries are compiled for the installed torch (pip install
--no-build-isolation)."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    sys.exit("torch_directml: packaging requires setuptools 77 or later (pip install -U setuptools)")

HERE = Path(__file__).resolve().parent


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


def compile_libraries():
    """Compiles the libraries and the glue from source/ of an sdist, and copies them to torch_directml/."""
    missing = [tool for tool in ("meson", "ninja") if not shutil.which(tool)]
    if missing:
        sys.exit(f"torch_directml: compiling requires {' and '.join(missing)} (docs/pytorch.md)")
    source, build = HERE / "source", HERE / "source" / "build"
    if not (build / "build.ninja").exists():
        subprocess.check_call(["meson", "setup", "-Dwerror=false", os.fspath(build)], cwd=source)
    subprocess.check_call(["scripts/torch/build-torch", os.fspath(build), sys.executable], cwd=source)
    for library in (build / "bindings/torch/python/torch_directml").glob("*.so"):
        shutil.copy(library, HERE / "torch_directml")  # follows links


class Build(build_py):
    def run(self):
        if not list(HERE.glob("torch_directml/*.so")):
            compile_libraries()
        super().run()


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel, "build_py": Build})
