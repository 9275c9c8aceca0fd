# SPDX-License-Identifier: Apache-2.0
"""What conformance.py runs: the operators, modules and optimizers of torch's own test data, on a device and on the CPU.

A case is a string, PART/DTYPE/NAME. run_case(case, limits) gives a dictionary: status (pass: right, and no operator ran on
the CPU; fallback: right; fail; skip), why, samples, and fallbacks, calls by operator.

When results are right: they are as near to the CPU's as conformance_tolerances.py asks for, or, where the CPU rounds as
well, as near to what the CPU says in float64, or not farther from that than twice the CPU's (in 16 bits, where few and
large roundings decide, four times). Random results (the CPU's change with the seed) have the same distribution, element by
element."""
import collections
import contextlib
import copy
import functools
import re
import time

import conformance_networks
import torch
import torch_directml
from conformance_tolerances import BFLOAT, HALF, TOLERANCE, Rule, roundings_of, widest
from torch.testing._internal import common_modules, common_optimizers
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import DecorateInfo
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = "dml"
WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
        torch.complex32: torch.complex128, torch.complex64: torch.complex128}
# The position of dim among the arguments of operators whose indices tell which of equal elements they took. Which one it is
# stays open, and with it the gradient: of types with few values only what is found there is compared.
ORDER = {"sort": 0, "argsort": 0, "msort": None, "topk": 1, "kthvalue": 1, "mode": 0}
UNINITIALISED = re.compile(r"(new_)?empty(_like|_strided|_permuted)?$")
SPARSE = re.compile(r"sparse")
RUNS = 48       # of random results
FARTHER = 2, 4  # than the CPU from float64; in 16 bits roundings are few and large
DISTANCE = 0.6  # of Kolmogorov and Smirnov between that many runs of each: 1e-7 by chance


# The types in which torch adds up the pieces of this loss differ by the device: both devices use the CPU's.
if hasattr(torch.nn.modules, "linear_cross_entropy_options"):
    OPTIONS = torch.nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions
    OPTIONS._adjust = functools.partialmethod(
        lambda self, adjust, device, **facts: adjust(self, device=torch.device("cpu"), **facts), OPTIONS._adjust)


class Unusable(Exception):
    """The CPU itself cannot, so there is nothing to compare with."""


class Mover:
    """Copies of tensors on a device, laid out as they were; those that share memory still do."""

    def __init__(self, device, types=None):
        self.device, self.types = device, types or {}
        self.storages, self.tensors, self.kept = {}, {}, []

    def __call__(self, x):
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return torch.device(self.device)
        if not isinstance(x, torch.Tensor):
            return self.types.get(x, x) if isinstance(x, torch.dtype) else x
        if id(x) not in self.tensors:
            self.kept.append(x)
            self.tensors[id(x)] = self.copy(x)
        return self.tensors[id(x)]

    def copy(self, x):
        dtype = self.types.get(x.dtype, x.dtype)
        if x.layout != torch.strided or x.is_nested or type(x) not in (torch.Tensor, torch.nn.Parameter):
            return x.detach().to(self.device, dtype).requires_grad_(x.requires_grad)
        key = x.untyped_storage().data_ptr(), x.dtype
        if key not in self.storages or not key[0]:
            whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
            self.storages[key] = whole.to(self.device, dtype, copy=True).untyped_storage()
        y = torch.empty(0, dtype=dtype, device=self.device)
        y.set_(self.storages[key], x.storage_offset(), x.shape, x.stride())
        y = torch._neg_view(y) if x.is_neg() else y
        y = y.conj() if x.is_conj() else y
        return y.detach().requires_grad_(x.requires_grad)


def gradients(outputs, leaves):
    """Of the outputs' sum with weights that are the same on every device."""
    ys = [y for y in tree_leaves(outputs) if isinstance(y, torch.Tensor) and y.requires_grad]
    if not ys or not leaves:
        return []
    generator = torch.Generator().manual_seed(7)
    weights = [torch.randn(y.shape, generator=generator, dtype=torch.float64).to(y.dtype).to(y.device) for y in ys]
    return list(torch.autograd.grad(ys, leaves, weights, allow_unused=True))


