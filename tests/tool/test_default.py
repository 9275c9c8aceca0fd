#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The default device: test_default.py ANYDML DEMO HELLO SAMPLES

The command, the demo and D3D12CreateDevice(NULL) take the first device of the list. Where there is no GPU, no library of
Vulkan is loaded; where there is one, drivers are asked for the list once in a process, by whichever library is first.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

NODES = ("/dev/dri/renderD*", "/dev/nvidia*", "/dev/dxg", "/dev/kgsl*", "/dev/mali*", "/dev/nvhost*", "/dev/nvgpu*", "/dev/pvr*")
failed = False


def check(right, what):
    global failed
    if not right:
        print("FAILED:", what)
        failed = True


def run(command, **environment):
    """Ends well; what it prints, what it logs, and how often the Vulkan loader was loaded."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANYDML_")}
    with tempfile.TemporaryDirectory() as folder:
        env |= {"ANYDML_TELEMETRY": "0", "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(folder, "linker"), **environment}
        ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=300)
        text = "".join(open(path, encoding="utf-8").read() for path in glob.glob(os.path.join(folder, "linker.*")))
    check(ran.returncode == 0, f"{command} with {environment}: {ran.returncode}, {ran.stderr}")
    check(text, "the dynamic linker said nothing")
    return ran.stdout, ran.stderr, len(re.findall(r"calling init: \S*/libvulkan\.so", text))


def listed(anydml, **environment):
    text, _, loads = run([anydml, "devices", "--json"], **environment)
    return json.loads(text), loads


def check_default(anydml, demo, hello, samples, loads, **environment):
    """All of them take the first device. loads: of the Vulkan loader, which is loaded again to open a device of its own."""
    devices, loaded = listed(anydml, **environment)
    check(loaded == loads, f"`anydml devices` loads Vulkan {loaded} times, not {loads}: {environment}")
    name = devices[0]["name"]
    _, log, loaded = run([hello], ANYDML_LOG="info", **environment)
    check(f'device on adapter 0, "{name}"' in log, f"D3D12CreateDevice(NULL) takes {name}: {log}")
    check(loaded == loads, f"D3D12CreateDevice(NULL) loads Vulkan {loaded} times, not {loads}: {environment}")
    if "ANYDML_VULKAN_HARDWARE" in environment:
        return devices  # software takes minutes for the demo
    with tempfile.TemporaryDirectory() as folder:
        text, _, _ = run([demo, f"{samples}/data/brushes.jpg", f"{samples}/data/super_resolution_x2.onnx", folder], **environment)
    check(re.search(rf"^device +{re.escape(name)} \(", text, re.MULTILINE), f"the demo takes {name}: {text}")
    return devices


def main():
    anydml, demo, hello, samples = sys.argv[1:]
    host = listed(anydml, ANYDML_ADAPTERS="cpu")[0][0]["name"]
    vulkan = subprocess.run([anydml, "devices", "--json"], env={**os.environ, "ANYDML_ADAPTERS": "vulkan"}, capture_output=True,
                            text=True, check=False)
    check_default(anydml, demo, hello, samples, 0, ANYDML_ADAPTERS="cpu")
    nodes = [node for pattern in NODES for node in glob.glob(pattern)]
    if not nodes:
        devices = check_default(anydml, demo, hello, samples, 0)
        check([d["name"] for d in devices] == [host], f"without a GPU there is the CPU: {devices}")
    elif not vulkan.returncode and any(d["kind"] == "gpu" for d in json.loads(vulkan.stdout)):
        devices = check_default(anydml, demo, hello, samples, 2)
        check(devices[0]["kind"] == "gpu" and devices[-1]["name"] == host, f"GPUs are first: {devices}")
    if vulkan.returncode:
        print("no Vulkan device: not tested there")
        return
    # For the list, and for the device. Software counts as a GPU, where there is nothing else.
    found = [d["name"] for d in json.loads(vulkan.stdout)]
    devices = check_default(anydml, demo, hello, samples, 2, ANYDML_VULKAN_HARDWARE="1")
    check([d["name"] for d in devices] == [*found, host], f"GPUs are first: {devices}")
    for order in ("cpu,vulkan", "vulkan,cpu"):
        devices = listed(anydml, ANYDML_ADAPTERS=order)[0]
        check([d["name"] for d in devices] == ([host, *found] if order[0] == "c" else [*found, host]), f"{order}: {devices}")
    # By kind, whatever the environment says.
    for word, name in (("cpu", host), ("vulkan", found[0])):
        for environment in ({}, {"ANYDML_ADAPTERS": "cpu"}, {"ANYDML_ADAPTERS": "vulkan"}):
            log = run([anydml, "dispatch", f"{samples}/dispatch/clip.json", "--device", word], ANYDML_LOG="info", **environment)[1]
            check(f'device on adapter 0, "{name}"' in log, f"--device {word} with {environment}: {log}")


main()
sys.exit(failed)
