# SPDX-License-Identifier: Apache-2.0
"""Support of packages that use DirectML only if platform.system() is Windows, although they do not depend on Windows otherwise:
the functions of `platform` return the values of Windows 10 to modules of the packages in ANYDML_COMPAT_WINDOWS (a,b)."""
import functools
import platform
import sys

_ANSWERS = {"system": "Windows", "release": "10", "version": "10.0.19045"}


def answer_for(packages):
    for name, answer in _ANSWERS.items():
        setattr(platform, name, _answering(getattr(platform, name), answer, frozenset(packages)))


def _answering(native, answer, packages):
    @functools.wraps(native)
    def asked():
        caller = sys._getframe(1).f_globals.get("__name__") or ""  # pylint: disable=protected-access
        return answer if caller.split(".")[0] in packages else native()
    return asked