SET_SEED = torch.manual_seed


@contextlib.contextmanager
def seeded(seed):
    """Entries of OpInfo with random results set seeds of their own: they get this one."""
    torch.manual_seed = lambda _: SET_SEED(seed)
    try:
        torch.manual_seed(seed)
        yield
    finally:
        torch.manual_seed = SET_SEED


# ---- comparing ----

def host(x):
    x = x.detach()
    x = (x.to_dense() if x.layout != torch.strided else x).cpu()
    return x.resolve_conj().resolve_neg()


def wide(x):
    return torch.view_as_real(x.to(torch.complex128)) if x.is_complex() else x.double()


def errors(x, reference):
    """Distances of elements; 0 where both are the same NaN or infinity, infinity where only one is."""
    target = wide(reference.to(x.dtype))  # what overflows in the type may
    x, reference = wide(x), wide(reference)
    same = (x == target) | (x.isnan() & target.isnan())
    distance = (x - torch.where(target.isfinite(), reference, target)).abs().nan_to_num(nan=float("inf"))
    return torch.where(same, torch.zeros_like(distance), distance), reference.abs()


def near(distance, size, rule):
    size = size.nan_to_num(0, 0, 0)
    return bool((distance <= rule.atol + rule.rtol * (size.max() if rule.whole else size)).all())


def near_truth(got, want, truth, rule):
    if truth is None or truth.shape != got.shape or not got.dtype.is_floating_point and not got.is_complex():
        return False
    mine, size = errors(got, truth)
    theirs, _ = errors(want, truth)
    return near(mine, size, rule) or bool((mine <= FARTHER[got.dtype.itemsize == 2] * theirs.max()).all())


def difference(got, want, truth, rule=Rule(), inexact=True):
    """Of one result; None: it is right."""
    if got is None or want is None:  # a gradient that is not there is 0
        other = want if got is None else got
        return None if other is None or not bool(host(other).any()) else f"{got} instead of {want}"
    if not isinstance(want, torch.Tensor):
        if isinstance(want, float) and isinstance(got, float):
            got, want = torch.tensor(got, dtype=torch.float64), torch.tensor(want, dtype=torch.float64)
            return difference(got, want, None, rule)
        return None if got == want or str(got).replace(DEVICE + ":0", "cpu") == str(want) else f"{got} instead of {want}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{tuple(got.shape)} instead of {want.dtype}{tuple(want.shape)}"
    if not inexact:
        return None
    got, want = host(got), host(want)
    truth = host(truth) if isinstance(truth, torch.Tensor) else None
    if not want.numel():
        return None
    if not (want.is_floating_point() or want.is_complex()):
        wrong = got != want
        return f"{int(wrong.sum())} of {want.numel()} elements differ" if bool(wrong.any()) else None
    rtol, atol = TOLERANCE[want.dtype]
    rule = Rule(max(rtol, rule.rtol), max(atol, rule.atol), rule.whole)
    distance, size = errors(got, want)
    if near(distance, size, rule) or near_truth(got, want, truth, rule):
        return None
    worst = int((distance - rule.rtol * size).nan_to_num(nan=float("inf")).argmax())
    pair = [float(wide(x).reshape(-1)[worst]) for x in (got, want)]
    return f"{pair[0]:.9g} instead of {pair[1]:.9g}" + ("" if truth is None or truth.shape != want.shape else
                                                        f" (float64: {float(wide(truth).reshape(-1)[worst]):.9g})")


