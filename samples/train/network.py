# SPDX-License-Identifier: Apache-2.0
"""The network: residual convolutions at low resolution, followed by depth to space.

    x = relu(conv 5x5(image))                  image [1, 3, H, W], x [1, CHANNELS, H, W]
    x = x + conv 3x3(relu(conv 3x3(x)))          BLOCKS times
    nearest x2(image) + depth to space(conv 3x3(x))

and the result is [1, 3, 2H, 2W]. Values are 0..1; the result may slightly exceed that range and must be clamped.
"""
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional

SCALE = 2
CHANNELS = 32
BLOCKS = 4


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, CHANNELS, 5, padding=2)
        self.first = nn.ModuleList(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(BLOCKS))
        self.second = nn.ModuleList(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(BLOCKS))
        self.tail = nn.Conv2d(CHANNELS, 3 * SCALE * SCALE, 3, padding=1)
        with torch.no_grad():  # initially every block is the identity, and the network is nearest x2
            for conv in [*self.second, self.tail]:
                conv.weight *= 0.1
                conv.bias.zero_()

    def forward(self, picture):
        x = torch.relu(self.head(picture))
        for first, second in zip(self.first, self.second):
            x = x + second(torch.relu(first(x)))
        detail = functional.pixel_shuffle(self.tail(x), SCALE)
        return functional.interpolate(picture, scale_factor=SCALE, mode="nearest") + detail


class _Writer:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self):
        self.nodes = []
        self.weights = []

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind, inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, layer, x, name):
        weight = self.weight(name + ".weight", layer.weight.detach().cpu().numpy())
        bias = self.weight(name + ".bias", layer.bias.detach().cpu().numpy())
        kernel = list(layer.kernel_size)
        pads = list(layer.padding) * 2
        return self.node("Conv", [x, weight, bias], name, kernel_shape=kernel, pads=pads)


def write_onnx(network, path):
    """Writes the network as ONNX (opset 17, IR 8) with free height and width."""
    w = _Writer()
    x = w.node("Relu", [w.conv(network.head, "picture", "head")], "head_relu")
    for i, (first, second) in enumerate(zip(network.first, network.second)):
        y = w.node("Relu", [w.conv(first, x, f"block{i}_first")], f"block{i}_relu")
        x = w.node("Add", [x, w.conv(second, y, f"block{i}_second")], f"block{i}")
    tail = w.conv(network.tail, x, "tail")
    detail = w.node("DepthToSpace", [tail], "detail", blocksize=SCALE, mode="CRD")
    scales = w.weight("scales", np.array([1, 1, SCALE, SCALE], dtype=np.float32))
    base = w.node("Resize", ["picture", "", scales], "base", mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    w.node("Add", [base, detail], "upscaled")

    sides = [1, 3, "height", "width"], [1, 3, "upscaled_height", "upscaled_width"]
    given = helper.make_tensor_value_info("picture", TensorProto.FLOAT, sides[0])
    result = helper.make_tensor_value_info("upscaled", TensorProto.FLOAT, sides[1])
    graph = helper.make_graph(w.nodes, "super_resolution_x2", [given], [result], w.weights)
    model = helper.make_model(graph, producer_name="AnyDML samples/train", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, path)


def read_onnx(path):
    """Returns the network with the weights of a file written by write_onnx."""
    weights = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in onnx.load(path).graph.initializer}
    network = Network()
    names = {f"{part}.{i}": f"block{i}_{part}" for i in range(BLOCKS) for part in ("first", "second")}
    state = {}
    for key in network.state_dict():
        layer, kind = key.rsplit(".", 1)
        state[key] = weights[f"{names.get(layer, layer)}.{kind}"]
    network.load_state_dict(state)
    return network
