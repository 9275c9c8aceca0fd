#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardening.py BUILD COMPILER...: the libraries that packages and wheels bring have what the compiler and the linker can do against
exploits of errors in them, and those of the bindings export what their headers declare and nothing else (the others: exports.py).
hardening.py --library FILE COMPILER...: the same of one more library, without its exports."""

import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Each with the functions that it exports (None: exports.py compares them), or the header that declares them.
LIBRARIES = {
    "src/libdirectml.so": None,
    "src/libd3d12.so": None,
    "src/libdxcore.so": None,
    "bindings/onnxruntime/libonnxruntime_ep_directml.so": [
        "AnydmlUseOnnxRuntime", "CreateEpFactories", "OrtGetDmlApi", "OrtSessionOptionsAppendExecutionProviderEx_DML",
        "OrtSessionOptionsAppendExecutionProvider_DML", "ReleaseEpFactory"],
    "bindings/onnxruntime/libonnxruntime_directml.so": [
        "OrtGetApiBase", "OrtSessionOptionsAppendExecutionProviderEx_DML", "OrtSessionOptionsAppendExecutionProvider_DML",
        "dlsym"],
    "bindings/pydirectml/libpydirectml.so": ("bindings/pydirectml/pydml.h", r"^PYDML_EXPORT .*?\b(pydml_\w+)\("),
    "bindings/torch/ops/libanydml_torch_ops.so": ("bindings/torch/ops/aten.h", r"^\w[\w ]*[ *](aten_\w+)\("),
}
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def symbols(path):
    """Those that the dynamic linker sees: (name, type, section or UND, address)."""
    for line in readelf("--dyn-syms", path).splitlines():
        # Number, value, size, type, binding, visibility, section, name with @version.
        words = line.split()
        if words and re.match(r"\d+:$", words[0]) and len(words) >= 8:
            yield words[7].split("@")[0], words[3], words[6], int(words[1], 16)


def at_address(path, address, count):
    """What the program headers load there."""
    for line in readelf("--program-headers", path).splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            offset, start, _, size = (int(word, 16) for word in words[1:5])
            if start <= address < start + size:
                with open(path, "rb") as file:
                    file.seek(address - start + offset)
                    return file.read(count)
    raise ValueError(f"{path} loads nothing at {address:#x}")


def properties(path):
    """The x86 features that all parts of a library have (IBT, SHSTK), or those of AArch64."""
    found = re.findall(r"(?:x86|AArch64) feature: ([\w, ]+)", readelf("--notes", path))
    return set(", ".join(found).split(", ")) - {""}


class Compiler:
    """What it can do, by libraries of one function each."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.machine = readelf("--file-header", self.make("int probe(int x) { return x; }"))
        self.branches = self.make("int probe(int x) { return x; }", "-fcf-protection")
        text = "#include <stdio.h>\nint probe(char *at, size_t n) { char b[64]; snprintf(b, n, at); return b[0]; }"
        self.protector = self.imports(self.make(text, "-fstack-protector-strong"))
        self.fortify = self.imports(self.make(text, "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"))

    def make(self, text, *flags):
        path = os.path.join(self.folder, f"probe{len(os.listdir(self.folder))}.so")
        done = subprocess.run([*self.command, "-w", "-shared", "-fPIC", *flags, "-x", "c", "-", "-o", path], input=text,
                              text=True, capture_output=True, check=False)
        return path if done.returncode == 0 else None

    @staticmethod
    def imports(path):
        return {name for name, _, section, _ in symbols(path) if section == "UND" and "_chk" in name} if path else set()


def problems_of(path, compiler):
    dynamic, headers = readelf("--dynamic", path), readelf("--program-headers", path)
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)", dynamic):
        yield "binds functions when they are first called, so its table of them stays writable (-z now)"
    if "GNU_RELRO" not in headers:
        yield "has no GNU_RELRO (-z relro)"
    stack = re.search(r"GNU_STACK.*", headers)
    if not stack or "E" in stack[0].split()[-2]:
        yield "asks for a stack that can be executed (-z noexecstack)"
    imported = {name for name, _, section, _ in symbols(path) if section == "UND"}
    if "__stack_chk_fail" in compiler.protector and "__stack_chk_fail" not in imported:
        yield "does not check its stack (-fstack-protector-strong)"
    if "__snprintf_chk" in compiler.fortify and not any(re.match(r"__(?!stack).*_chk$", name) for name in imported):
        yield "calls no checking function of the C library (_FORTIFY_SOURCE)"
    if compiler.branches and "X86-64" in compiler.machine:
        # Parts of the C library that each library begins with may lack it: then the linker says it of none.
        for name in sorted(properties(compiler.branches) - properties(path)):
            yield f"is not marked {name}, which a library of one function is (-fcf-protection)"
        for name, kind, section, address in symbols(path):
            if kind == "FUNC" and section != "UND" and at_address(path, address, 4) != ENDBR64:
                yield f"exports {name}, which does not begin with endbr64 (-fcf-protection)"


def declared(exports):
    if isinstance(exports, list):
        return set(exports)
    header, pattern = exports
    with open(os.path.join(SOURCE, header), encoding="utf-8") as file:
        return set(re.findall(pattern, file.read(), re.MULTILINE))


def main():
    if sys.argv[1] == "--library":
        checked, build, command = {sys.argv[2]: None}, "", sys.argv[3:]
    else:
        checked, build, command = LIBRARIES, sys.argv[1], sys.argv[2:]
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        compiler = Compiler(command, scratch)
        for library, exports in checked.items():
            path = os.path.join(build, library)
            problems = list(problems_of(path, compiler))
            if exports is not None:
                found = {name for name, _, section, _ in symbols(path) if section != "UND"}
                wanted = declared(exports)
                assert len(wanted) > 2
                problems += [f"{'exports' if name in found else 'does not export'} {name}" for name in sorted(found ^ wanted)]
            failed |= bool(problems)
            for problem in problems:
                print(f"{os.path.basename(library)} {problem}")
    sys.exit(failed)


main()