def of_cpu_types(run, got, want):
    """Statistics of normalisations in 16 bits are float32 on devices: what has the type that torch's kernels for the meta
    device give it is right."""
    pairs = list(zip(got, want))
    other = [isinstance(w, torch.Tensor) and isinstance(g, torch.Tensor) and g.dtype != w.dtype for g, w in pairs]
    if not any(other):
        return got
    try:
        meta = run("meta", None, 1)
    except Exception:
        return got
    if len(meta) != len(got):
        return got
    return [g.to(w.dtype) if o and m is not None and m.dtype == g.dtype else g for (g, w), o, m in zip(pairs, other, meta)]


def is_random(run, want):
    return any(difference(again, w, None) for seed in range(2, 18) for again, w in zip(run("cpu", None, seed), want))


def distribution(run, want):
    """Whether results that the seed decides are as often what they are as on the CPU."""
    def collected(device):
        runs = [run(device, None, seed) for seed in range(RUNS)]
        return [torch.stack([wide(host(r[i])).reshape(-1)[:64] for r in runs]) for i, w in enumerate(want)
                if isinstance(w, torch.Tensor) and w.numel() and all(r[i] is not None and r[i].shape == w.shape for r in runs)]
    rounding = max([1e-3] + [TOLERANCE[w.dtype][0] for w in want if isinstance(w, torch.Tensor) and w.dtype in TOLERANCE])
    for mine, theirs in zip(collected(DEVICE), collected("cpu")):
        steps = torch.cat([mine, theirs]).nan_to_num().sort(0).values
        def share(x):
            return (x.nan_to_num()[None] <= steps[:, None]).double().mean(1)
        # Equal except for rounding: steps beside each other.
        close = torch.cat([steps[1:] - steps[:-1] > rounding * (1 + steps[1:].abs()), torch.ones_like(steps[:1], dtype=torch.bool)])
        worst = float(((share(mine) - share(theirs)).abs() * close).max())
        if worst > DISTANCE:
            return f"random results are distributed otherwise (distance {worst:.2f})"
    return None


def compare(run, rule, dtype, uninitialised=False):
    """run(device, types, seed) gives a list of results. What differs, or None, and the fallbacks of one run."""
    try:
        want = run("cpu", None, 1)
    except Exception as e:
        raise Unusable(str(e)) from e
    torch_directml.fallbacks(clear=True)
    got = run(DEVICE, None, 1)
    calls = torch_directml.fallbacks(clear=True)
    if len(got) != len(want):
        return f"{len(got)} results, {len(want)} expected", calls
    places = [g for g, w in zip(got, want) if isinstance(w, torch.Tensor) and isinstance(g, torch.Tensor) and g.is_cpu]
    if places and len(places) == len(got):
        return "results on the CPU", calls
    got = of_cpu_types(run, got, want)
    def first(truths, inexact=True):
        found = (difference(g, w, t, rule, inexact) for g, w, t in zip(got, want, truths))
        return next((f for f in found if f), None)
    nothing = [None] * len(want)
    why = first(nothing, not uninitialised)
    if not why or first(nothing, False):
        return why, calls
    if is_random(run, want):
        return distribution(run, want), calls
    try:
        torch.set_default_dtype(torch.float32 if dtype.is_floating_point else torch.float64)  # that of integers' quotients
        truths = run("cpu", WIDE, 1)
    except Exception:
        truths = []
    finally:
        torch.set_default_dtype(torch.float32)
    return first(truths if len(truths) == len(want) else nothing), calls


# ---- operators ----

def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


OPS = {name_of(op): op for op in op_db}


def rule_of(op, dtype):
    """What torch's tests allow this operator beyond the rest, and ours."""
    tests = (None, "test_compare_cpu", "test_out", "test_variant_consistency_eager", "test_noncontiguous_samples")
    overrides = [override.d[dtype] for info in op.decorators or () if isinstance(info, DecorateInfo) and
                 info.test_name in tests for override in info.decorators
                 if isinstance(override, toleranceOverride) and dtype in override.d]
    return widest([Rule(o.rtol, o.atol) for o in overrides] + [roundings_of("opinfo/" + name_of(op), dtype)])


