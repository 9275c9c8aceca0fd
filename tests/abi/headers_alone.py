#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, in each language and by each compiler there is, without a warning. Then
DML_TARGET_VERSION: every level compiles, and what is newer than the level is hidden.

usage: headers_alone.py INCLUDE_DIR [flags that find the Direct3D headers]
"""
import os
import re
import shutil
import subprocess
import sys

# C17 is C11 with its defects repaired.
LANGUAGES = [("c", compiler, standard) for compiler in ("gcc", "clang") for standard in ("c99", "c17")]
LANGUAGES += [("c++", compiler, standard) for compiler in ("g++", "clang++") for standard in ("c++17", "c++20")]

LEVELS = [0x1000, 0x2000, 0x2100, 0x3000, 0x3100, 0x4000, 0x4100, 0x5000, 0x5100, 0x5200, 0x6000, 0x6100, 0x6200,
          0x6300, 0x6400]

# Expressions and the level that brings them; at least one for every level and for every kind of declaration.
SINCE = [
    ("DML_OPERATOR_GRU", 0x1000), ("sizeof(IDMLDevice)", 0x1000), ("sizeof(DMLCreateDevice(0, zero, iid, 0))", 0x1000),
    ("DML_OPERATOR_ELEMENT_WISE_SIGN", 0x2000), ("DML_OPERATOR_SCATTER", 0x2000),
    ("DML_FEATURE_FEATURE_LEVELS", 0x2000), ("sizeof(DML_FEATURE_LEVEL)", 0x2000),
    ("sizeof(DML_FEATURE_DATA_FEATURE_LEVELS)", 0x2000),
    ("sizeof(DMLCreateDevice1(0, zero, DML_FEATURE_LEVEL_1_0, iid, 0))", 0x2000),
    ("DML_OPERATOR_ELEMENT_WISE_ROUND", 0x2100), ("sizeof(DML_SCALAR_UNION)", 0x2100),
    ("sizeof(DML_GRAPH_DESC)", 0x2100), ("sizeof(IDMLDevice1)", 0x2100), ("DML_AXIS_DIRECTION_DECREASING", 0x2100),
    ("DML_OPERATOR_GATHER_ND1", 0x3000), ("DML_PADDING_MODE_SYMMETRIC", 0x3000),
    ("DML_TENSOR_DIMENSION_COUNT_MAX1", 0x3000), ("sizeof(DML_RANDOM_GENERATOR_TYPE)", 0x3000),
    ("DML_OPERATOR_CUMULATIVE_PRODUCT", 0x3100), ("DML_OPERATOR_ROI_ALIGN1", 0x4000),
    ("DML_OPERATOR_ROI_ALIGN_GRAD", 0x4100), ("DML_OPERATOR_PADDING1", 0x5000), ("DML_OPERATOR_RESAMPLE2", 0x5100),
    ("DML_FEATURE_LEVEL_5_2", 0x5200), ("DML_FEATURE_LEVEL_6_0", 0x6000), ("DML_OPERATOR_MULTIHEAD_ATTENTION", 0x6100),
    ("sizeof(DML_MULTIHEAD_ATTENTION_MASK_TYPE)", 0x6100), ("DML_GRAPH_NODE_TYPE_CONSTANT", 0x6200),
    ("sizeof(DML_CONSTANT_DATA_GRAPH_NODE_DESC)", 0x6200), ("DML_TENSOR_DATA_TYPE_INT4", 0x6300),
    ("sizeof(DML_QUANTIZATION_TYPE)", 0x6300), ("DML_PADDING_MODE_WRAP", 0x6400),
    ("sizeof(DML_FOLD_OPERATOR_DESC)", 0x6400),
]


class Compilers:
    def __init__(self, include, flags):
        self.flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I" + include] + flags
        self.runs = 0
        self.failures = 0

    def compile(self, language, source, *flags):
        """The compiler's messages, or None when it is content."""
        kind, compiler, standard = language
        self.runs += 1
        command = [compiler, "-std=" + standard, *self.flags, *flags, "-x", kind, "-"]
        done = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE, check=False)
        return done.stderr or "failed in silence" if done.returncode else None

    def expect(self, compiles, language, what, source, *flags):
        messages = self.compile(language, source, *flags)
        if (messages is None) != compiles:
            self.failures += 1
            print(what, "with", " ".join(language[1:]), "must" if compiles else "must not", "compile")
            print("\n".join((messages or "").splitlines()[:5]))

    def expect_each_hidden(self, language, expressions, head, *flags):
        """Each expression, in a function of its own, has an error of its own."""
        first = head.count("\n") + 1
        uses = "".join(f"size_t use{i}(void) {{ return (size_t)({e}); }}\n" for i, e in enumerate(expressions))
        messages = self.compile(language, head + uses, *flags, "-Wno-unused", *self.all_errors(language)) or ""
        lines = set(map(int, re.findall(r"^<stdin>:(\d+):\d+: error:", messages, re.MULTILINE)))
        for i, expression in enumerate(expressions):
            if first + i not in lines:
                self.failures += 1
                print(expression, "with", " ".join(language[1:]), *flags, "must not compile")

    @staticmethod
    def all_errors(language):
        return ["-ferror-limit=0"] if "clang" in language[1] else ["-fmax-errors=0"]


