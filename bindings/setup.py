# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the wheel holds libraries of one platform and fits every Python 3. scripts/make-wheel puts it
beside that file's copy."""
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel})
