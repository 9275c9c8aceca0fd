#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports.py BUILD COMPILER..., exports.py --windows BUILD: what the three libraries export, and under which version, is exactly
this list, and in Debian's list of symbols. And programs that were linked against WSL's libraries (made here: empty
functions of the same names and versions) start on ours without a word of the dynamic linker about versions, and those linked
against ours on WSL's. For Windows: names and the numbers that programs import by."""

import os
import re
import struct
import subprocess
import sys
import tempfile

# From Microsoft's packages for WSL: what torch_directml 0.2.5 brings as libd3d12.so, what its parts ask libdxcore.so and
# libdirectml.so for, and under which version.
WSL = {
    "d3d12": ("VER_1", [
        "D3D12CreateDevice", "D3D12CreateRootSignatureDeserializer", "D3D12CreateVersionedRootSignatureDeserializer",
        "D3D12EnableExperimentalFeatures", "D3D12GetDebugInterface", "D3D12GetInterface", "D3D12SerializeRootSignature",
        "D3D12SerializeVersionedRootSignature"]),
    "dxcore": ("", ["DXCoreCreateAdapterFactory"]),
    "directml": ("", ["DMLCreateDevice", "DMLCreateDevice1"]),
}
OURS = {
    "d3d12": ["AnydmlAdapterRegistry", "AnydmlCreateBufferFromMemory", "AnydmlExecuteCommandLists", "AnydmlLiveObjects",
              "AnydmlVulkanCreateDevice", "AnydmlVulkanCreateFence", "AnydmlVulkanCreateSharedBuffer",
              "AnydmlVulkanExportMemory", "AnydmlVulkanGetBuffer", "AnydmlVulkanGetSemaphore",
              "AnydmlVulkanOpenBuffer", "AnydmlVulkanOpenMemory"],
    "dxcore": ["AnydmlLiveObjects"],
    "directml": ["AnydmlCompileGraph", "AnydmlCompileGraphInParts", "AnydmlEnumOperators", "AnydmlGraphBroadcast",
                 "AnydmlGraphClearError", "AnydmlGraphCompile", "AnydmlGraphConstant", "AnydmlGraphCreate", "AnydmlGraphDestroy", "AnydmlGraphInput",
                 "AnydmlGraphInputTensor", "AnydmlGraphMessage", "AnydmlGraphOperator", "AnydmlGraphOwnedInput",
                 "AnydmlGraphReinterpret", "AnydmlGraphTensor", "AnydmlKeepRows", "AnydmlLiveObjects", "AnydmlQuiet",
                 "AnydmlRunOperator", "AnydmlSetTrace", "AnydmlTune", "AnydmlVulkanRecordDispatch"],
}

DXGI = ["AnydmlLiveObjects", "CreateDXGIFactory", "CreateDXGIFactory1", "CreateDXGIFactory2",
        "DXGIDeclareAdapterRemovalSupport", "DXGIGetDebugInterface1"]
# What Windows' own libraries have there: ONNX Runtime and torch_directml import D3D12CreateDevice and DMLCreateDevice1 so.
NUMBERS = {"d3d12": {"D3D12CreateDevice": 101, "D3D12GetDebugInterface": 102},
           "directml": {"DMLCreateDevice": 1, "DMLCreateDevice1": 2}}


