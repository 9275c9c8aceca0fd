# SPDX-License-Identifier: Apache-2.0
"""Compares the execution provider with ONNX Runtime's CPU provider in one process; the two alternate.

    taskset -c 0 scripts/onnx-python bench/provider.py LIBRARY --threads 1 MODEL.onnx...

Prints medians in milliseconds per model and their ratio, then the geometric mean. --clients N: prints the runs per second of N
threads on one session instead. ANYDML_THREADS must equal --threads.
"""
import argparse
import os
import threading
import time

import numpy as np
import onnxruntime as ort

os.environ.setdefault("ANYDML_ADAPTERS", "cpu")  # as the peer


def make_session(path, threads, device):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if device:
        options.add_provider_for_devices([device], {})
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(path, options)


def make_feeds(path, session):
    """Returns the inputs: input.npy next to the network, or random numbers; free dimensions are 1."""
    own = os.path.join(os.path.dirname(path), "input.npy")
    random = np.random.default_rng(0)
    feeds = {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        if os.path.exists(own) and len(session.get_inputs()) == 1:
            feeds[port.name] = np.load(own)
        elif "float" in port.type:
            feeds[port.name] = random.standard_normal(shape).astype(np.float32)
        else:
            feeds[port.name] = random.integers(0, 2, shape).astype(np.int64 if "64" in port.type else np.int32)
    return feeds


def latencies(sessions, feeds, seconds):
    times = [[] for _ in sessions]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for session, list_ in zip(sessions, times):
            begin = time.perf_counter()
            session.run(None, feeds)
            list_.append(time.perf_counter() - begin)
    return [1e3 * float(np.median(t)) for t in times]


def throughput(session, feeds, clients, seconds):
    counts = [0] * clients
    end = time.perf_counter() + seconds

    def client(i):
        while time.perf_counter() < end:
            session.run(None, feeds)
            counts[i] += 1

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--clients", type=int, default=0)
    args = parser.parse_args()
    ort.register_execution_provider_library("anydml", os.path.abspath(args.library))
    device = next(d for d in ort.get_ep_devices() if d.ep_name == "AnyDMLExecutionProvider")
    ratios = []
    for path in args.models:
        sessions = [make_session(path, args.threads, device), make_session(path, args.threads, None)]
        feeds = make_feeds(path, sessions[0])
        for session in sessions * 3:
            session.run(None, feeds)
        if args.clients:
            ours, theirs = (throughput(s, feeds, args.clients, args.seconds) for s in sessions)
            print(f"{path}  {ours:.1f} against {theirs:.1f} runs/s: {ours / theirs:.2f}", flush=True)
        else:
            ours, theirs = latencies(sessions, feeds, args.seconds)
            ratios.append(ours / theirs)
            print(f"{path}  {ours:.3f} against {theirs:.3f} ms: {ours / theirs:.2f}", flush=True)
    if ratios:
        print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main()
