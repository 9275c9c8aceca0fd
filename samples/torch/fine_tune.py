# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes ResNet-18 on another task, images of shapes that the sample draws itself, optionally in mixed precision.

    python samples/torch/fine_tune.py --weights resnet18-f37072fd.pth --save shapes.pt     # torchvision's weights
    python samples/torch/fine_tune.py --size 48 --steps 100 --save shapes.pt --images .  # or from random weights
    python samples/torch/classify.py --weights shapes.pt --labels circle,square,triangle,cross --size 48 circle.ppm cross.ppm

With weights, only the last stage and a new classifier are trained, and batch normalization keeps its statistics; without
weights, the whole network is trained.
"""
import argparse
import os
import time

import torch
import torch.nn.functional as F
import torch_directml  # noqa: F401 (registers the device "dml")
from resnet import ResNet18, load, normalized
from torch import nn

SHAPES = ("circle", "square", "triangle", "cross")


def draw(count, size, generator):
    """Returns images [count, 3, size, size] with values from 0 to 1, of shapes with random positions and colours, and the
    indices of the shapes."""
    labels = torch.randint(0, len(SHAPES), (count,), generator=generator)
    centre = torch.rand(count, 2, 1, 1, generator=generator) * 0.2 - 0.1
    radius = torch.rand(count, 1, 1, generator=generator) * 0.2 + 0.6
    line = torch.linspace(-1, 1, size)
    x, y = (line[None, None, :] - centre[:, 0]) / radius, (line[None, :, None] - centre[:, 1]) / radius
    inside = torch.stack([x * x + y * y < 1, (x.abs() < 0.85) & (y.abs() < 0.85),
                          (y < 0.8) & (y > 2 * x.abs() - 1),
                          ((x.abs() < 0.3) | (y.abs() < 0.3)) & (x.abs() < 1) & (y.abs() < 1)])
    mask = inside[labels, torch.arange(count)][:, None].float()
    colour, ground = torch.rand(2, count, 3, 1, 1, generator=generator)
    ground = (colour + 0.3 + ground * 0.4) % 1  # never similar to the colour of the shape
    images = mask * colour + (1 - mask) * ground
    return (images + torch.randn(images.shape, generator=generator) * 0.05).clamp(0, 1), labels


def write_ppm(path, image):
    height, width = image.shape[1:]
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (width, height))
        file.write(bytes(image.mul(255).round().byte().permute(1, 2, 0).flatten().tolist()))  # numpy is not a dependency of torch


def prepared(weights, device):
    """Returns the network and its trainable parameters."""
    if not weights:
        model = ResNet18(len(SHAPES)).to(device)
        return model, list(model.parameters())
    model = load(weights)
    model.requires_grad_(False).eval()  # eval: keeps the statistics of the images on which the weights were trained
    model.fc = nn.Linear(model.fc.in_features, len(SHAPES))
    model.layer4.requires_grad_(True)
    model.to(device)
    return model, [p for p in model.parameters() if p.requires_grad]


def main():
    parser = argparse.ArgumentParser(description="Fine-tunes ResNet-18 on images of shapes.")
    parser.add_argument("--device", default="dml")
    parser.add_argument("--weights", help="file with weights of torchvision's resnet18")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=96, help="height and width of the images")
    parser.add_argument("--amp", choices=("float16", "bfloat16"), help="mixed precision")
    parser.add_argument("--save", help="file for the trained weights")
    parser.add_argument("--images", help="folder for an image of each shape")
    options = parser.parse_args()

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model, trained = prepared(options.weights, options.device)
    optimizer = torch.optim.AdamW(trained, 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    kind = getattr(torch, options.amp or "float16")
    scaler = torch.amp.GradScaler(options.device, enabled=options.amp == "float16")
    begin = time.perf_counter()
    for step in range(1, options.steps + 1):
        images, labels = draw(options.batch, options.size, generator)
        with torch.autocast(options.device, dtype=kind, enabled=bool(options.amp)):
            loss = F.cross_entropy(model(normalized(images).to(options.device)), labels.to(options.device))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        if step == 1 or step % 10 == 0 or step == options.steps:
            print(f"step {step:4d}  loss {loss.item():.3f}  {time.perf_counter() - begin:.1f} s")

    model.eval()
    images, labels = draw(128, options.size, generator)
    with torch.inference_mode():
        found = torch.cat([model(normalized(x).to(options.device)).argmax(1).cpu() for x in images.split(32)])
    print(f"accuracy {(found == labels).float().mean().item():.3f} on 128 other images")
    if options.save:
        torch.save({name: value.cpu() for name, value in model.state_dict().items()}, options.save)
    if options.images:
        for number, name in enumerate(SHAPES):
            write_ppm(os.path.join(options.images, name + ".ppm"), images[labels == number][0])


if __name__ == "__main__":
    main()