def call(op, sample, move):
    x, args, kwargs = tree_map(move, (sample.input, sample.args, sample.kwargs))
    bare = not any(isinstance(t, torch.Tensor) for t in tree_leaves((x, args, kwargs)))
    with torch.device(move.device) if bare else contextlib.nullcontext():  # operators that make tensors
        out = op.op(x, *args, **kwargs)
    leaves = [t for t in tree_leaves((x, args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
    return sample.output_process_fn_grad(out), leaves


def found_there(op, sample, out):
    """The elements at the indices among the results, instead of these."""
    place, x = ORDER[op.name], sample.input
    if place is None or not x.dim():
        return out
    dim = sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)
    whole = (op.name in ("kthvalue", "mode") and
             not sample.kwargs.get("keepdim", len(sample.args) > place + 1 and sample.args[place + 1]))

    def elements(i):
        return host(x).gather(dim, host(i).unsqueeze(dim) if whole else host(i)).to(i.device)
    return [elements(t) if t.dtype == torch.int64 and (t is out or t is out[1]) else t for t in tree_leaves(out)]


def sample_runner(op, sample, grad, order=False):
    def run(device, types, seed):
        with seeded(seed):
            out, leaves = call(op, sample, Mover(device, types))
        if order:
            return tree_leaves(found_there(op, sample, out))
        return tree_leaves(out) + (gradients(out, leaves) if grad else [])
    return run


def sample_without_gradient(op, sample, grad):
    """The forward pass alone, if the CPU has no gradient for this sample."""
    dtype = sample.input.dtype if isinstance(sample.input, torch.Tensor) else None
    if op.name in ORDER and dtype != torch.float32:
        return sample_runner(op, sample, False, order=True)
    run = sample_runner(op, sample, grad)
    if grad:
        try:
            run("cpu", None, 1)
        except Exception:
            return sample_runner(op, sample, False)
    return run


def opinfo(name, dtype, limits):
    op = OPS[name]
    if SPARSE.search(name):
        return skip("sparse tensors: tests/torch/test_sparse.py")
    if name.startswith("jiterator"):
        return skip("compiles CUDA text")
    if dtype not in op.supported_dtypes("cpu"):
        return skip(f"the CPU has no {str(dtype)[6:]} here")
    grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    rule = rule_of(op, dtype)
    runs = (sample_without_gradient(op, s, grad) for s in op.sample_inputs("cpu", dtype, requires_grad=grad))
    return over_samples(runs, lambda run: compare(run, rule, dtype, UNINITIALISED.match(name)), limits)


def error_inputs(name, dtype, limits):
    """Arguments that are wrong raise as on the CPU."""
    op = OPS[name]
    if not op.error_inputs_func or SPARSE.search(name):
        return skip("no wrong arguments in OpInfo")

    def check(wrong):
        kind = wrong.error_type
        try:
            call(op, wrong.sample_input, Mover("cpu"))
        except kind:
            pass
        except Exception as e:
            raise Unusable(str(e)) from e
        else:
            raise Unusable("the CPU takes it")
        torch_directml.fallbacks(clear=True)
        try:
            call(op, wrong.sample_input, Mover(DEVICE))
        except kind:
            return None, {}
        except Exception as e:
            if isinstance(e, IndexError):  # as CUDA, where the CPU has RuntimeError
                return None, {}
            return f"{type(e).__name__} instead of {kind}: {first_line(e)}", {}
        return f"no error: {wrong.error_regex[:80]}", {}

    return over_samples(iter(op.error_inputs("cpu")), check, limits)


def gradcheck(name, dtype, limits):
    op = OPS[name]
    if SPARSE.search(name) or dtype not in op.supported_backward_dtypes("cpu"):
        return skip("no gradient of that type")

    def check_on(device, sample):
        x, args, kwargs = tree_map(Mover(device), (sample.input, sample.args, sample.kwargs))
        leaves = [t for t in tree_leaves((x, args)) if isinstance(t, torch.Tensor) and t.requires_grad]
        if not leaves:
            raise Unusable("no gradients")

        def function(*tensors):
            given = dict(zip(map(id, leaves), tensors))
            a, b = tree_map(lambda t: given.get(id(t), t), (x, args))
            return sample.output_process_fn_grad(op.gradcheck_wrapper(op.op, a, *b, **kwargs))
        torch.manual_seed(1)
        torch.autograd.gradcheck(function, leaves, fast_mode=True, nondet_tol=op.gradcheck_nondet_tol,
                                 check_undefined_grad=False)

    def check(sample):
        try:
            check_on("cpu", sample)
        except Exception as e:
            raise Unusable(str(e)) from e
        torch_directml.fallbacks(clear=True)
        check_on(DEVICE, sample)
        return None, torch_directml.fallbacks(clear=True)

    return over_samples(iter(op.sample_inputs("cpu", dtype, requires_grad=True)), check, limits)


# ---- modules ----

MODULES = {info.name: info for info in common_modules.module_db}


def module_runner(info, given, dtype, training, grad):
    def make():
        torch.manual_seed(3)
        made = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).to(dtype).train(training)
        if info.is_lazy:
            with torch.no_grad():
                made(*given.forward_input.args, **given.forward_input.kwargs)
        return made

    def run(device, types, seed, nudge=None):
        module = make()
        module = module.double() if types else module
        module = module.to(device)
        args, kwargs = tree_map(Mover(device, types), (given.forward_input.args, given.forward_input.kwargs))
        leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
        leaves += [p for p in module.parameters() if p.requires_grad]
        for leaf in leaves if nudge else ():
            leaf.data.mul_(1 + torch.finfo(dtype).eps * torch.empty(leaf.shape).uniform_(-2, 2, generator=nudge))
        with seeded(seed):
            out = module(*args, **kwargs)
        return tree_leaves(out) + (gradients(out, leaves) if grad else []) + list(module.buffers())
    return run


def within_roundings(run, rule):
    """Whether results lie among those that the CPU has in float64 when inputs and weights change by up to two units in
    their last place: a rounding may take a ReLU from one side of 0 to the other, and with it a gradient that is not small."""
    nudge = torch.Generator().manual_seed(11)
    runs = [run("cpu", WIDE, 1, nudge) for _ in range(24)]
    for i, got in enumerate(run(DEVICE, None, 1)):
        others = [wide(other[i]) for other in runs if isinstance(other[i], torch.Tensor)]
        if not others:
            continue
        got, low, high = wide(host(got)), torch.stack(others).amin(0), torch.stack(others).amax(0)
        if not near(torch.maximum(low - got, got - high).clamp(min=0), torch.maximum(low.abs(), high.abs()), rule):
            return False
    return True


def module_difference(run, name, dtype):
    rule = roundings_of("module/" + name, dtype)
    why, calls = compare(run, rule, dtype)
    if why and dtype in (HALF, BFLOAT) and within_roundings(run, rule):
        why = None
    return why, calls


def module(name, dtype, limits):
    info = MODULES[name]
    if dtype not in info.supported_dtypes("cpu") and dtype not in (torch.float16, torch.bfloat16):
        return skip(f"no inputs of {str(dtype)[6:]}")

    torch.manual_seed(13)

    def runs():
        for training in (True, False) if info.train_and_eval_differ else (True,):
            for given in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training):
                if given.forward_input is not None:
                    yield module_runner(info, given, dtype, training, True)
    return over_samples(runs(), lambda run: module_difference(run, name, dtype), limits)


