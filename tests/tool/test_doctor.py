#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""anydml doctor: test_doctor.py ANYDML [FAULTS ICD]

What it says of devices that work, and of those that do not: a library that is preloaded (FAULTS, doctor_faults.c) makes its
children crash, hang, fail or print a wrong number, and a driver (ICD, doctor_icd.c) aborts or never answers.
"""
import glob
import json
import os
import re
import socket
import sys

from tool import Tool

OPERATORS = ["add FLOAT32", "add FLOAT16", "sigmoid FLOAT32", "gemm FLOAT32", "gemm FLOAT16", "gemm INT8", "convolution FLOAT32",
             "convolution FLOAT16", "max pooling FLOAT32", "reduce FLOAT32", "softmax FLOAT32", "softmax FLOAT16",
             "normalization FLOAT32", "gather FLOAT32", "top k FLOAT32", "cumulative sum FLOAT32", "resample FLOAT32"]
EXACT = {"gemm INT8", "max pooling FLOAT32", "gather FLOAT32"}


# Of a machine that does much else; for children that work.
PATIENCE = ("--timeout", "100")


class Doctor:
    def __init__(self, tool):
        self.tool = tool

    def report(self, *args, code=0, **environment):
        """The JSON report; the exit code must be `code`."""
        result = self.tool.run("doctor", "--json", *PATIENCE, *args, **environment)
        self.tool.test(result.returncode == code and not result.stderr,
                       f"doctor {args} {environment}: code {result.returncode}, {result.stderr.strip()[-300:]!r}")
        try:
            return json.loads(result.stdout)
        except ValueError:
            self.tool.test(False, f"doctor {args}: no JSON: {result.stdout[:200]!r}")
            return {"problems": [], "devices": [], "vulkan": {}}

    def text(self, *args, code=0, **environment):
        result = self.tool.run("doctor", *PATIENCE, *args, **environment)
        self.tool.test(result.returncode == code and not result.stderr,
                       f"doctor {args} {environment}: code {result.returncode}, {result.stderr.strip()[-300:]!r}")
        return result.stdout

    def result(self, report, name, device=0):
        found = [test for test in report["devices"][device]["tests"] if test["name"] == name] if report["devices"] else []
        return found[0] if found else {"result": None, "text": ""}

    def problem(self, report, *fragments):
        self.tool.test(any(all(f in problem for f in fragments) for problem in report["problems"]),
                       f"a problem with {fragments} among {report['problems']}")


def check_usage(tool):
    tool.fails(["doctor", "extra"], "unexpected argument 'extra'")
    tool.fails(["doctor", "--bad"], "unknown option '--bad'")
    tool.fails(["doctor", "--device", "99"], "device 99 does not exist")
    tool.fails(["doctor", "--device", "x"], "--device", "'x'")
    for value in ("0", "x", "9999"):
        tool.fails(["doctor", "--timeout", value], "--timeout", value)


def check_works(doctor):
    tool = doctor.tool
    report = doctor.report()
    tool.test(report.get("works") is True and not report["problems"], f"works: {report['problems']}")
    device = report["devices"][0]
    tool.test([test["name"] for test in device["tests"]] == OPERATORS, "the operators of the self-test")
    for test in device["tests"]:
        tool.test(test["result"] == "right" and 0 <= test["error"] <= 1, f"{test}")
        tool.test((test["error"] == 0) == (test["name"] in EXACT) or test["name"].startswith("top k"),
                  f"{test['name']} rounds: {test['error']}")
    for speed in device["speed"]:
        tool.test(speed.get("rate", 0) > 0 and speed["unit"] in ("GFLOP/s", "GB/s"), f"{speed}")
    tool.test(len(device["speed"]) == 3, "gemm in two types, add")
    system = report["system"]
    tool.test(system["cores"] >= 1 and system["memory_bytes"] > 2**20 and system["kernel"].startswith("Linux "), f"{system}")
    tool.test(report["version"] in tool.works("--version"), "the version")
    text = doctor.text("--no-speed")
    tool.test(text.splitlines()[-1] == "verdict: everything works", f"the last line: {text.splitlines()[-1:]}")
    tool.test("GFLOP/s" not in text and device["name"] in text and "AnyDML 0." in text, "what the text has")
    for name in OPERATORS:
        tool.test(re.search(rf"^  {name} +right \((error \S+ of what is allowed|exact)\)$", text, re.MULTILINE), f"{name} in {text}")


def check_privacy(doctor):
    place = doctor.tool.file("x.json")
    secret = {"HOME": "/home/alice.secret", "USER": "bobsecret", "ANYDML_CACHE_DIR": "/home/alice.secret/cache:/home/carolsecret",
              "VK_DRIVER_FILES": "/srv/bobsecret/x.json", "ANYDML_TRACE": place + "secretmodel"}
    text = doctor.text("--no-speed", **secret) + json.dumps(doctor.report("--no-speed", **secret))
    doctor.tool.test("secret" not in text, f"names: {[line for line in text.splitlines() if 'secret' in line]}")
    doctor.tool.test("ANYDML_CACHE_DIR=~/cache:~" in text and "/srv/USER/x.json" in text, f"what is shown instead: {text}")
    doctor.tool.test(not os.path.exists(place + "secretmodel"), "children write no trace")
    host = socket.gethostname()
    if len(host) > 8:
        doctor.tool.test(host not in text, "the name of the machine")


def check_flags(doctor):
    flags = doctor.report("--no-speed", ANYDML_CPU_FLAGS="none")
    doctor.tool.test(flags["system"]["instruction_sets"] == [] and
                     flags["system"]["environment"]["ANYDML_CPU_FLAGS"] == "none", "ANYDML_CPU_FLAGS")
    # The bounds are those of FLOAT32.
    doctor.report("--no-speed", ANYDML_HALF_PRECISION="on")


def check_faults(doctor, faults):
    tool = doctor.tool

    def broken(fault, *args):
        return doctor.report("--no-speed", *args, code=1, LD_PRELOAD=faults, DOCTOR_FAULT=fault)

    report = broken(f"corrupt c{OPERATORS.index('gemm FLOAT32')}_OutputTensor")
    wrong = doctor.result(report, "gemm FLOAT32")
    tool.test(wrong["result"] == "wrong" and re.fullmatch(
        r"WRONG at \[0, 0\]: \S+, expected \S+; 1 of 10087 elements", wrong["text"]), f"a wrong number: {wrong}")
    tool.test([test["name"] for test in report["devices"][0]["tests"] if test["result"] != "right"] == ["gemm FLOAT32"],
              "only that operator is wrong")
    doctor.problem(report, "device 0 computes gemm FLOAT32 wrongly")
    exact = doctor.result(broken(f"corrupt c{OPERATORS.index('top k FLOAT32')}_OutputIndexTensor"), "top k FLOAT32")
    tool.test(exact["result"] == "wrong" and "OutputIndexTensor[0, 0]" in exact["text"], f"a wrong index: {exact}")

    report = broken("crash DML_OPERATOR_TOP_K1")
    tool.test(doctor.result(report, "top k FLOAT32")["text"] == "crashed (signal 6)", "the operator that crashes")
    tool.test(report["devices"][0]["graph"] == "crashed (signal 6)", "and the graph")
    doctor.problem(report, "device 0", "top k FLOAT32 crashed (signal 6)")
    tool.test(sum(test["result"] == "right" for test in report["devices"][0]["tests"]) == len(OPERATORS) - 1, "all others work")

    report = broken("crash \"c1\"")  # a graph with a second operator
    tool.test(all(test["result"] == "right" for test in report["devices"][0]["tests"]), "each alone works")
    doctor.problem(report, "all operators in one graph crashed (signal 6)")

    report = broken("hang DML_OPERATOR", "--timeout", "1")
    results = [test["result"] for test in report["devices"][0]["tests"]]
    tool.test(results == ["failed"] * 3 + ["untried"] * (len(OPERATORS) - 3), f"a device that hangs: {results}")
    doctor.problem(report, "add FLOAT32 does not answer within 1 s")

    report = broken("fail DML_OPERATOR_GATHER")
    doctor.problem(report, "gather FLOAT32 failed: running: DXGI_ERROR_DEVICE_REMOVED")

    report = doctor.report("--no-speed", LD_PRELOAD=faults, DOCTOR_FAULT="refuse DML_OPERATOR_RESAMPLE")
    tool.test(doctor.result(report, "resample FLOAT32")["result"] == "unsupported" and report["works"],
              "what a device does not support is no failure")
    last = doctor.text("--no-speed", code=1, LD_PRELOAD=faults, DOCTOR_FAULT="crash DML_OPERATOR_REDUCE").splitlines()[-1]
    tool.test(last == "verdict: device 0: reduce FLOAT32 crashed (signal 6)", f"the last line: {last}")


def check_vulkan(doctor):
    """The software implementation, where there is one."""
    tool = doctor.tool
    both = {"ANYDML_ADAPTERS": "vulkan,cpu"}
    report = doctor.report("--no-speed", **both)
    physical = report["vulkan"].get("devices")
    if not physical:
        print("no Vulkan device here")
        return
    used = [device for device in report["devices"] if "capabilities" in device]
    tool.test(used and used[0]["index"] == 0 and physical[0]["state"].startswith("used as device 0"), f"states: {physical}")
    tool.test(used[0]["subgroup_size"] >= 1 and "subgroup" in used[0]["capabilities"], f"capabilities: {used[0]}")
    tool.test(re.search(r"^libvulkan\.so\.1, Vulkan 1\.\d+\.\d+$", report["vulkan"]["loader"]), "the loader")
    for device in report["devices"]:
        tool.test(all(test["result"] == "right" for test in device["tests"]), f"device {device['index']}: {device['tests']}")
    less = doctor.report("--no-speed", "--device", "0", ANYDML_VULKAN_CAPS="storage,half", **both)
    tool.test(set(less["devices"][0]["capabilities"]) <= {"storage", "half"}, f"{less['devices'][0]['capabilities']}")
    tool.test(["tests" in device for device in less["devices"]] == [True] + [False] * (len(less["devices"]) - 1), "--device 0")
    alone = doctor.report("--no-speed")
    tool.test(all("not used" in device["state"] for device in alone["vulkan"]["devices"]), "not in ANYDML_ADAPTERS=cpu")
    names = [os.path.basename(path) for path in glob.glob("/usr/share/vulkan/icd.d/*.json")]
    tool.test(set(names) <= {entry["file"] for entry in alone["vulkan"]["manifests"]}, "the manifests")


def drivers(path):
    return {"VK_DRIVER_FILES": path, "VK_ICD_FILENAMES": path}


def check_drivers(doctor, icd):
    tool = doctor.tool
    nothing = doctor.report("--no-speed", ANYDML_ADAPTERS="vulkan,cpu", **drivers("/nonexistent/none.json"))
    tool.test(nothing["vulkan"]["manifests"] == [{"file": "none.json", "problem": "No such file or directory"}] and
              not nothing["vulkan"]["devices"] and len(nothing["devices"]) == 1, f"no driver: {nothing['vulkan']}")
    bad = tool.file("bad.json", b"{]")
    tool.test(doctor.report("--no-speed", **drivers(bad))["vulkan"]["manifests"][0]["problem"] == "it is not JSON", "no JSON")

    manifest = tool.file("crash_icd.json", json.dumps(
        {"file_format_version": "1.0.0", "ICD": {"library_path": os.path.abspath(icd), "api_version": "1.3.0"}}).encode())
    report = doctor.report("--no-speed", code=1, ANYDML_ADAPTERS="vulkan,cpu", **drivers(manifest))
    tool.test(report["vulkan"]["manifests"][0]["problem"] == "the driver crashed (signal 6)", f"{report['vulkan']}")
    doctor.problem(report, "the Vulkan driver of crash_icd.json crashed (signal 6)")
    doctor.problem(report, "the devices cannot be listed", "crashed (signal 6)")
    tool.test([device["kind"] for device in report["devices"]] == ["cpu"] and
              all(test["result"] == "right" for test in report["devices"][0]["tests"]), "the cpu device is tested nevertheless")
    # Programs that do not use Vulkan have no problem, but the driver has.
    report = doctor.report("--no-speed", code=1, **drivers(manifest))
    tool.test(len(report["problems"]) == 1, f"{report['problems']}")
    text = doctor.text("--no-speed", "--timeout", "3", code=1, ANYDML_ADAPTERS="vulkan,cpu", DOCTOR_ICD="hang", **drivers(manifest))
    tool.test("crash_icd.json: the driver does not answer within 3 s" in text and "verdict: " in text.splitlines()[-1],
              f"a driver that hangs: {text}")

    os.makedirs(tool.file("lib"), exist_ok=True)
    tool.file("lib/libvulkan.so.1", b"no library")
    report = doctor.report("--no-speed", LD_LIBRARY_PATH=tool.file("lib"))
    tool.test("loader" not in report["vulkan"] and any("libvulkan.so.1" in m for m in report["vulkan"]["messages"]),
              f"no loader: {report['vulkan']}")


def main():
    tool = Tool(sys.argv[1])
    doctor = Doctor(tool)
    check_usage(tool)
    check_works(doctor)
    check_privacy(doctor)
    check_flags(doctor)
    if len(sys.argv) > 2:
        check_faults(doctor, os.path.abspath(sys.argv[2]))
    if len(sys.argv) > 3:
        check_vulkan(doctor)
        check_drivers(doctor, sys.argv[3])
    tool.finish()


main()
