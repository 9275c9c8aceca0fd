# SPDX-License-Identifier: Apache-2.0
"""Language models of onnxruntime-genai on the execution provider: tokens equal to those of its own CPU provider, no graph
compiled for a token, no memory kept for one. The models are those that scripts/prepare-genai makes.

    test_genai.py LIBRARY [MODELS]
"""
import collections
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path

SKIP = 77
NAME = "AnyDMLExecutionProvider"
MODELS = Path(__file__).resolve().parents[2] / ".cache" / "genai" / "models"
try:
    import numpy as np
    import onnxruntime_genai as genai
except ImportError as why:
    print("skipped:", why)
    sys.exit(SKIP)

# How far below the CPU provider's best logit that of another token may be, which is what rounding does; and the share of the
# tokens that come before such a place in their texts.
NEAR = {"fp32": (1e-3, 0.9), "int4exact": (1e-3, 0.9), "fp16": (0.03, 0.4), "fp16last": (0.03, 0.4)}
TOKENS = 200


def rss_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Model:
    """A model folder on the provider, or on genai's own CPU provider."""

    def __init__(self, folder, ours, profile=None, **more):
        config = genai.Config(str(folder))
        config.clear_providers()
        if ours:
            config.append_provider(NAME)
        options = {"intra_op_num_threads": 1, "log_severity_level": 3, **more}
        self.profile = profile
        if profile:
            options["enable_profiling"] = str(profile)
        config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
        self.model = genai.Model(config)

    def generator(self, max_length, batch=1):
        params = genai.GeneratorParams(self.model)
        # min_length: no token ends a text.
        params.set_search_options(max_length=max_length, min_length=max_length, batch_size=batch, do_sample=False)
        return genai.Generator(self.model, params)

    def close(self):
        """Ends the session; how often each event is in its profile, which is written then."""
        self.model = None
        gc.collect()
        counts = collections.Counter()
        for path in self.profile.parent.glob(self.profile.name + "*") if self.profile else ():
            counts.update(event["name"] for event in json.loads(path.read_text(encoding="utf-8")))
        return counts


def prompt(length, batch=1):
    tokens = np.random.default_rng(length).integers(3, 512, (batch, length)).astype(np.int32)
    return tokens if batch > 1 else tokens[0]


# Each text: what is done with its generator, one after another. An array is appended, a number of tokens is generated, and
# ("rewind", length) forgets all that follows.
TEXTS = [[prompt(1), TOKENS], [prompt(7), TOKENS], [prompt(33), TOKENS], [prompt(130), TOKENS], [prompt(33, 2), TOKENS],
         [prompt(20), 30, prompt(15), 30, ("rewind", 25), prompt(9), 30, ("rewind", 0), prompt(40), 30]]


def write(model, steps):
    """The text's tokens [token][row of the batch], and the logits that each was taken from."""
    generator = model.generator(512, len(steps[0]) if steps[0].ndim > 1 else 1)
    tokens, logits = [], []
    for step in steps:
        if isinstance(step, int):
            for _ in range(step):
                logits.append(generator.get_logits()[:, -1].astype(np.float32))
                generator.generate_next_token()
                tokens.append(np.array(generator.get_next_tokens()))
        elif isinstance(step, tuple):
            generator.rewind_to(step[1])
        else:
            generator.append_tokens(step)
    return tokens, logits


def compare(want, got, logits, near):
    """Up to the first token that differs; whether that may be. Where two are about as good what follows cannot be compared."""
    for i, (a, b) in enumerate(zip(want, got)):
        if np.array_equal(a, b):
            continue
        rows = np.flatnonzero(a != b)
        worse = max(float(logits[i][r].max() - logits[i][r, b[r]]) for r in rows)
        assert worse <= near, f"token {i}: {b}, not {a}, whose logit is greater by {worse}"
        return i
    return len(want)


def test_tokens(folder, scratch):
    """Every text's tokens; compilations are as many as the lengths of prompts ask for, whatever the number of tokens."""
    near, share = NEAR[folder.name.rsplit("-", 1)[1]]
    cpu, ours = Model(folder, False), Model(folder, True, scratch / folder.name)
    compared = total = 0
    # Layers with windows keep what is in the window, which cannot be gone back from.
    windows = "sliding_window" in (folder / "genai_config.json").read_text(encoding="utf-8")
    texts = TEXTS[:-1] if windows else TEXTS
    for steps in texts:
        want, logits = write(cpu, steps)
        got, _ = write(ours, steps)
        compared += compare(want, got, logits, near)
        total += len(want)
    assert compared >= share * total, f"{compared} of {total} tokens could be compared"
    counts = ours.close()
    print(f"{folder.name}: {compared} of {total} tokens, {counts['dml_compile']} graphs compiled, {counts['dml_run']} run")
    appended = sum(isinstance(step, np.ndarray) for steps in texts for step in steps)
    assert 0 < counts["dml_compile"] <= 2 * (appended + 2), counts


def test_rounded(models):
    """int4 with activations rounded to int8: no further from the same weights without that rounding than the CPU provider."""
    logits = []
    tokens, exact = write(Model(models / "llama-int4exact", False), [prompt(33), TOKENS])
    for ours in (False, True):
        generator = Model(models / "llama-int4", ours).generator(512)
        generator.append_tokens(prompt(33))
        logits.append([])
        for token in tokens:
            logits[-1].append(generator.get_logits()[:, -1].copy())
            generator.append_tokens(token)
    error_cpu, error = (np.sqrt(np.mean(np.square(np.array(x) - np.array(exact)))) for x in logits)
    print(f"llama-int4: error of the logits {error:.4f}, the CPU provider's {error_cpu:.4f}")
    assert error <= 1.25 * error_cpu


def test_growth(folder, scratch):
    """Compilations after 50 tokens and after 4,000; memory after 1,000 and after 4,000, which a profile would add to."""
    compiled = []
    for count in (50, 4000):
        model = Model(folder, True, scratch / f"growth-{count}")
        generator = model.generator(4096)
        generator.append_tokens(prompt(7))
        for _ in range(count):
            generator.generate_next_token()
        del generator
        compiled.append(model.close()["dml_compile"])
        assert compiled[0] <= 3, compiled
    assert compiled[0] == compiled[1], compiled
    # ONNX Runtime remembers a pattern of its memory for each length of the mask: small blocks between masks that grow.
    model = Model(folder, True, enable_mem_pattern=False)
    generator = model.generator(4096)
    generator.append_tokens(prompt(7))
    memory = []
    for _ in range(4):
        began = time.perf_counter()
        for _ in range(1000):
            generator.generate_next_token()
        memory.append(rss_bytes())
    print(f"{folder.name}: {compiled[1]} graphs compiled for 4000 tokens, {(memory[3] - memory[0]) >> 10} KiB more memory than for "
          f"1000, the last 1000 in {time.perf_counter() - began:.1f} s")
    assert memory[3] - memory[0] < 3 << 20, memory


def main():
    models = Path(sys.argv[2]) if len(sys.argv) > 2 else MODELS
    folders = sorted(path.parent for path in models.glob("*/genai_config.json"))
    if not folders:
        print("skipped: no models; scripts/prepare-genai makes them")
        return SKIP
    genai.register_execution_provider_library("anydml", os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as scratch:
        test_growth(models / "llama-fp32", Path(scratch))
        for folder in folders:
            if not folder.name.endswith("-int4"):
                test_tokens(folder, Path(scratch))
    test_rounded(models)
    return 0


if __name__ == "__main__":
    sys.exit(main())
