# SPDX-License-Identifier: Apache-2.0
"""RNN, GRU and LSTM: the formulas of the specification in float64, themselves checked against PyTorch's layers and the
reference of ONNX's own node tests wherever these cover a case."""
import numpy as np
import torch
from onnx.backend.test.case.node import gru, lstm, rnn

from conformance import Case, activate, edge, operator

FORWARD, BACKWARD, BIDIRECTIONAL = 0, 1, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
USUAL = {"RNN": ("TANH",), "GRU": ("SIGMOID", "TANH"), "LSTM": ("SIGMOID", "TANH", "TANH")}
STATES = ("HiddenInitTensor", "CellMemInitTensor")


class Net:
    """One call: `fields` as a Case takes them. Every argument of an activation is multiplied with 1 + noise."""

    def __init__(self, op, fields, noise=0.0):
        self.op, self.fields, self.noise = op, fields, noise
        self.rng = np.random.default_rng(1)
        self.steps, self.batch, self.inputs = fields["InputTensor"].shape[1:]
        self.hidden = fields["RecurrenceTensor"].shape[3]
        self.directions = fields["WeightTensor"].shape[1]
        lengths = fields.get("SequenceLengthsTensor")
        self.lengths = np.full(self.batch, self.steps) if lengths is None else lengths.ravel().astype(np.int64)
        self.lengths = np.minimum(self.lengths, self.steps)

    def get(self, name):
        value = self.fields.get(name)
        return None if value is None else np.asarray(value, np.float64)

    def state(self, name, d):
        value = self.get(name)
        return np.zeros((self.batch, self.hidden)) if value is None else value[0, d].copy()

    def activation(self, d, which, x):
        """f, g or h (0, 1, 2) of direction d."""
        x = x * (1 + self.noise * self.rng.standard_normal(x.shape)) + self.noise * self.rng.standard_normal(x.shape)
        if self.fields.get("UseClipThreshold"):
            limit = float(np.float32(self.fields["ClipThreshold"]))
            x = np.minimum(np.maximum(x, -limit), limit)
        name, attributes = self.fields["ActivationDescs"][d * len(USUAL[self.op]) + which]
        if name == "ACTIVATION_HARDMAX":
            return np.eye(x.shape[1])[np.argmax(x, axis=1)]
        if name == "ACTIVATION_SOFTPLUS" and attributes["Steepness"] == 0:
            attributes = {"Steepness": 1.0}
        return activate((name, attributes), x)

    def gates(self, d, a, which, tensor):
        """a times the rows of gate `which` of WeightTensor or RecurrenceTensor."""
        return a @ self.get(tensor)[0, d, which * self.hidden:(which + 1) * self.hidden].T

    def bias(self, d, which, recurrent):
        value = self.get("BiasTensor")
        if value is None:
            return 0
        start = (recurrent * GATES[self.op] + which) * self.hidden
        return value[0, 0, d, start:start + self.hidden]

    def peephole(self, d, which):
        value = self.get("PeepholeTensor")
        return 0 if value is None else value[0, 0, d, which * self.hidden:(which + 1) * self.hidden]

    def sum(self, d, x, h, which):
        return (self.gates(d, x, which, "WeightTensor") + self.gates(d, h, which, "RecurrenceTensor") +
                self.bias(d, which, 0) + self.bias(d, which, 1))

    def step_rnn(self, d, x, h, c):
        return self.activation(d, 0, self.sum(d, x, h, 0)), c

    def step_gru(self, d, x, h, c):
        z = self.activation(d, 0, self.sum(d, x, h, 0))
        r = self.activation(d, 0, self.sum(d, x, h, 1))
        inner = self.bias(d, 2, 1)
        if self.fields.get("LinearBeforeReset"):
            inner = r * (self.gates(d, h, 2, "RecurrenceTensor") + inner)
        else:
            inner = self.gates(d, r * h, 2, "RecurrenceTensor") + inner
        new = self.activation(d, 1, self.gates(d, x, 2, "WeightTensor") + inner + self.bias(d, 2, 0))
        return (1 - z) * new + z * h, c

    def step_lstm(self, d, x, h, c):
        i = self.activation(d, 0, self.sum(d, x, h, 0) + self.peephole(d, 0) * c)
        f = 1 - i
        if not self.fields.get("CoupleInputForget"):
            f = self.activation(d, 0, self.sum(d, x, h, 2) + self.peephole(d, 2) * c)
        c = f * c + i * self.activation(d, 1, self.sum(d, x, h, 3))
        o = self.activation(d, 0, self.sum(d, x, h, 1) + self.peephole(d, 1) * c)
        return o * self.activation(d, 2, c), c

    def run(self):
        """Sequence, last hidden state, last cell state."""
        x = self.get("InputTensor")[0]
        sequence = np.zeros((self.steps, self.directions, self.batch, self.hidden))
        last = np.zeros((2, 1, self.directions, self.batch, self.hidden))
        step = {"RNN": self.step_rnn, "GRU": self.step_gru, "LSTM": self.step_lstm}[self.op]
        for d in range(self.directions):
            backward = self.fields["Direction"] == BACKWARD or d == 1
            h, c = (self.state(name, d) for name in STATES)
            for s in range(self.steps):
                runs = s < self.lengths
                t = np.where(runs, self.lengths - 1 - s if backward else s, 0)
                rows = np.arange(self.batch)
                new_h, new_c = step(d, x[t, rows], h, c)
                h, c = (np.where(runs[:, None], new, old) for new, old in ((new_h, h), (new_c, c)))
                sequence[t[runs], d, rows[runs]] = h[runs]
            last[:, 0, d] = np.where(self.lengths[:, None] > 0, np.array([h, c]), 0)
        return sequence, last[0], last[1]


