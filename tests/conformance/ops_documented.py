# SPDX-License-Identifier: Apache-2.0
"""The examples with numbers of docs/operators.notes: what the pages of the operators show must be what happens."""

import numpy as np

from conformance import Case, edge

NAN = np.nan
LOWEST = -(2**31)
IMAGE = [[1, 2, 3], [2, 4, 2], [5, 6, 7]]
WINDOW = {"DimensionCount": 2, "Strides": [1, 1], "WindowSize": [2, 2], "StartPadding": [0, 0], "EndPadding": [0, 0]}
LINE = {"DimensionCount": 1, "Dilations": [1], "StartPadding": [0], "EndPadding": [0], "OutputPadding": [0],
        "GroupCount": 1, "Mode": 1}


def real(*values, shape=None):
    return np.array(values, np.float32).reshape(shape or (len(values),))


def matrix(rows, leading=0):
    array = np.array(rows, np.float32)
    return array.reshape((1,) * leading + array.shape)


def whole(values, dtype=np.int32):
    return np.array(values, dtype)


def documented(name, fields, **outputs):
    """One example; the outputs are given by their field's name."""
    edge(name)(lambda: [Case(fields=fields, outputs=outputs, rtol=1e-6, atol=1e-6)])


def element_wise():
    documented("ELEMENT_WISE_IDENTITY", {"InputTensor": real(1, 2, 3), "ScaleBias": (2.0, 1.0)}, OutputTensor=real(3, 5, 7))
    halves = real(-2.5, -1.75, -1.5, -1.25, 0, 1.25, 1.5, 1.75, 2.5)
    for mode, want in enumerate(([-2, -2, -2, -1, 0, 1, 2, 2, 2], [-2, -1, -1, -1, 0, 1, 1, 1, 2],
                                 [-3, -2, -2, -1, 0, 1, 2, 2, 3])):
        documented("ELEMENT_WISE_ROUND", {"InputTensor": halves, "RoundingMode": mode}, OutputTensor=real(*want))
    operands = {"ATensor": whole([7, -7, 7, -7]), "BTensor": whole([3, 3, -3, -3])}
    documented("ELEMENT_WISE_MODULUS_TRUNCATE", operands, OutputTensor=whole([1, -1, 1, -1]))
    documented("ELEMENT_WISE_MODULUS_FLOOR", operands, OutputTensor=whole([1, 2, -2, -1]))
    documented("ELEMENT_WISE_DIVIDE", {"ATensor": whole([-7, 5, LOWEST]), "BTensor": whole([2, 0, -1])},
               OutputTensor=whole([-3, -1, LOWEST]))
    documented("ELEMENT_WISE_ATAN_YX", {"ATensor": real(1, 1, -1), "BTensor": real(1, -1, -1)},
               OutputTensor=real(np.pi / 4, 3 * np.pi / 4, -3 * np.pi / 4))
    documented("ELEMENT_WISE_POW", {"InputTensor": real(2, 3, -2, 0), "ExponentTensor": real(3, 2, 3, 0)},
               OutputTensor=real(8, 9, -8, 1))
    documented("ELEMENT_WISE_SIGN", {"InputTensor": real(NAN, -0.0, 3)}, OutputTensor=real(0, 0, 1))
    documented("ELEMENT_WISE_BIT_COUNT", {"InputTensor": whole([0, 123, 456, 789], np.uint32)},
               OutputTensor=whole([0, 6, 4, 5], np.uint32))
    documented("ELEMENT_WISE_BIT_NOT", {"InputTensor": whole([0, 128, 42, 255], np.uint8)},
               OutputTensor=whole([255, 127, 213, 0], np.uint8))
    limits = {"InputTensor": real(NAN, 0, 5), "Min": 1.0, "Max": 2.0}
    documented("ELEMENT_WISE_CLIP", limits, OutputTensor=real(1, 1, 2))
    documented("ELEMENT_WISE_CLIP1", limits, OutputTensor=real(2, 1, 2))
    documented("ELEMENT_WISE_THRESHOLD", {"InputTensor": real(NAN, 0, 5), "Min": 1.0}, OutputTensor=real(1, 1, 5))
    quantize = {"InputTensor": real(-1, 0.05, 0.1, 0.15, 30), "ScaleTensor": real(*[0.1] * 5),
                "ZeroPointTensor": whole([128] * 5, np.uint8)}
    documented("ELEMENT_WISE_QUANTIZE_LINEAR", quantize, OutputTensor=whole([118, 128, 129, 130, 255], np.uint8))
    documented("ACTIVATION_SOFTMAX", {"InputTensor": np.log(matrix([[1, 2, 5]]))},
               OutputTensor=matrix([[0.125, 0.25, 0.625]]))
    documented("ACTIVATION_HARDMAX", {"InputTensor": matrix([[3, 7, 7, 1]])}, OutputTensor=matrix([[0, 1, 0, 0]]))
    documented("ACTIVATION_HARDMAX1", {"InputTensor": real(12, 0, -101, 11, 3, 234, 0, -101, shape=(2, 2, 2)),
                                       "Axes": [0, 2]}, OutputTensor=real(0, 0, 0, 1, 0, 1, 0, 0, shape=(2, 2, 2)))


