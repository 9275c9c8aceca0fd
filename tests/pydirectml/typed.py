# SPDX-License-Identifier: Apache-2.0
"""A program for mypy --strict (scripts/check-wheel-pydirectml): every kind of thing that the module has, with its type."""
import numpy as np
import numpy.typing as npt
import pydirectml as dml


def network(device: dml.Device, image: npt.NDArray[np.float32]) -> dml.TensorData:
    builder = dml.GraphBuilder(device)
    desc = dml.TensorDesc(dml.TensorDataType.FLOAT32, list(image.shape))
    owned = dml.TensorDesc(dml.TensorDataType.FLOAT32, dml.TensorFlags.OWNED_BY_DML, [8, 3, 3, 3], None, 864, 0)
    x: dml.Expression = dml.input_tensor(builder, 0, desc)
    w = dml.input_tensor(builder, 1, owned)
    relu = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)
    x = dml.convolution(x, w, None, dml.ConvolutionMode.CROSS_CORRELATION, strides=[2, 2], fused_activation=relu) * 2 + 1
    pooled: dml.MaxPoolingOutputs = dml.max_pooling(x, [2, 2], output_indices=True)
    best: dml.Expression = dml.top_k(pooled.values, axis=1, k=2, axis_direction=dml.AxisDirection.DECREASING).value
    best /= -dml.reduce(best, dml.ReduceFunction.MAX)
    outputs: list[dml.Expression] = [dml.activation_soft_max(best)]
    if pooled.indices is not None:
        outputs.append(pooled.indices)
    model: dml.Model = builder.build(dml.ExecutionFlags.NONE, outputs)
    weights = np.ones((8, 3, 3, 3), np.float32)
    results: list[dml.TensorData] = device.compute(model, [dml.Binding(x, image), dml.Binding(w, weights)], outputs)
    sizes: tuple[int, ...] = outputs[0].get_output_desc().sizes
    assert results[0].shape == sizes
    return results[0]


def wrong(device: dml.Device) -> None:
    """What the types refuse."""
    dml.GraphBuilder(3)                                     # type: ignore[arg-type]
    dml.activation_relu(np.ones(3))                         # type: ignore[arg-type]
    dml.Size2D("a", 1)                                      # type: ignore[arg-type]
    dml.gemm(alpha=1)                                       # type: ignore[call-arg]
    device.compute(None, [], [])                            # type: ignore[arg-type]