# ---- optimizers ----

OPTIMIZERS = {info.name: info for info in common_optimizers.optim_db}
SHAPES = [(3, 4), (7, 2), (5, 1)]  # matrices: Muon takes no others


def optimizer_runner(info, kwargs, dtype):
    def run(device, types, seed):
        move = Mover(device, types)
        generator = torch.Generator().manual_seed(5)
        made = [torch.randn(s, generator=generator).to(dtype) for s in SHAPES + SHAPES]
        parameters = [move(t).requires_grad_() for t in made[:3]]
        targets = [move(t) for t in made[3:]]
        options = copy.deepcopy(kwargs)  # the learning rate may stay on the CPU
        if options.get("fused") or options.get("capturable"):
            options = tree_map(Mover(device), options)
        optimizer = info.optim_cls(parameters, **options)

        def closure():
            optimizer.zero_grad()
            loss = sum(((p - t) ** 2).mean() for p, t in zip(parameters, targets))
            loss.backward()
            return loss
        for _ in range(4):
            if info.step_requires_closure:
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()
        return [p.detach() for p in parameters]
    return run


def optimizer(name, dtype, limits):
    info = OPTIMIZERS[name]
    if info.only_supports_sparse_grads:
        return skip("sparse gradients: tests/torch/test_sparse.py")
    kinds = [None] + [f for f in info.supported_impls if f != "fused" or "cpu" in info.supports_fused_on]

    def runs():
        for given in info.optim_inputs_func("cpu"):
            for kind in kinds:
                flags = {k: k == kind for k in kinds if k}
                yield optimizer_runner(info, {**given.kwargs, **flags}, dtype)
    return over_samples(runs(), lambda run: compare(run, Rule(), dtype), limits)


