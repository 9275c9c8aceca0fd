# SPDX-License-Identifier: Apache-2.0
"""Settings that pyproject.toml does not support: the wheel contains libraries for one platform and supports every Python 3, and
a .pth file is installed next to the packages, not in one. scripts/package/make-wheel copies this file next to pyproject.toml."""
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py


class BuildWithPath(build_py):
    def run(self):
        super().run()
        for path in Path().glob("*.pth"):
            self.copy_file(str(path), str(Path(self.build_lib, path.name)))


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel, "build_py": BuildWithPath})