def network():
    for direction, stride, x, w, y in ((0, 1, (1, 2, 3, 4), (1, 0, -1), (-2, -2)), (1, 2, (1, 2), (1, 1, 1), (1, 1, 3, 2, 2))):
        documented("CONVOLUTION", dict(LINE, InputTensor=matrix([x], 1), FilterTensor=matrix([w], 1), Direction=direction,
                                       Strides=[stride]), OutputTensor=matrix([y], 1))
    documented("GEMM", {"ATensor": matrix([[1, 2], [3, 4]]), "BTensor": matrix([[1, 0], [0, 2]]), "Alpha": 1.0},
               OutputTensor=matrix([[1, 4], [3, 8]]))
    documented("MAX_POOLING1", dict(WINDOW, InputTensor=matrix(IMAGE, 2)), OutputTensor=matrix([[4, 4], [6, 7]], 2),
               OutputIndicesTensor=whole([[[[4, 4], [7, 8]]]], np.uint32))
    documented("AVERAGE_POOLING", dict(WINDOW, InputTensor=matrix([[1, 2], [3, 4]], 2)), OutputTensor=matrix([[2.5]], 2))
    documented("AVERAGE_POOLING_GRAD", dict(WINDOW, InputGradientTensor=matrix([[1, 2], [3, 4]], 2)),
               OutputGradientTensor=matrix([[0.25, 0.75, 0.5], [1, 2.5, 1.5], [0.75, 1.75, 1]], 2))
    documented("MAX_POOLING_GRAD", dict(WINDOW, InputTensor=matrix(IMAGE, 2), Dilations=[1, 1],
                                        InputGradientTensor=matrix([[1, 2], [4, 5]], 2)),
               OutputGradientTensor=matrix([[0, 0, 0], [0, 3, 0], [0, 4, 5]], 2))
    documented("LP_NORMALIZATION", {"InputTensor": matrix([[3, 4]], 2), "Axis": 3, "Epsilon": 1e-5, "P": 2},
               OutputTensor=matrix([[0.6, 0.8]], 2))
    rows = matrix([[1, 2, 3], [4, 5, 6]])
    documented("REDUCE", {"InputTensor": rows, "Function": 10, "Axes": [1]}, OutputTensor=matrix([[6], [15]]))
    documented("REDUCE", {"InputTensor": rows, "Function": 2, "Axes": [1]}, OutputTensor=matrix([[2], [5]]))
    documented("ARGMAX", {"InputTensor": matrix([[1, 2, 3], [3, 0, 4], [2, 5, 2]]), "Axes": [0, 1]},
               OutputTensor=whole([[7]], np.uint32))
    for direction in (0, 1):
        documented("ARGMIN", {"InputTensor": real(1, 2, 3, 2, 1), "Axes": [0], "AxisDirection": direction},
                   OutputTensor=whole([4 * direction], np.uint32))
    for exclusive, direction, want in ((0, 0, (1, 3, 6, 10)), (1, 0, (0, 1, 3, 6)), (0, 1, (10, 9, 7, 4))):
        documented("CUMULATIVE_SUMMATION", {"InputTensor": real(1, 2, 3, 4), "Axis": 0, "AxisDirection": direction,
                                            "HasExclusiveSum": exclusive}, OutputTensor=real(*want))
    for direction, values, indices in ((1, (9, 5, 5), (2, 0, 3)), (0, (1, 5, 5), (1, 0, 3))):
        documented("TOP_K1", {"InputTensor": real(5, 1, 9, 5), "Axis": 0, "K": 3, "AxisDirection": direction},
                   OutputValueTensor=real(*values), OutputIndexTensor=whole(indices, np.uint32))


