# SPDX-License-Identifier: Apache-2.0
"""Blocks of well-known networks with random weights, small, for test_graphs.py and bench/torch_graphs.py: as programs write
them, with torch's modules and functions alone."""
import torch
from torch import nn
from torch.nn import functional


class VitBlock(nn.Module):
    """Tokens of an image: LayerNorm, one product for query, key and value, attention, LayerNorm, GELU."""

    def __init__(self, width=48, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        x = x + self.proj(y)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class WhisperLayer(nn.Module):
    """A layer of Whisper's encoder: the product of the keys has no bias."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.v, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (each(y).view(*y.shape[:2], self.heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))


class ResNet(nn.Module):
    """Two residual blocks, the second with a stride, pooling and a classifier."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.MaxPool2d(3, 2, 1))
        self.one, self.two = self.block(width, width, 1), self.block(width, 2 * width, 2)
        self.short = nn.Sequential(nn.Conv2d(width, 2 * width, 1, 2, bias=False), nn.BatchNorm2d(2 * width))
        self.end = nn.Linear(2 * width, 10)

    @staticmethod
    def block(inputs, outputs, stride):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                             nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(self.one(x) + x)
        x = torch.relu(self.two(x) + self.short(x))
        return self.end(x.mean((2, 3)))


class LlamaLayer(nn.Module):
    """RMSNorm written in parts, rotary embeddings, grouped keys, a causal mask, SwiGLU."""

    def __init__(self, width=64, heads=4, shared=2, inner=96, tokens=64):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, shared * self.size, bias=False)
        self.v = nn.Linear(width, shared * self.size, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        angles = torch.outer(torch.arange(tokens), 10000 ** (-torch.arange(0, self.size, 2) / self.size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("mask", torch.full((tokens, tokens), float("-inf")).triu(1))

    @staticmethod
    def norm(x, weight):
        y = x.float()
        return weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def turned(self, x):
        a, b = x.chunk(2, -1)
        n = x.shape[2]
        return x * self.cos[:n] + torch.cat((-b, a), -1) * self.sin[:n]

    def forward(self, x):
        b, n, _ = x.shape
        y = self.norm(x, self.norm1)
        q = self.turned(self.q(y).view(b, n, self.heads, self.size).transpose(1, 2))
        k = self.turned(self.k(y).view(b, n, self.shared, self.size).transpose(1, 2))
        v = self.v(y).view(b, n, self.shared, self.size).transpose(1, 2)
        groups = self.heads // self.shared
        k, v = (t[:, :, None].expand(b, self.shared, groups, n, self.size).reshape(b, self.heads, n, self.size)
                for t in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:n, :n])
        x = x + self.o(y.transpose(1, 2).reshape(b, n, -1))
        y = self.norm(x, self.norm2)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class UnetBlock(nn.Module):
    """GroupNorm, SiLU and a convolution, twice, with an embedding of the time between them."""

    def __init__(self, inputs=16, outputs=32, groups=4):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, inputs), nn.GroupNorm(groups, outputs)
        self.conv1, self.conv2 = nn.Conv2d(inputs, outputs, 3, 1, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.time, self.short = nn.Linear(24, outputs), nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        y = self.conv1(functional.silu(self.norm1(x)))
        y = y + self.time(functional.silu(time))[:, :, None, None]
        return self.short(x) + self.conv2(functional.silu(self.norm2(y)))


#: name: (module, sizes of the inputs), small and as in the networks
SMALL = {
    "vit": (VitBlock, {}, ((2, 17, 48),)),
    "whisper": (WhisperLayer, {}, ((1, 50, 64),)),
    "resnet": (ResNet, {}, ((1, 3, 64, 64),)),
    "llama": (LlamaLayer, {}, ((1, 24, 64),)),
    "unet": (UnetBlock, {}, ((1, 16, 16, 16), (1, 24))),
}
LARGE = {
    "vit": (VitBlock, {"width": 768, "heads": 12}, ((1, 197, 768),)),
    "whisper": (WhisperLayer, {"width": 384, "heads": 6}, ((1, 1500, 384),)),
    "resnet": (ResNet, {"width": 64}, ((1, 3, 224, 224),)),
    "llama": (LlamaLayer, {"width": 1024, "heads": 16, "shared": 4, "inner": 2816, "tokens": 256}, ((1, 128, 1024),)),
    "unet": (UnetBlock, {"inputs": 64, "outputs": 128, "groups": 32}, ((1, 64, 64, 64), (1, 24))),
}


def made(name, sizes=SMALL, seed=5):
    """Returns the block in evaluation mode and its inputs, in FLOAT32."""
    kind, options, shapes = sizes[name]
    torch.manual_seed(seed)
    module = kind(**options).eval()
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            each.running_mean.normal_(0, 0.2)
            each.running_var.uniform_(0.5, 1.5)
    with torch.no_grad():
        for name, each in module.named_parameters():
            if each.dim() == 1:
                each.add_(torch.randn_like(each), alpha=0.2)
    return module, [torch.randn(shape) for shape in shapes]
