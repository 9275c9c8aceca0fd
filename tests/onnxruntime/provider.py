# SPDX-License-Identifier: Apache-2.0
"""What the tests of the execution provider share: the provider registered in ONNX Runtime, and its log."""
import os
import sys
import tempfile

SKIP = 77
NAME = "AnyDMLExecutionProvider"
WINDOWS_NAME = "DmlExecutionProvider"
os.environ.setdefault("ANYDML_ADAPTERS", "cpu")  # the device of every test that names none
# The onnx package may be newer than the runtime's newest official operator set.
os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 23):
        raise ImportError("ONNX Runtime 1.23 or newer is needed")
except ImportError as why:
    print("skipped:", why)
    sys.exit(SKIP)

_devices = {}


def devices(library, name=NAME):
    """The provider's devices under that name, in the order of ANYDML_ADAPTERS."""
    library = os.path.abspath(library)
    if library not in _devices:
        ort.register_execution_provider_library("anydml", library)
        _devices[library] = ort.get_ep_devices()
    return [d for d in _devices[library] if d.ep_name == name]


def session(library, model, fallback=True, options=None, entries=None, level=3, threads=1, adapter=0, profile=None,
            name=NAME):
    """A session on the provider; fallback=False: an error when a node is left to the CPU provider; profile: the first
    part of the name of the file that end_profiling() writes."""
    so = ort.SessionOptions()
    so.log_severity_level = level
    so.intra_op_num_threads = threads
    so.inter_op_num_threads = 1
    if profile:
        so.enable_profiling = True
        so.profile_file_prefix = str(profile)
    for key, value in (entries or {}).items():
        so.add_session_config_entry(key, value)
    if not fallback:
        so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    so.add_provider_for_devices([devices(library, name)[adapter]], options or {})
    return ort.InferenceSession(model, so)


def cpu_session(model, threads=1):
    so = ort.SessionOptions()
    so.log_severity_level = 3
    so.intra_op_num_threads = threads
    so.inter_op_num_threads = 1
    return ort.InferenceSession(model, so, providers=["CPUExecutionProvider"])


def feeds_of(session_, rng, free=1):
    """Random inputs, with `free` for dimensions that are not fixed."""
    feeds = {}
    for x in session_.get_inputs():
        shape = [d if isinstance(d, int) else free for d in x.shape]
        if "float" in x.type:
            feeds[x.name] = rng.standard_normal(shape).astype(np.float16 if "16" in x.type else np.float32)
        else:
            feeds[x.name] = rng.integers(0, 2, shape).astype(np.int32 if "32" in x.type else np.int64)
    return feeds


def relative_error(got, want):
    """The largest difference, against the largest value; infinite when shapes, types, NaNs or infinities differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(got[finite] - want[finite]).max() / max(np.abs(want[finite]).max(), 1e-6))


class Log:
    """Collects what native code writes to stderr inside a with block."""

    def __enter__(self):
        sys.stderr.flush()
        self.file = tempfile.TemporaryFile()
        self.saved = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *_):
        os.dup2(self.saved, 2)
        os.close(self.saved)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")
        self.file.close()