def movement():
    square = real(*range(1, 17), shape=(4, 4))
    documented("CAST", {"InputTensor": real(1.9, -1.9, 3e9, NAN)}, OutputTensor=whole([1, -1, 2147483647, 0]))
    documented("SLICE", {"InputTensor": square, "Offsets": [1, 0], "Sizes": [2, 2], "Strides": [2, 3]},
               OutputTensor=matrix([[5, 8], [13, 16]]))
    documented("SLICE1", {"InputTensor": square, "InputWindowOffsets": [0, 1], "InputWindowSizes": [4, 3],
                          "InputWindowStrides": [-2, 2]}, OutputTensor=matrix([[14, 16], [6, 8]]))
    for mode, want in ((1, (1, 1, 1, 2, 3, 3, 3)), (2, (3, 2, 1, 2, 3, 2, 1)), (3, (2, 1, 1, 2, 3, 3, 2)),
                       (4, (2, 3, 1, 2, 3, 1, 2))):
        documented("PADDING", {"InputTensor": real(1, 2, 3), "PaddingMode": mode, "StartPadding": [2], "EndPadding": [2]},
                   OutputTensor=real(*want))
    documented("REVERSE_SUBSEQUENCES", {"InputTensor": real(1, 2, 3, 4, 5), "Axis": 0,
                                        "SequenceLengthsTensor": whole([3], np.uint32)}, OutputTensor=real(3, 2, 1, 4, 5))
    documented("UNFOLD", {"InputTensor": matrix([[1, 2, 3, 4]], 1), "DimensionCount": 1, "WindowSizes": [2], "Strides": [1],
                          "Dilations": [1], "StartPadding": [0], "EndPadding": [0]},
               OutputTensor=matrix([[1, 2, 3], [2, 3, 4]], 1))
    documented("GATHER", {"InputTensor": matrix([[1, 2], [3, 4], [5, 6]]), "IndicesTensor": whole([[2, 0]]), "Axis": 0,
                          "IndexDimensions": 1}, OutputTensor=matrix([[5, 6], [1, 2]]))
    documented("GATHER_ELEMENTS", {"InputTensor": matrix([[1, 2], [3, 4]]), "IndicesTensor": whole([[0, 0], [1, 0]]),
                                   "Axis": 1}, OutputTensor=matrix([[1, 1], [4, 3]]))
    tuples = whole([[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]]])
    documented("GATHER_ND1", {"InputTensor": real(*range(12), shape=(3, 2, 2)), "IndicesTensor": tuples,
                              "InputDimensionCount": 3, "IndicesDimensionCount": 3, "BatchDimensionCount": 1},
               OutputTensor=matrix([[0, 3], [7, 4], [9, 10]], 1))
    documented("ONE_HOT", {"IndicesTensor": whole([[2], [0]]), "ValuesTensor": matrix([[0, 1]]), "Axis": 1},
               OutputTensor=matrix([[0, 0, 1], [1, 0, 0]]))
    documented("DIAGONAL_MATRIX", {"Offset": 1, "Value": 7.0}, OutputTensor=matrix([[0, 7, 0], [0, 0, 7]]))
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    documented("RANDOM_GENERATOR", {"InputStateTensor": whole([[[[0] * 6]]], np.uint32)},
               OutputTensor=whole([[[words]]], np.uint32), OutputStateTensor=whole([[[[1, 0, 0, 0, 0, 0]]]], np.uint32))


element_wise()
network()
movement()
