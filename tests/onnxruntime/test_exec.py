# SPDX-License-Identifier: Apache-2.0
"""`anydml exec`: programs in Python and C, unchanged, and what is said of them.

    test_exec.py ANYDML CLIENT MODEL LIBDIR DATADIR

CLIENT: compat_client. LIBDIR, DATADIR: where an installation has them below its prefix. The runtimes are those of .cache/onnxruntime.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "onnxruntime"
ANYDML, CLIENT, MODEL = (os.path.abspath(path) for path in sys.argv[1:4])
LIBDIR, DATADIR = sys.argv[4:6]
OURS = r"(\d+) on DmlExecutionProvider \(device 0: [^)]+\)"

PROGRAM = """
import sys, onnxruntime as ort
assert sys.argv[2:] == ["--default", "--help"], sys.argv
session = ort.InferenceSession(sys.argv[1], providers=["DmlExecutionProvider", "CPUExecutionProvider"])
other = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
free = ort.InferenceSession(sys.argv[1])
print(session.get_providers()[0], other.get_providers()[0], free.get_providers()[0])
"""


def environment(folder, **variables):
    left = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "ANYDML_", "PYTHON"))}
    return {**left, "TMPDIR": folder, "ANYDML_ADAPTERS": "cpu", "ANYDML_TELEMETRY": "0", "PYTHONDONTWRITEBYTECODE": "1",
            **variables}


def run(folder, *words, code=0, told=None, **variables):
    """Runs the command; `told` is a pattern of all that it says on stderr."""
    done = subprocess.run([ANYDML, "exec", *words], env=environment(folder, **variables), capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == code, (words, done)
    if told is not None:
        assert re.fullmatch(told, done.stderr), (told, done)
    assert not [name for name in os.listdir(folder) if name.startswith("anydml-exec")], "the report is left behind"
    return done.stdout


def check_python(folder, python):
    program = Path(folder, "program.py")
    program.write_text(PROGRAM, encoding="utf-8")
    words = [str(python), str(program), MODEL, "--default", "--help"]
    three = f"anydml exec: 3 sessions of ONNX Runtime: {OURS}, 2 without it\n"
    assert run(folder, *words, told=three.replace(r"\d+", "1")) == "DmlExecutionProvider CPUExecutionProvider CPUExecutionProvider\n"
    two = f"anydml exec: 3 sessions of ONNX Runtime: {OURS}, 1 without it\n"
    assert run(folder, "--default", *words, told=two.replace(r"\d+", "2")).split()[2] == "DmlExecutionProvider"
    run(folder, "--quiet", *words, told="")
    # A sitecustomize of the user's own is run as well.
    own = Path(folder, "own")
    own.mkdir(exist_ok=True)
    (own / "sitecustomize.py").write_text("import builtins; builtins.customized = __name__", encoding="utf-8")
    code = "import sys; print(customized, sys.modules['sitecustomize'].__file__, 'anydml_compat' in sys.modules)"
    shown = run(folder, str(python), "-c", code, PYTHONPATH=str(own)).split()
    assert shown == ["sitecustomize", str(own / "sitecustomize.py"), "False"], shown


def check_c(folder, runtime):
    run(folder, CLIENT, "checks", runtime, told=rf"(?s).*anydml exec: \d+ sessions of ONNX Runtime: {OURS}\n")
    run(folder, CLIENT, "plain", runtime, told="anydml exec: 1 session of ONNX Runtime: 1 without it\n")
    run(folder, "--default", CLIENT, "plain", runtime, told=f"anydml exec: 1 session of ONNX Runtime: {OURS}\n")


def check_ends(folder):
    """Exit codes, signals, and a command without the libraries."""
    none = "anydml exec: the program made no session of ONNX Runtime\n"
    run(folder, "sh", "-c", "exit 5", code=5, told=none)
    run(folder, "sh", "-c", "kill -9 $$", code=128 + signal.SIGKILL, told=none)
    run(folder, "no-such-program", code=127, told="anydml exec: no-such-program: No such file or directory\n")
    run(folder, folder, code=126, told="(?s)anydml exec: .*: Permission denied\n.*")
    run(folder, code=2, told="anydml exec: the program is missing .*\n")
    assert run(folder, "sh", "-c", 'printf "%s" "$ANYDML_LOG"') == "", "the command's own setting is not the program's"
    with subprocess.Popen([ANYDML, "exec", "--quiet", "sh", "-c", "trap 'exit 9' TERM; echo on; while :; do sleep 0.1; done"],
                          env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "on\n"
        time.sleep(0.2)
        process.terminate()
        assert process.wait(30) == 9, process.returncode


def check_layouts(folder, python):
    """As installed, in Debian's packages and in Python's packages; and the command without the libraries."""
    build = Path(ANYDML).parents[1]
    words = [str(python), str(Path(folder, "program.py")), MODEL, "--default", "--help"]
    system = f"{DATADIR}/anydml/python"
    layouts = [("bin", LIBDIR, LIBDIR, system, system), ("bin", LIBDIR + "/anydml", LIBDIR + "/anydml", system, system),
               ("anydml", "anydml_compat", "onnxruntime_ep_directml", ".", ".")]
    for number, (command, shim, provider, compat, module) in enumerate(layouts):
        root = Path(folder, f"layout{number}")
        (root / command).mkdir(parents=True)
        own = shutil.copy(ANYDML, root / command / "anydml")

        def run_own(told, code):
            done = subprocess.run([own, "exec", *words], capture_output=True, text=True, check=False,
                                  env=environment(folder, LD_LIBRARY_PATH=str(build / "src")))
            assert done.returncode == code and re.search(told, done.stderr), (command, done)
        run_own("are not installed with this command", 2)
        for source, name, to in (("anydml_compat", "anydml_compat", compat), ("onnxruntime", "onnxruntime_ep_directml", module)):
            shutil.copytree(build / "bindings" / source / "python" / name, root / to / name)
        shutil.copy(build / "bindings/anydml_compat/python/anydml_compat.pth", root / compat)
        for name, to in (("libonnxruntime_directml.so", shim), ("libonnxruntime_ep_directml.so", provider)):
            (root / to).mkdir(parents=True, exist_ok=True)
            shutil.copy(build / "bindings" / "onnxruntime" / name, root / to)
        run_own(r": 1 on DmlExecutionProvider \(device 0: [^)]+\), 2 without it\n$", 0)


def main():
    pythons = sorted(CACHE.glob("venv*/bin/python"))
    runtimes = sorted(CACHE.glob("venv*/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))
    if not pythons or not runtimes:
        print("skipped: no ONNX Runtime in .cache/onnxruntime (scripts/prepare-onnxruntime)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for python in pythons:
            check_python(folder, python)
        for runtime in runtimes:
            check_c(folder, str(runtime))
        check_ends(folder)
        check_layouts(folder, pythons[0])
    print("anydml exec:", len(pythons), "runtimes in Python,", len(runtimes), "in C")
    return 0


if __name__ == "__main__":
    sys.exit(main())
