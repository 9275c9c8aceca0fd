# SPDX-License-Identifier: Apache-2.0
"""The peers of bench/zoo.py on a GPU: each network in a process of its own, which replays CUDA graphs of torch's eager mode and
of torch.compile. Processes prepare at the same time, because compiling takes a minute, and measure one after the other."""
import time

import gpu_peers
import zoo_networks


def moved(module, inputs, dtype):
    import torch
    inputs = tuple(x.to("cuda", dtype if x.is_floating_point() else x.dtype) for x in inputs)
    return module.to("cuda", dtype), inputs


def layouts(torch, module):
    """Convolutions of images are measured in both layouts."""
    conv = any(isinstance(m, torch.nn.Conv2d) for m in module.modules())
    return [torch.contiguous_format] + [torch.channels_last] * conv


def captured(torch, module, inputs, layout):
    """Returns a graph of one run, its inputs and its outputs."""
    module = module.to(memory_format=layout)
    given = tuple(x.contiguous(memory_format=layout) if x.dim() == 4 else x for x in inputs)
    out = []

    def run():
        out[:] = zoo_networks.outputs_of(module(*given))
    return gpu_peers.graph_of(torch, run, 1), given, out


def with_copies(torch, graph, inputs, outputs, seconds):
    """Returns the median time of one run with copies of inputs and outputs."""
    host = [x.cpu() for x in inputs]

    def run():
        for x, y in zip(inputs, host):
            x.copy_(y)
        graph.replay()
        for y in outputs:
            y.cpu()
    return gpu_peers.median_of(run, seconds)


class Programs:
    def __init__(self, name, dtype, batch, compiled):
        import torch
        gpu_peers.plain(torch)
        self.torch, self.graphs, self.about = torch, {}, {}
        module, inputs = zoo_networks.make(name, batch, calibrated=False)
        module, inputs = moved(module, inputs, getattr(torch, dtype))
        for layout in layouts(torch, module):
            self.add("graph", lambda: captured(torch, module, inputs, layout))
        if compiled:
            module = module.to(memory_format=torch.contiguous_format)
            begin = time.perf_counter()
            self.add("compiled", lambda: captured(torch, torch.compile(module, dynamic=False), inputs, torch.contiguous_format))
            self.about["compile_s"] = time.perf_counter() - begin

    def add(self, key, make):
        try:
            made = make()
            self.graphs.setdefault(key, []).append(made)
        except Exception as error:
            self.about[f"{key}_error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            self.torch.cuda.synchronize()

    def measure(self, seconds):
        """Returns the milliseconds of each kind of graph: of the faster layout."""
        found = dict(self.about)
        for key, graphs in self.graphs.items():
            times = [gpu_peers.timed(self.torch, graph, seconds / len(graphs), 1) for graph, _, _ in graphs]
            best = times.index(min(times))
            found[key] = dict(ms=min(times), copies_ms=with_copies(self.torch, *graphs[best], seconds / 2))
        return found


def serve(connection, name, dtype, batch, compiled):
    """Tells when the graphs are there, then measures once for each number of seconds."""
    try:
        programs = Programs(name, dtype, batch, compiled)
        connection.send("ready")
        while True:
            seconds = connection.recv()
            connection.send(programs.measure(seconds))
    except EOFError:
        pass
    except Exception as error:
        connection.send(dict(error=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"))
