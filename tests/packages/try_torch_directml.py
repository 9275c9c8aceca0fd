# SPDX-License-Identifier: Apache-2.0
"""Microsoft's torch-directml on AnyDML: a small convolutional network's output and one training step, against the same on the
CPU by PyTorch itself."""
import sys

import torch
import torch_directml


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 4 * 4, 10))


def difference(got, want):
    """Of the largest element, relative to the largest there is."""
    return ((got.cpu() - want).abs().max() / want.abs().max().clamp_min(1e-6)).item()


def step(device, images, labels):
    """The output of each layer before a step of gradient descent, the loss, their gradients, and all gradients and parameters
    after it."""
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    outputs = [images.to(device)]
    for layer in model:
        outputs.append(layer(outputs[-1]))
        outputs[-1].retain_grad()
    loss = torch.nn.functional.cross_entropy(outputs[-1], labels.to(device))
    loss.backward()
    optimizer.step()
    results = {"loss": loss.detach()}
    for (name, layer), output in zip(model.named_children(), outputs[1:]):
        results[f"output of {name} {type(layer).__name__}"] = output.detach()
        results[f"gradient of the output of {name} {type(layer).__name__}"] = output.grad
    for name, parameter in model.named_parameters():
        results[f"gradient of {name}"] = parameter.grad
        results[name] = parameter.detach()
    results["output after it"] = model(images.to(device)).detach()
    return results


def main():
    device = torch_directml.device()
    print(f"torch {torch.__version__} on {torch_directml.device_name(0)}")
    torch.manual_seed(2)
    images, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    inference = network().eval()
    with torch.no_grad():
        want = inference(images)
        worst = {"inference": difference(inference.to(device)(images.to(device)), want)}
    want, got = step("cpu", images, labels), step(device, images, labels)
    worst |= {name: difference(got[name], want[name]) for name in want}
    failures = [f"{name}: {error:g}" for name, error in worst.items() if not error < 1e-4]
    print("\n".join(failures) or f"{len(worst)} results agree, the worst by {max(worst.values()):.1e}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