# ---- the formulas against others

def _usual(op, fields):
    directions = fields["WeightTensor"].shape[1]
    return [name for name, _ in fields["ActivationDescs"]] == ["ACTIVATION_" + name for name in USUAL[op]] * directions


def _torch_order(op, a):
    """Gates i, o, f, c and z, r, h become i, f, c, o and r, z, h."""
    order = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}[op]
    parts = np.split(np.asarray(a, np.float64), GATES[op])
    return torch.from_numpy(np.concatenate([parts[k] for k in order]))


def check_torch(op, fields, want):
    """PyTorch's layers: the usual activations, GRU with the linear map before the reset, no empty sequences."""
    net = Net(op, fields)
    extras = any(fields.get(name) is not None for name in ("PeepholeTensor",)) or fields.get("UseClipThreshold") or \
        fields.get("CoupleInputForget")
    if extras or not _usual(op, fields) or (op == "GRU" and not fields["LinearBeforeReset"]) or \
            fields["Direction"] == BACKWARD or net.lengths.min() == 0:
        return False
    layer = getattr(torch.nn, op)(net.inputs, net.hidden, bidirectional=net.directions == 2).double()
    bias, both = net.get("BiasTensor"), GATES[op] * net.hidden
    with torch.no_grad():
        for d in range(net.directions):
            b = np.zeros(2 * both) if bias is None else bias[0, 0, d]
            values = {"weight_ih": net.get("WeightTensor")[0, d], "weight_hh": net.get("RecurrenceTensor")[0, d],
                      "bias_ih": b[:both], "bias_hh": b[both:]}
            for name, value in values.items():
                getattr(layer, name + "_l0" + d * "_reverse").copy_(_torch_order(op, value))
        states = [torch.from_numpy(np.stack([net.state(name, d) for d in range(net.directions)])) for name in STATES]
        packed = torch.nn.utils.rnn.pack_padded_sequence(torch.from_numpy(net.get("InputTensor")[0]),
                                                         torch.from_numpy(net.lengths), enforce_sorted=False)
        y, last = layer(packed, tuple(states) if op == "LSTM" else states[0])
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=net.steps)
    y = y.numpy().reshape(net.steps, net.batch, net.directions, net.hidden).transpose(0, 2, 1, 3)
    last = [a.numpy()[None] for a in (last if op == "LSTM" else (last,))]
    for got, expected in zip([y] + last, want):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)
    return True