# ---- networks ----

def network(name, dtype, limits):
    try:
        import torchvision  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as e:
        return skip(str(e))
    began = time.monotonic()
    why, steps = conformance_networks.compare(name, DEVICE, min(conformance_networks.STEPS, limits.samples),
                                              lambda: time.monotonic() - began > limits.seconds)
    calls = torch_directml.fallbacks(clear=True)
    return {"status": "fail" if why else "fallback" if calls else "pass", "why": why or "", "samples": steps,
            "fallbacks": dict(calls)}


# ---- cases ----

Limits = collections.namedtuple("Limits", "samples seconds")
PARTS = {"opinfo": (opinfo, OPS), "module": (module, MODULES), "optimizer": (optimizer, OPTIMIZERS),
         "errors": (error_inputs, OPS), "gradcheck": (gradcheck, OPS),
         "network": (network, conformance_networks.NETWORKS)}


def first_line(e):
    return (str(e).strip().splitlines() or [""])[0][:200]


def skip(why):
    return {"status": "skip", "why": why}


def over_samples(samples, check, limits):
    """check(sample): what is wrong or None, and the fallbacks."""
    began, count, calls, why, unusable = time.monotonic(), 0, collections.Counter(), None, ""
    while count < limits.samples and time.monotonic() - began < limits.seconds and not why:
        try:
            sample = next(samples)
        except StopIteration:
            break
        except Exception as e:  # the data itself cannot be made
            unusable = f"{type(e).__name__}: {first_line(e)}"
            break
        try:
            why, more = check(sample)
        except Unusable as e:
            unusable = f"on the CPU: {first_line(e)}"
            continue
        except Exception as e:
            why, more = f"{type(e).__name__}: {first_line(e)}", {}
        count += 1
        calls.update(more)
    if not count:
        return skip(unusable or "no samples")
    status = "fail" if why else "fallback" if calls else "pass"
    return {"status": status, "why": f"sample {count}: {why}" if why else "", "samples": count, "fallbacks": dict(calls)}


def run_case(case, limits):
    part, dtype, name = case.split("/", 2)
    began = time.monotonic()
    torch_directml.fallbacks(clear=True)
    try:
        result = PARTS[part][0](name, getattr(torch, dtype), limits)
    except Exception as e:
        result = {"status": "fail", "why": f"{type(e).__name__}: {first_line(e)}"}
    return {"samples": 0, "fallbacks": {}, **result, "seconds": round(time.monotonic() - began, 2)}
