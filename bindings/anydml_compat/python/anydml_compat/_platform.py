# SPDX-License-Identifier: Apache-2.0
"""For packages that use DirectML only where platform.system() is Windows, though nothing else in them needs it: the functions of
`platform` answer as on Windows 10 when modules of the packages that ANYDML_COMPAT_WINDOWS lists (a,b) call them."""
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
