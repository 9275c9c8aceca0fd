# SPDX-License-Identifier: Apache-2.0
"""Trains a small character-level GPT on a text, plots the loss, and generates text.

python samples/torch/gpt.py                                       # docs/architecture.md
python samples/torch/gpt.py --text book.txt --steps 2000 --plot loss.svg
"""
import argparse
import os
import time

import torch
import torch.nn.functional as F
import torch_directml  # noqa: F401 (registers the device "dml")
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, letters, length, width=128, heads=4, layers=3):
        super().__init__()
        self.length = length
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)
        self.apply(self._initialize)
        self.head.weight = self.letter.weight

    @staticmethod
    def _initialize(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, letters):
        x = self.letter(letters) + self.place(torch.arange(letters.shape[1], device=letters.device))
        return self.head(self.norm(self.blocks(x)))

    @torch.inference_mode()
    def write(self, letters, count):
        for _ in range(count):
            scores = self(letters[:, -self.length:])[:, -1] / 0.8
            letters = torch.cat([letters, torch.multinomial(scores.softmax(-1), 1)], 1)
        return letters


def plot(path, losses, title):
    """Writes an SVG file with the loss of each step (pale) and their running mean."""
    width, height, left, bottom = 640, 360, 50, 30
    most, least = max(losses), min(min(losses), 1)

    def point(step, loss):
        return (f"{left + (width - left - 10) * step / max(len(losses) - 1, 1):.1f},"
                f"{10 + (height - bottom - 10) * (most - loss) / (most - least or 1):.1f}")

    mean, smooth = losses[0], []
    for loss in losses:
        mean += 0.1 * (loss - mean)
        smooth.append(mean)
    lines = [f'<polyline fill="none" stroke="{colour}" points="{" ".join(point(*p) for p in enumerate(values))}"/>'
             for values, colour in ((losses, "#b0c4de"), (smooth, "#1f4e9c"))]
    ticks = [f'<text x="5" y="{float(point(0, v).split(",")[1]) + 4:.0f}">{v:.2f}</text>'
             for v in (least + (most - least) * i / 4 for i in range(5))]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
                   f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join(lines + ticks)}'
                   f'<text x="{left}" y="{height - 8}">{title}: loss in nats over {len(losses)} steps</text></svg>\n')


def main():
    parser = argparse.ArgumentParser(description="Trains a small GPT on a text.")
    parser.add_argument("--device", default="dml")
    parser.add_argument("--text", default=os.path.join(os.path.dirname(__file__), "../../docs/architecture.md"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--plot", default="loss.svg")
    parser.add_argument("--write", type=int, default=200, help="number of letters to generate after training")
    parser.add_argument("--compile", action="store_true", help='torch.compile(backend="directml")')
    options = parser.parse_args()

    with open(options.text, encoding="utf-8") as file:
        text = file.read()
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    torch.manual_seed(0)
    model = GPT(len(letters), options.length).to(options.device)
    step_model = torch.compile(model, backend="directml") if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.1, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, options.steps, pct_start=0.1)
    losses, begin = [], time.perf_counter()
    for step in range(1, options.steps + 1):
        starts = torch.randint(0, len(data) - options.length, (options.batch,))
        rows = torch.stack([data[s:s + options.length + 1] for s in starts]).to(options.device)
        loss = F.cross_entropy(step_model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step == 1 or step % 25 == 0 or step == options.steps:
            print(f"step {step:4d}  loss {losses[-1]:.3f}  {time.perf_counter() - begin:.1f} s", flush=True)
    plot(options.plot, losses, os.path.basename(options.text))
    print(f"{options.plot} shows the loss")
    written = model.write(data[:options.length][None].to(options.device), options.write)[0, options.length:].tolist()
    print("".join(letters[i] for i in written))


if __name__ == "__main__":
    main()
