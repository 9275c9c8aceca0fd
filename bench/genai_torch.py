# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a peer on NVIDIA GPUs: a network with the sizes of a model of onnxruntime-genai, in FLOAT16 with random weights
and caches of a fixed capacity; each step is replayed as a CUDA graph. GEMMs with the same input are merged, attention is
scaled_dot_product_attention; the generated text is meaningless."""
import json
from pathlib import Path

import onnx
import torch
from torch.nn import functional


class Model:
    def __init__(self, folder, dtype=torch.float16, device="cuda"):
        decoder = json.loads((Path(folder) / "genai_config.json").read_text(encoding="utf-8"))["model"]
        self.vocabulary, decoder = decoder["vocab_size"], decoder["decoder"]
        self.layers, self.kv_heads, self.size = (decoder[k] for k in ("num_hidden_layers", "num_key_value_heads", "head_size"))
        self.heads, self.hidden = decoder["num_attention_heads"], decoder["hidden_size"]
        graph = onnx.load(Path(folder) / "model.onnx", load_external_data=False).graph
        shapes = {value.name: list(value.dims) for value in graph.initializer}
        inner = shapes["model.layers.0.mlp.gate_proj.MatMul.weight"][1]
        self.device, self.dtype = device, dtype
        rows = (self.heads + 2 * self.kv_heads) * self.size
        bias = any("layers.0.attn.q" in name and name.endswith("Add.bias") for name in shapes)
        new = self.new
        self.embedding = new(self.vocabulary, self.hidden)
        self.weights = [{"norm1": new(self.hidden), "qkv": new(rows, self.hidden), "bias": new(rows) if bias else None,
                         "out": new(self.hidden, self.heads * self.size), "norm2": new(self.hidden),
                         "gate_up": new(2 * inner, self.hidden), "down": new(self.hidden, inner)} for _ in range(self.layers)]
        self.norm = new(self.hidden)
        angles = torch.outer(torch.arange(8192), 1e4 ** -(torch.arange(0, self.size, 2) / self.size)).repeat(1, 2)
        self.cos, self.sin = (f(angles).to(device, dtype) for f in (torch.cos, torch.sin))

    def new(self, *shape):
        return torch.randn(*shape, device=self.device, dtype=self.dtype) * 0.03

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.addcmul(x * cos, torch.cat((-b, a), -1), sin)

    def forward(self, tokens, positions, caches, window):
        """Processes tokens [count] and writes their keys and values to caches [2][layers][1, heads, capacity, size]. window: the
        part of the caches that is attended to, or None to attend to the tokens only."""
        count = len(tokens)
        x = self.embedding[tokens]
        cos, sin = self.cos[positions], self.sin[positions]
        mask = None if window is None else torch.arange(window, device=self.device)[None] <= positions[:, None]
        for i, w in enumerate(self.weights):
            y = functional.linear(functional.rms_norm(x, (self.hidden,), w["norm1"]), w["qkv"], w["bias"])
            heads = y.view(1, count, -1, self.size).transpose(1, 2)
            q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), 1)
            q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
            for cache, new in zip((caches[0][i], caches[1][i]), (k, v)):
                cache.index_copy_(2, positions, new)
            if window is not None:
                k, v = caches[0][i][:, :, :window], caches[1][i][:, :, :window]
            y = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=window is None and count > 1, enable_gqa=True)
            x = x + functional.linear(y.transpose(1, 2).reshape(count, -1), w["out"])
            gate, up = functional.linear(functional.rms_norm(x, (self.hidden,), w["norm2"]), w["gate_up"]).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, w["down"])
        return functional.linear(functional.rms_norm(x[-1:], (self.hidden,), self.norm), self.embedding).argmax(-1)


class Generator:
    """Has the interface of genai's Generator. CUDA graphs are kept per model, capacity, number of tokens and window."""
    graphs = {}

    def __init__(self, model, capacity):
        self.model = model
        self.capacity = capacity
        self.length = 0
        self.token = None

    def capture(self, count, window):
        model = self.model
        key = (id(model), self.capacity)
        if key not in self.graphs:
            shape = (2, model.layers, 1, model.kv_heads, self.capacity, model.size)
            self.graphs[key] = {"caches": torch.zeros(shape, device=model.device, dtype=model.dtype)}
        kept = self.graphs[key]
        if (count, window) not in kept:
            tokens, positions = (torch.zeros(count, dtype=torch.int64, device=model.device) for _ in range(2))
            positions.copy_(torch.arange(count))
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                model.forward(tokens, positions, kept["caches"], window)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = model.forward(tokens, positions, kept["caches"], window)
            kept[count, window] = graph, tokens, positions, out
        return kept[count, window]

    def append_tokens(self, tokens):
        begin, self.length = self.length, self.length + len(tokens)
        window = None if begin == 0 else min(self.capacity, -(-self.length // 256) * 256)
        with torch.inference_mode():
            graph, tokens_in, positions, out = self.capture(len(tokens), window)
            tokens_in.copy_(torch.tensor(tokens))
            positions.copy_(torch.arange(begin, self.length))
            graph.replay()
            self.token = int(out)

    def rewind_to(self, length):
        self.length = length

    def generate_next_token(self):
        self.append_tokens([self.token])
