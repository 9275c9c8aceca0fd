# SPDX-License-Identifier: Apache-2.0
"""Runs the C test with the ONNX Runtime of Python's package, or with the one that ONNXRUNTIME_LIBRARY names.

    test_dml_api.py EXECUTABLE
"""
import glob
import importlib.util
import os
import sys

args = [sys.argv[1]]
package = importlib.util.find_spec("onnxruntime")
if package and not os.environ.get("ONNXRUNTIME_LIBRARY"):
    args += glob.glob(os.path.join(os.path.dirname(package.origin), "capi", "libonnxruntime.so.*"))[:1]
os.execv(args[0], args)
