# SPDX-License-Identifier: Apache-2.0
"""DirectML in Python: graphs of operators, compiled for a device and run on numpy arrays.

    import numpy, pydirectml as dml

    device = dml.Device()
    builder = dml.GraphBuilder(device)
    x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [2, 3]))
    y = dml.activation_relu(x * 2 + 1)
    model = builder.build(dml.ExecutionFlags.NONE, [y])
    print(device.compute(model, [dml.Binding(x, numpy.ones((2, 3), numpy.float32))], [y])[0])

The interface is that of Microsoft's pydirectml, with all operators and data types; docs/pydirectml.md describes it. Functions
are thread-safe. Wrong arguments raise TypeError or ValueError, other failures Error or MemoryError.
"""
from . import _device, _enums, _functions, _operators, _types
from ._device import *  # noqa: F401,F403
from ._enums import *  # noqa: F401,F403
from ._functions import *  # noqa: F401,F403
from ._graph import Expression, GraphBuilder, broadcast, constant_data, input_tensor, reinterpret
from ._native import Error
from ._operators import *  # noqa: F401,F403
from ._types import *  # noqa: F401,F403

__all__ = ["Error", "Expression", "GraphBuilder", "broadcast", "constant_data", "input_tensor", "reinterpret",
           *_device.__all__, *_enums.__all__, *_functions.__all__, *_operators.__all__, *_types.__all__]