def exports(path):
    """Names with their versions, as the dynamic linker sees them."""
    table = subprocess.run(["readelf", "--wide", "--dyn-syms", path], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in table.splitlines():
        # Number, value, size, type, binding, visibility, section, name with @version (@@: the default).
        words = line.split()
        if re.match(r"\d+:$", words[0] if words else "") and len(words) >= 8 and words[6] != "UND":
            found.add(words[7])
    return found


def exports_of_dll(path):
    """Names with their numbers, from the export directory of a file of format PE32+."""
    with open(path, "rb") as file:
        data = file.read()
    header = struct.unpack_from("<I", data, 0x3c)[0]
    sections, optional = struct.unpack_from("<H", data, header + 6)[0], struct.unpack_from("<H", data, header + 20)[0]

    def at(address):
        for i in range(sections):
            size, start, _, place = struct.unpack_from("<4I", data, header + 24 + optional + 40 * i + 8)
            if start <= address < start + size:
                return address - start + place
        raise ValueError(f"{path}: no section has {address:#x}")

    table = at(struct.unpack_from("<I", data, header + 24 + 112)[0])
    base, _, count, _, names, numbers = struct.unpack_from("<6I", data, table + 16)
    found = {}
    for i in range(count):
        name = at(struct.unpack_from("<I", data, at(names) + 4 * i)[0])
        found[data[name:data.index(0, name)].decode()] = base + struct.unpack_from("<H", data, at(numbers) + 2 * i)[0]
    return found


def check_dlls(folder):
    """What is wrong with the libraries for Windows."""
    libraries = {library: [*names, *OURS[library]] for library, (_, names) in WSL.items()}
    for library, wanted in {**libraries, "dxgi": DXGI}.items():
        found, wanted = exports_of_dll(os.path.join(folder, library + ".dll")), set(wanted)
        for name in sorted(found.keys() ^ wanted):
            yield f"{library}.dll {'exports' if name in found else 'does not export'} {name}"
        for name, number in NUMBERS.get(library, {}).items():
            if found.get(name) != number:
                yield f"{library}.dll exports {name} as {found.get(name)}, not {number}"


def expected(library):
    version, names = WSL[library]
    suffix = "@@" + version if version else ""
    found = {name + suffix for name in names + OURS[library]}
    return found | ({version} if version else set()) # the version itself is a symbol too, of type ABS


def check_symbols():
    """What is wrong with Debian's list of them, by which packages depend on a version."""
    path = os.path.join(os.path.dirname(__file__), "../../packaging/debian/libanydml0.symbols")
    found = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            if line[0] != " ":
                names = found.setdefault(re.match(r"lib(\w+)\.so", line)[1], set())
            else:
                names.add(line.split("@")[0].strip())
    for library, names in found.items():
        for name in sorted(names ^ {one.split("@")[0] for one in expected(library)}):
            yield f"libanydml0.symbols {'has' if name in names else 'lacks'} {name} of lib{library}.so"
    yield from (f"libanydml0.symbols lacks lib{library}.so" for library in WSL if library not in found)


def compile_c(compiler, folder, name, text, *flags):
    source = os.path.join(folder, name + ".c")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run([*compiler, source, *flags], check=True)


def make_wsl(compiler, folder, library):
    """A library of WSL's names and versions, in which nothing does anything."""
    version, names = WSL[library]
    script = os.path.join(folder, library + ".map")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"{version} {{ global: {'; '.join(names)}; local: *; }};\n")
    compile_c(compiler, folder, library, "".join(f"int {name}(void) {{ return 0; }}\n" for name in names), "-shared",
              "-fPIC", f"-Wl,-soname,lib{library}.so,--version-script={script}", "-o",
              os.path.join(folder, f"lib{library}.so"))


def complaints(compiler, folder, link_with, run_with):
    """What the dynamic linker says when a program linked against the libraries of one folder starts with another's."""
    names = [name for _, names in WSL.values() for name in names]
    text = "".join(f"int {name}(void);\n" for name in names)
    text += "int (*const all[])(void) = { " + ", ".join(names) + " };\n"
    text += "int main(void) { return !all[0]; }\n"
    program = os.path.join(folder, "program")
    compile_c(compiler, folder, "program", text, "-L" + link_with, *("-l" + library for library in WSL),
              "-Wl,--allow-shlib-undefined", "-o", program)
    environment = {"LD_LIBRARY_PATH": run_with, "LD_BIND_NOW": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr}"


def main():
    if sys.argv[1] == "--windows":
        problems = list(check_dlls(os.path.join(sys.argv[2], "src")))
        print(*problems, sep="\n")
        sys.exit(bool(problems))
    ours, compiler = os.path.join(sys.argv[1], "src"), sys.argv[2:]
    problems = list(check_symbols())
    failed = bool(problems)
    print("\n".join(problems), end="\n" if problems else "")
    for library in WSL:
        found, wanted = exports(os.path.join(ours, f"lib{library}.so")), expected(library)
        for name in sorted(found ^ wanted):
            print(f"lib{library}.so {'exports' if name in found else 'does not export'} {name}")
            failed = True
    with tempfile.TemporaryDirectory() as scratch:
        for library in WSL:
            make_wsl(compiler, scratch, library)
        for link_with, run_with in ((scratch, ours), (ours, scratch)):
            said = complaints(compiler, scratch, link_with, run_with)
            if said:
                print(f"linked against {'WSL' if link_with == scratch else 'AnyDML'}, run on the other:\n{said}")
                failed = True
    sys.exit(failed)


main()