def check_onnx(op, fields, want):
    """ONNX's node tests: forward only, the usual activations, whole sequences; peepholes and both forms of GRU."""
    net = Net(op, fields)
    if fields.get("UseClipThreshold") or fields.get("CoupleInputForget") or not _usual(op, fields) or \
            fields["Direction"] != FORWARD or net.lengths.min() < net.steps:
        return False
    params = {"X": net.get("InputTensor")[0], "W": net.get("WeightTensor")[0], "R": net.get("RecurrenceTensor")[0]}
    bias, peepholes = net.get("BiasTensor"), net.get("PeepholeTensor")
    params["B"] = np.zeros((1, 2 * GATES[op] * net.hidden)) if bias is None else bias[0, 0]
    params["initial_h"] = np.stack([net.state(STATES[0], 0)])
    if op == "GRU":
        params["linear_before_reset"] = np.array([bool(fields["LinearBeforeReset"])])
    if op == "LSTM":
        params["initial_c"] = np.stack([net.state(STATES[1], 0)])
        params["P"] = np.zeros((1, 3 * net.hidden)) if peepholes is None else peepholes[0, 0]
    module = {"RNN": rnn, "GRU": gru, "LSTM": lstm}[op]
    helper = getattr(module, f"{op}_Helper", None) or getattr(module, f"{op}Helper")  # its name since ONNX 1.23
    y, last = helper(**params).step()[:2]
    shape = (net.batch, net.hidden)  # the helpers drop dimensions of size 1
    np.testing.assert_allclose(np.reshape(y, (net.steps, 1) + shape), want[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.reshape(last, (1, 1) + shape), want[1], rtol=1e-9, atol=1e-11)
    return True


# ---- cases

def _case(op, fields, outputs, dtype):
    """None where rounding to FLOAT32 on the way could change the result much: at steps of an activation, or where small
    differences grow."""
    want = Net(op, fields).run()
    shaken = Net(op, fields, noise=1e-6).run()
    limit = 65504 if dtype == np.float16 else 1e30
    tolerance = 2e-3 if dtype == np.float16 else 5e-5
    if not all(np.isfinite(w).all() for w in want):
        return None
    scale = max(1.0, max(np.abs(w).max() for w in want))
    if scale >= limit or any(np.abs(w - s).max() > tolerance / 4 * scale for w, s in zip(want, shaken)):
        return None
    check_torch(op, fields, want)
    check_onnx(op, fields, want)
    names = ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")
    return Case(fields, {name: value.astype(dtype) for name, value in zip(names, want) if name in outputs},
                rtol=tolerance, atol=tolerance * scale, owned=False)


def _activations(g, op, directions):
    if g.chance(0.4):
        return [("ACTIVATION_" + name, {}) for name in USUAL[op] * directions]
    result = []
    for name in USUAL[op] * directions:
        chosen = g.pick((("ACTIVATION_" + name), {}), g.activation(), g.activation())
        if g.chance(0.1):
            chosen = ("ACTIVATION_HARDMAX", {})
        if chosen[0] == "ACTIVATION_SOFTPLUS" and g.chance(0.5):
            chosen = ("ACTIVATION_SOFTPLUS", {"Steepness": 0.0})
        result.append(chosen)
    return result


def _optional(g, shape, reach=1.0):
    return g.array(shape, low=-reach, high=reach) if g.chance(0.5) else None


def _draw(g, op):
    steps, batch, inputs = g.integer(1, 6), g.integer(1, 5), g.integer(1, 9)
    hidden = g.pick(1, 2, 3, 5, 8, 16, 17, 32, 33, 40)
    if g.chance(0.2):
        batch = g.integer(6, 40)
    direction = g.pick(FORWARD, BACKWARD, BIDIRECTIONAL)
    d, rows, reach = 1 + (direction == BIDIRECTIONAL), GATES[op] * hidden, g.pick(0.3, 1.0)
    fields = {
        "InputTensor": g.array((1, steps, batch, inputs), low=-2, high=2),
        "WeightTensor": g.array((1, d, rows, inputs), low=-reach, high=reach),
        "RecurrenceTensor": g.array((1, d, rows, hidden), low=-reach, high=reach),
        "BiasTensor": _optional(g, (1, 1, d, 2 * rows)),
        "HiddenInitTensor": _optional(g, (1, d, batch, hidden)),
        "SequenceLengthsTensor": None,
        "ActivationDescs": _activations(g, op, d),
        "Direction": direction,
    }
    if g.chance(0.5):
        lengths = g.rng.integers(0, steps + 2, (1, 1, 1, batch), dtype=np.uint32)
        lengths[g.rng.random(lengths.shape) < 0.1] = g.pick(0, 1 << 31, 0xffffffff)
        fields["SequenceLengthsTensor"] = lengths
    if op == "GRU":
        fields["LinearBeforeReset"] = int(g.chance(0.5))
    if op == "LSTM":
        fields["CellMemInitTensor"] = _optional(g, (1, d, batch, hidden))
        fields["PeepholeTensor"] = _optional(g, (1, 1, d, 3 * hidden))
        fields["ClipThreshold"] = float(np.float32(g.rng.uniform(0.2, 2)))
        fields["UseClipThreshold"] = int(g.chance(0.3))
        fields["CoupleInputForget"] = int(g.chance(0.3))
    names = ["OutputSequenceTensor", "OutputSingleTensor"] + ["OutputCellSingleTensor"] * (op == "LSTM")
    outputs = [name for name in names if g.chance(0.6)] or [g.pick(*names)]
    return _case(op, fields, outputs, g.dtype)


@operator("RNN", "GRU", "LSTM", types="InputTensor")
def recurrent(g):
    return _draw(g, g.op)


def _plain(op, steps, batch, inputs, hidden, direction=FORWARD, dtype=np.float32, **more):
    rng = np.random.default_rng([steps, batch, inputs, hidden])
    d, rows = 1 + (direction == BIDIRECTIONAL), GATES[op] * hidden
    draw = lambda *shape: rng.uniform(-0.5, 0.5, shape).astype(dtype)
    fields = {
        "InputTensor": draw(1, steps, batch, inputs), "WeightTensor": draw(1, d, rows, inputs),
        "RecurrenceTensor": draw(1, d, rows, hidden) / dtype(np.sqrt(hidden)), "BiasTensor": draw(1, 1, d, 2 * rows),
        "HiddenInitTensor": draw(1, d, batch, hidden), "Direction": direction,
        "ActivationDescs": [("ACTIVATION_" + name, {}) for name in USUAL[op] * d],
    }
    if op == "LSTM":
        fields["CellMemInitTensor"] = draw(1, d, batch, hidden)
    if op == "GRU":
        fields["LinearBeforeReset"] = 1
    fields.update(more)
    return fields


OUTPUTS = ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")


def _covered(op, check, **more):
    """The check must apply to the plain case."""
    for direction in (FORWARD,) if check is check_onnx else (FORWARD, BIDIRECTIONAL):
        fields = _plain(op, 4, 3, 2, 5, direction, **more)
        assert check(op, fields, Net(op, fields).run()), "not covered"


def _edges(op):
    def lengths(*values):
        return np.array(values, np.uint32).reshape(1, 1, 1, -1)

    _covered(op, check_torch)
    _covered(op, check_torch, SequenceLengthsTensor=lengths(2, 4, 1))
    _covered(op, check_onnx)
    if op == "GRU":
        _covered(op, check_onnx, LinearBeforeReset=0)
    if op == "LSTM":
        _covered(op, check_onnx, PeepholeTensor=np.linspace(-1, 1, 15, dtype=np.float32).reshape(1, 1, 1, 15))
    drawn = [_plain(op, 1, 1, 1, 1)]
    for direction in (FORWARD, BACKWARD, BIDIRECTIONAL):
        # no step at all (the initial state is not passed on), all steps, more than there are
        drawn.append(_plain(op, 4, 5, 3, 6, direction, SequenceLengthsTensor=lengths(0, 4, 5, 0xffffffff, 2)))
        drawn.append(_plain(op, 3, 2, 3, 6, direction, SequenceLengthsTensor=lengths(0, 0)))
        drawn.append(_plain(op, 5, 33, 4, 70, direction, SequenceLengthsTensor=lengths(*(i % 7 for i in range(33)))))
    drawn.append(_plain(op, 20, 8, 16, 64))
    drawn.append(_plain(op, 3, 70, 4, 32))
    drawn.append(_plain(op, 2, 3, 4, 300))
    softplus = [("ACTIVATION_SOFTPLUS", {"Steepness": 0.0})] * len(USUAL[op])
    drawn.append(_plain(op, 2, 3, 4, 5, ActivationDescs=softplus))
    cases = [_case(op, fields, OUTPUTS[:3 if op == "LSTM" else 2], np.float32) for fields in drawn]
    half = _plain(op, 20, 5, 16, 40, BIDIRECTIONAL, np.float16)
    cases.append(_case(op, half, OUTPUTS[:1], np.float16))
    assert None not in cases
    return cases


@edge("RNN")
def rnn_edges():
    return _edges("RNN")


@edge("GRU")
def gru_edges():
    return _edges("GRU")


@edge("LSTM")
def lstm_edges():
    cases = []
    for activation in (0, 1, 2):  # HARDMAX in every place
        usual = [("ACTIVATION_" + name, {}) for name in USUAL["LSTM"]]
        usual[activation] = ("ACTIVATION_HARDMAX", {})
        cases.append(_case("LSTM", _plain("LSTM", 3, 4, 3, 9, ActivationDescs=usual), OUTPUTS, np.float32))
    for clip in (0.0, 0.1, 1e30):
        cases.append(_case("LSTM", _plain("LSTM", 3, 2, 3, 9, ClipThreshold=clip, UseClipThreshold=1), OUTPUTS, np.float32))
    assert None not in cases
    return _edges("LSTM") + cases
