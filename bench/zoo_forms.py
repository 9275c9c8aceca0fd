# SPDX-License-Identifier: Apache-2.0
"""Forms of the float32 networks of bench/zoo.py by ONNX Runtime's quantisation tools: what people make of a model for a CPU.

dynamic  products by weights of 8 bits, whose inputs are quantised when they are known (MatMulInteger, DynamicQuantizeLSTM)
qdq      QuantizeLinear and DequantizeLinear around float operators: unsigned inputs, signed weights with a scale for each
         channel, ranges from the network's inputs
int4     products by weights of 4 bits in blocks of 32 (MatMulNBits); int4a8 with inputs of 8 bits (accuracy level 4)
"""
import os
import tempfile
import time

import numpy as np

FORMS = ("dynamic", "qdq", "int4", "int4a8")


def calibration(path, arrays):
    import onnxruntime as ort
    import zoo_cpu
    from onnxruntime.quantization import CalibrationDataReader

    class Inputs(CalibrationDataReader):
        def __init__(self):
            session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
            self.feeds = iter([zoo_cpu.feeds_of(session, zoo_cpu.load(arrays)[0])])

        def get_next(self):
            return next(self.feeds, None)
    return Inputs()


def names_again(path):
    """The tools add nodes without names, or with long ones: profiles show those of the model."""
    import onnx
    import zoo_export
    model = onnx.load(path)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"q{number}_{node.op_type}"
    zoo_export.save(model, path)


def write(form, source, arrays, out):
    import onnx
    from onnxruntime import quantization as q
    with tempfile.TemporaryDirectory(dir=os.path.dirname(out)) as folder:
        made = os.path.join(folder, "made.onnx")
        large = os.path.exists(source + ".data")
        if form == "dynamic":
            q.quantize_dynamic(source, made, weight_type=q.QuantType.QInt8, use_external_data_format=large)
        elif form == "qdq":
            q.quantize_static(source, made, calibration(source, arrays), quant_format=q.QuantFormat.QDQ, per_channel=True,
                              activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8,
                              use_external_data_format=large)
        else:
            from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
            level = 4 if form == "int4a8" else 0
            quantizer = MatMulNBitsQuantizer(onnx.load(source), bits=4, block_size=32, is_symmetric=True, accuracy_level=level)
            quantizer.process()
            quantizer.model.save_model_to_file(made, use_external_data_format=large)
        model = onnx.load(made)
        operators = {node.op_type for node in model.graph.node}
        wanted = {"dynamic": ("MatMulInteger", "ConvInteger", "DynamicQuantizeLSTM"), "qdq": ("QuantizeLinear",)}
        if not operators & set(wanted.get(form, ("MatMulNBits",))):
            raise ValueError(f"nothing of it has the form {form}")
        import zoo_export
        zoo_export.save(model, out)
    names_again(out)


def make_all(folder, names, forms):
    """Returns the messages of those that failed."""
    import zoo_export
    failed = []
    for name in names:
        source, arrays = zoo_export.file_of(folder, name, "float32"), os.path.join(folder, f"{name}.npz")
        for form in forms:
            begin = time.perf_counter()
            try:
                write(form, source, arrays, zoo_export.file_of(folder, name, form))
                print(f"{name}: {form}, {time.perf_counter() - begin:.1f} s", flush=True)
            except Exception as error:  # of any tool
                failed.append(f"{name}: {form}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
                print(f"FAILED {failed[-1]}", flush=True)
    return failed


def tolerance(peers):
    """Quantisation itself changes results: AnyDML's are wrong if they are much further from the reference than a peer's."""
    found = [p["difference"] for p in peers if np.isfinite(p.get("difference", np.inf))]
    return 1.5 * max(found) + 1e-2 if found else 0.5