def public_headers(include):
    for folder, _, files in os.walk(include):
        for name in sorted(files):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(folder, name), include)


def check_alone(compilers, include, languages):
    """Each header with one standard of each compiler; check_modes has all headers with all of them."""
    first = [one for one in languages if one[1].startswith("g") == (one[2] in ("c99", "c++17"))]
    for header in public_headers(include):
        for language in first:
            if language[0] == "c++" and header.endswith("_c.h"):
                continue  # the C view of what C++ sees as classes
            if language[0] == "c" and re.search("DirectMLX|/dmlx_", header):
                continue  # C++ only
            if header == "anydml_vulkan.h" and compilers.compile(language, "#include <vulkan/vulkan_core.h>\n"):
                continue  # not on this machine
            source = f"#include <{header}>\n#include <{header}>\nint anydml_alone;\n"
            compilers.expect(True, language, header, source)


def check_modes(compilers, languages):
    everything = "#include <DirectMLGuids.h>\n#include <anydml_dxcore.h>\n#include <anydml.h>\n"
    for language in languages:
        for mode in ("-DINITGUID", "-DCONST_VTABLE", "-DDML_TARGET_VERSION_USE_LATEST"):
            compilers.expect(True, language, "all headers " + mode, everything, mode)
        if language[0] == "c++":
            compilers.expect(True, language, "DirectML.h -DCINTERFACE", "#include <DirectML.h>\n", "-DCINTERFACE")


def check_directmlx(compilers, languages):
    """Without exceptions, and at every level that has graphs."""
    source = "#include <DirectMLX.h>\n"
    for language in languages:
        if language[0] == "c++":
            compilers.expect(True, language, "DirectMLX.h -fno-exceptions", source, "-fno-exceptions")
    language = next((one for one in languages if one[0] == "c++"), None)
    for level in LEVELS if language else []:
        flag = f"-DDML_TARGET_VERSION={level:#x}"
        compilers.expect(level >= 0x2100, language, f"DirectMLX.h at level {level:#x}", source, flag)


def check_levels(compilers, languages):
    head = "#include <DirectML.h>\nstatic const DML_CREATE_DEVICE_FLAGS zero = DML_CREATE_DEVICE_FLAG_NONE;\n"
    for kind, guid in (("c", "static const IID *iid;\n"), ("c++", "static const IID iid = {};\n")):
        language = next((one for one in languages if one[0] == kind), None)
        if not language:
            continue
        for level in LEVELS:
            flag = f"-DDML_TARGET_VERSION={level:#x}"
            known = [expression for expression, since in SINCE if since <= level]
            uses = "".join(f"size_t use{i}(void) {{ return (size_t)({e}); }}\n" for i, e in enumerate(known))
            compilers.expect(True, language, f"level {level:#x}", head + guid + uses, flag, "-Wno-unused")
        for below, since in zip(LEVELS, LEVELS[1:]):
            hidden = [expression for expression, level in SINCE if level == since]
            compilers.expect_each_hidden(language, hidden, head + guid, f"-DDML_TARGET_VERSION={below:#x}")


def main():
    include = sys.argv[1]
    languages = [language for language in LANGUAGES if shutil.which(language[1])]
    if not languages:
        print("no compiler of a known name")
        return 77
    compilers = Compilers(include, sys.argv[2:])
    check_alone(compilers, include, languages)
    check_modes(compilers, languages)
    check_levels(compilers, languages)
    check_directmlx(compilers, languages)
    print(f"{compilers.runs} compilations, {compilers.failures} failures")
    return 1 if compilers.failures else 0


if __name__ == "__main__":
    sys.exit(main())
