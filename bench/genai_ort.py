# SPDX-License-Identifier: Apache-2.0
"""Runs a model of onnxruntime-genai with ONNX Runtime alone in the same way as genai: every run reads and writes caches of a
fixed capacity in place, and the attention mask grows by one token. For adapters with their own memory, for which genai keeps
caches in host memory, and for machines without genai."""
import json
import os
from pathlib import Path

import numpy as np
import onnxruntime as ort

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


def greatest(logits):
    """Returns the index of the maximum. numpy needs 1.4 ms for 128256 elements of FLOAT16; bits of numbers that are not negative
    have the same order as integers."""
    if logits.dtype == np.float16:
        place = int(logits.view(np.int16).argmax())
        return place if logits[place] >= 0 else int(logits.argmax())
    return int(logits.argmax())


class Model:
    """library: path of the provider, or None for the CPU provider. own_memory: tensors are in device memory; with resident, only
    the caches are, and other tensors are in host memory as in genai."""

    def __init__(self, folder, library, threads, own_memory=False, resident=False):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.memory, self.number = "cpu", 0
        if library:
            ort.register_execution_provider_library("anydml", os.path.abspath(library))
            devices = [d for d in ort.get_ep_devices() if d.ep_name == "AnyDMLExecutionProvider"]
            own = {} if not own_memory else {"resident_caches" if resident else "device_tensors": "true"}
            options.add_provider_for_devices(devices[:1], own)
            if own_memory and not resident:
                self.memory, self.number = "dml", int(devices[0].ep_metadata["device_id"])
        self.session = ort.InferenceSession(str(Path(folder) / "model.onnx"), options)
        decoder = json.loads((Path(folder) / "genai_config.json").read_text(encoding="utf-8"))["model"]["decoder"]
        self.layers, self.heads, self.size = (decoder[k] for k in ("num_hidden_layers", "num_key_value_heads", "head_size"))
        self.inputs = {value.name: value for value in self.session.get_inputs()}
        self.logits = self.session.get_outputs()[0]

    def empty(self, shape, kind):
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, TYPES[kind], self.memory, self.number)


class Generator:
    """Has the interface of genai's Generator, for one sequence and greedy search."""

    def __init__(self, model, capacity):
        self.model = model
        self.binding = model.session.io_binding()
        self.length = 0
        self.token = None
        self.logits = None
        self.caches = []
        for layer in range(model.layers):
            for part in ("key", "value"):
                name = f"past_key_values.{layer}.{part}"
                cache = model.empty([1, model.heads, capacity, model.size], model.inputs[name].type)
                cache.update_inplace(np.zeros(cache.shape(), TYPES[model.inputs[name].type]))
                self.binding.bind_ortvalue_input(name, cache)
                self.binding.bind_ortvalue_output(f"present.{layer}.{part}", cache)
                self.caches.append(cache)

    def append_tokens(self, tokens):
        count, begin = len(tokens), self.length
        self.length += count
        binding, model = self.binding, self.model
        feeds = {"input_ids": np.array(tokens, np.int64)[None], "attention_mask": np.ones((1, self.length), np.int64),
                 "position_ids": np.arange(begin, self.length, dtype=np.int64)[None]}
        for name, value in feeds.items():
            if name in model.inputs:
                binding.bind_cpu_input(name, value)
        rows = 1 if model.logits.shape[1] == 1 else count
        shape = [1, rows, model.logits.shape[2]]
        if not self.logits or self.logits.shape() != shape:
            self.logits = model.empty(shape, model.logits.type)
            binding.bind_ortvalue_output("logits", self.logits)
        model.session.run_with_iobinding(binding)
        if rows == 1 or model.memory == "cpu":
            self.token = greatest(self.logits.numpy()[0, -1])

    def rewind_to(self, length):
        self.length = length

    def generate_next_token(self):
        self.append_tokens([self.token])
