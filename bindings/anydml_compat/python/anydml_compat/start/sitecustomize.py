# SPDX-License-Identifier: Apache-2.0
"""`anydml exec` makes Python import this module when it starts: it enables anydml_compat in environments in which that is not
installed. The next sitecustomize of the path runs as well."""
import importlib.machinery
import importlib.util
import os
import sys

_OWN = os.path.dirname(os.path.abspath(__file__))


class _Modules:
    """Finds the two modules in the folders that the command specifies, if no other finder has found them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in ("anydml_compat", "onnxruntime_ep_directml"):
            return None
        folders = os.environ.get("ANYDML_COMPAT_MODULES", "").split(":")
        return importlib.machinery.PathFinder.find_spec(name, folders, target)


def _prepare():
    sys.meta_path.append(_Modules)
    if not any(getattr(finder, "__name__", "") == "anydml_compat" for finder in sys.meta_path):  # not installed
        line = os.path.join(os.path.dirname(os.path.dirname(_OWN)), "anydml_compat.pth")
        with open(line, encoding="utf-8") as file:
            exec(file.read())  # pylint: disable=exec-used


def _run_next():
    rest = [folder for folder in sys.path if os.path.abspath(folder) != _OWN]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_prepare()
_run_next()
