# SPDX-License-Identifier: Apache-2.0
"""libonnxruntime_directml.so before each ONNX Runtime in .cache/onnxruntime, in all the ways in which it can stand there.

    test_compat.py CLIENT SHIM PROVIDER
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "onnxruntime"
CLIENT, SHIM, PROVIDER = (os.path.abspath(path) for path in sys.argv[1:4])
NAME = "DmlExecutionProvider"


def client(*arguments, code=0, told=None, **variables):
    """Runs the client with these variables of the environment alone; returns what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "ANYDML_ONNX"))}
    environment.update(ANYDML_ADAPTERS="cpu", ANYDML_TELEMETRY="0", **variables)
    done = subprocess.run([CLIENT, *arguments], env=environment, text=True, stdout=subprocess.PIPE, timeout=300,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == code, (arguments, variables, done.returncode, done.stdout)
    assert told is None or told in done.stdout, (told, done.stdout)
    return done.stdout


def check_ways(runtime, folder):
    """The runtime is next to it, is opened by the program, is named, or is the next of its name in the path."""
    client("checks", LD_PRELOAD=f"{SHIM} {runtime}")
    client("checks", runtime, LD_PRELOAD=SHIM)
    client("java", runtime, LD_PRELOAD=SHIM)
    client("java", runtime, code=1, told="device 99 does not exist")
    client("checks", SHIM, ANYDML_ONNXRUNTIME=runtime)
    client("reload", SHIM, ANYDML_ONNXRUNTIME=runtime)
    before, behind = folder / "before", folder / "behind"
    for place, file in ((before, SHIM), (behind, runtime)):
        place.mkdir()
        (place / "libonnxruntime.so.1").symlink_to(file)
    client("checks", "libonnxruntime.so.1", LD_LIBRARY_PATH=f"{before}:{behind}")
    # Once more with the provider named, from where it would not be found.
    alone = folder / "alone"
    alone.mkdir()
    (alone / "libonnxruntime.so.1").write_bytes(Path(SHIM).read_bytes())
    client("checks", "libonnxruntime.so.1", LD_LIBRARY_PATH=f"{alone}:{behind}", ANYDML_ONNXRUNTIME_PROVIDER=PROVIDER)
    shown = client("foreign", "libonnxruntime.so.1", LD_LIBRARY_PATH=f"{alone}:{behind}",
                   ANYDML_ONNXRUNTIME_PROVIDER=str(folder / "libonnxruntime_ep_directml.so"))
    assert "libonnxruntime_ep_directml.so cannot be used: " in shown, shown


def check_reports(runtime, folder):
    """What `anydml exec` learns of sessions, and the provider for sessions that ask for none."""
    report = folder / "report"
    for variables, line in (({}, "other -"), ({"ANYDML_ONNXRUNTIME_DEFAULT": "1"}, f"{NAME} 0"),
                            ({"ANYDML_ONNXRUNTIME_DEFAULT": "0"}, "other -")):
        report.write_text("", encoding="utf-8")
        client("plain", LD_PRELOAD=f"{SHIM} {runtime}", ANYDML_ONNXRUNTIME_REPORT=str(report), **variables)
        assert report.read_text("utf-8") == line + "\n", (variables, report.read_text("utf-8"))
    report.write_text("", encoding="utf-8")
    client("checks", LD_PRELOAD=f"{SHIM} {runtime}", ANYDML_ONNXRUNTIME_REPORT=str(report))
    assert set(report.read_text("utf-8").splitlines()) == {f"{NAME} 0"}, report.read_text("utf-8")


def check_without(runtime):
    """The runtime alone knows no such provider; the library alone says that there is no runtime."""
    shown = client("foreign", runtime)
    assert NAME not in shown.split("DML:")[0] and "taken" not in shown, shown
    shown = client("foreign", runtime, LD_PRELOAD=SHIM)
    assert NAME in shown.split("DML:")[0] and "DML: taken" in shown, shown
    client("checks", code=1, told="no ONNX Runtime is found", LD_PRELOAD=SHIM)
    client("checks", SHIM, code=1, told="ANYDML_ONNXRUNTIME: ", ANYDML_ONNXRUNTIME="/no/such/library.so")
    client("checks", SHIM, code=1, told="ANYDML_ONNXRUNTIME: ", ANYDML_ONNXRUNTIME=SHIM)


def check_exports():
    """It exports these names alone."""
    table = subprocess.run(["nm", "-D", "--defined-only", SHIM], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1] for line in table.splitlines()}
    assert names == {"OrtGetApiBase", "OrtSessionOptionsAppendExecutionProvider_DML",
                     "OrtSessionOptionsAppendExecutionProviderEx_DML", "dlsym"}, names


def main():
    runtimes = sorted(str(path) for path in CACHE.glob("venv*/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")
                      if re.fullmatch(r"libonnxruntime\.so\.[0-9.]+", path.name))
    if not runtimes:
        print("skipped: no ONNX Runtime in .cache/onnxruntime (scripts/prepare-onnxruntime)")
        return 77
    check_exports()
    for runtime in runtimes:
        with tempfile.TemporaryDirectory() as scratch:
            check_ways(runtime, Path(scratch))
            check_reports(runtime, Path(scratch))
        check_without(runtime)
        print("before", os.path.basename(runtime))
    return 0


if __name__ == "__main__":
    sys.exit(main())
