#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and completion: test_manual.py ANYDML FOLDER SOURCES

Each option that the command takes is in --help, in the man page and in what the shells offer; pages are without
warnings, and the shells are really asked. Options are read from the tables of getopt_long in SOURCES, help texts by
a pattern of this file's own.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ANYDML, FOLDER, SOURCES = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(sys.argv[3])
failures = 0


def expect(good, what):
    global failures
    if not good:
        failures += 1
        print("FAIL:", what)


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def plain(page):
    """The text of a man page, without fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", page.read_text("utf-8")).replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")


def options_of(command):
    """What the command's table takes, or the actions in the place of options."""
    head = f"int tools_cmd_{command}(int argc"
    source = next(text for text in (path.read_text("utf-8") for path in SOURCES.glob("cmd_*.c")) if head in text)
    function = source[source.index(head):].split("\n}\n")[0]
    names = re.findall(r'\{ "([\w-]+)", (?:no|required)_argument, NULL', function)
    if names:
        return ["--" + name for name in names if name != "help"]
    return re.findall(r'\{ "(\w+)", [01], action_', source)


def bash(*words):
    """What bash offers behind these words."""
    words = [part for word in words for part in re.split("(=)", word) if part or not word]
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _anydml; printf "%s\\n" "${COMPREPLY[@]}"'
    found = output("bash", "-c", script, "bash", FOLDER / "anydml", "anydml", *words,
                   env={**os.environ, "PATH": f"{ANYDML.parent}:{os.environ['PATH']}"})
    return found.split()


# The shell's own functions, which only a terminal can call, print what they are asked to offer.
ZSH = '''
compset() { shift; PREFIX=${PREFIX##$~1} }
_files() { print -r -- files $* }
_describe() { print -rl -- describe ${(P)2} }
_arguments() { print -rl -- arguments $* }
completion=$1; shift; words=("$@"); CURRENT=$#
setopt extended_glob; source $completion
'''


def zsh(*words):
    return output("zsh", "-fc", ZSH, "zsh", FOLDER / "_anydml", "anydml", *words,
                  env={**os.environ, "PATH": f"{ANYDML.parent}:{os.environ['PATH']}"}).splitlines()


def check_command(command, have_zsh):
    told = output(ANYDML, command, "--help")
    page = plain(FOLDER / f"anydml-{command}.1")
    options = options_of(command)
    expect(options, f"{command} takes something")
    in_help = re.findall(r"^  (?:-\w, )?(--[\w-]+)", told, re.MULTILINE)
    if in_help:
        expect(sorted(in_help) == sorted(options), f"{command} --help lists {in_help}, the table {options}")
    offered = bash(command, "--" if in_help else "")
    specs = zsh(command, "-") if have_zsh else None
    for option in options:
        expect(re.search(rf"(^|, ){option}\b", told.replace("\n  ", "\n"), re.MULTILINE), f"{command} --help has {option}")
        expect(re.search(rf"^\.TP\n(.*, )?{option}\b", page, re.MULTILINE), f"the page of {command} has {option}")
        expect(option in offered, f"bash offers {command} {option}, not only {offered}")
        if have_zsh:
            pattern = rf"\){option}\[|\*{option}\[" if in_help else rf"^1:.*[( ]{option}[ )]"
            expect(any(re.search(pattern, spec) for spec in specs), f"zsh offers {command} {option}, not only {specs}")
    words = re.sub(r"\s+", " ", page)
    for paragraph in told.split("\n\n")[1:]:
        first = re.sub(r"\s+", " ", paragraph.split("\n  ")[0]).strip()
        expect(first in words, f"the page of {command} says: {first}")


def check_values():
    """What bash offers as values and files."""
    devices = [line.split()[0] for line in output(ANYDML, "devices").splitlines()[1:]]
    expect(bash("run", "--device", "") == devices + ["cpu", "vulkan"], "devices")
    expect(bash("run", "--device=") == devices + ["cpu", "vulkan"] and bash("run", "--device=0") == ["0"], "--device=N")
    expect(bash("run", "--device", "v") == ["vulkan"], "--device vulkan")
    expect(bash("bench", "--devices", "") == ["all"], "--devices all")
    expect(bash("run", "--layout", "nh") == ["nhwc"], "--layout nhwc")
    expect(bash("run", "--threads", "") == [], "no word for --threads")
    expect(bash("telemetry", "endpoint", "") == ["none", "default"], "telemetry endpoint")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("m.onnx", "x.npy", "f.json"):
            Path(folder, name).touch()
        Path(folder, "sub").mkdir()
        expect(sorted(bash("run", folder + "/")) == [folder + "/m.onnx", folder + "/sub"], "models and folders")
        expect(bash("run", folder + "/m.onnx", "--input", "a=" + folder + "/x") == [folder + "/x.npy"], "NAME=FILE")
        expect(bash("run", "m.onnx", "--input", folder + "/x") == [folder + "/x.npy"], "FILE")
        expect(bash("dispatch", folder + "/f") == [folder + "/f.json"], "JSON files")


def check_pages(commands):
    pages = [FOLDER / "anydml.1"] + [FOLDER / f"anydml-{command}.1" for command in commands]
    text = plain(pages[0])
    for command in commands:
        expect(f"anydml-{command} (1)" in text, f"anydml.1 names {command}")
    for variable in ("ANYDML_LOG", "ANYDML_THREADS", "ANYDML_ADAPTERS"):
        expect(f".TP\n{variable}\n" in text, f"anydml.1 has {variable}")
    for page in pages:
        if shutil.which("mandoc"):
            found = subprocess.run(["mandoc", "-Tlint", "-Wstyle", page], capture_output=True, text=True, check=False).stdout
            expect(not found, found)
        if shutil.which("man"):
            found = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], text=True, check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
            expect(not found, found)


def main():
    commands = re.findall(r"^  (\w+) ", output(ANYDML, "--help"), re.MULTILINE)
    expect(len(commands) >= 8, f"commands: {commands}")
    have_zsh = bool(shutil.which("zsh"))
    expect(bash("") == commands + ["--help", "--version"], "bash offers the commands")
    if have_zsh:
        offered = zsh("")
        for command in commands:
            expect(any(line.startswith(command + ":") for line in offered), f"zsh offers {command}")
    check_pages(commands)
    for command in commands:
        check_command(command, have_zsh)
    check_values()
    print("failures:", failures, "" if have_zsh else "(no zsh here)")
    sys.exit(failures != 0)


main()
