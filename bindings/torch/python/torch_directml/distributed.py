# SPDX-License-Identifier: Apache-2.0
"""A process group for dml tensors over Gloo, for torchrun, DistributedDataParallel and FSDP2 on any number of machines.

    torch.distributed.init_process_group("cpu:gloo,dml:dml")     # or "dml", or without an argument

On devices that use host memory, Gloo accesses the tensors in place; otherwise tensors are staged in host memory and copied
back by the Gloo thread that completes the operation.

Gloo's threads run these copies, and release Python objects, after the waiting threads have continued. A thread that
acquires the interpreter's lock during finalization is unwound by force, through C++ frames that do not support unwinding:
the process aborts. Therefore no thread of Gloo outlives its group's shutdown(), which
torch.distributed.destroy_process_group() calls and which otherwise happens at exit."""
import atexit
import weakref

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from .name import DEVICE_TYPE

_ops = torch.ops.torch_directml


def _staged(work, pairs):
    """Returns the work on staged copies, followed by copying them back to the tensors. pairs: (tensor, copy)."""
    def finish(done):
        if done:
            done.wait()  # raises the error of the work
        for tensor, copy in pairs:
            tensor.copy_(copy)
        return [tensor for tensor, _ in pairs]

    try:
        future = work.get_future().then(finish)
    except RuntimeError:  # reduce_scatter does not have a future
        work.wait()
        future = torch.futures.Future()
        future.set_result(finish(None))
    return c10d._create_work_from_future(future)


def _on_host(tensor):
    """Returns the tensor as a CPU tensor for Gloo, and whether that is a copy."""
    if tensor.device.type != DEVICE_TYPE:
        return tensor, False
    if _ops.host_memory(tensor.device.index):
        return _ops.alias_on_cpu(tensor), False
    return tensor.cpu(), True


def _flat(tensor):
    """Flattens contiguous tensors: Gloo splits the first dimension among the processes, while torch specifies that only the
    order of the elements matters."""
    return tensor.view(-1) if tensor.is_contiguous() else tensor


_groups = weakref.WeakSet()


class ProcessGroupDml(dist.ProcessGroup):
    """All collectives of Gloo for dml tensors."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        # The only reference: shutdown() must release the last one, so no frame or traceback may hold another.
        self.gloo = c10d.ProcessGroupGloo(store, rank, size, timeout)
        self.names = ["", ""]
        _groups.add(self)

    def getBackendName(self):
        return "dml"

    # torch implements these only for backends in C++.

    def getGroupName(self):
        return self.names[0]

    def setGroupName(self, name):
        self.names[0] = name

    def getGroupDesc(self):
        return self.names[1]

    def setGroupDesc(self, text):
        self.names[1] = text

    def shutdown(self):
        """Waits until all work is complete, its resources are released and Gloo's threads have ended."""
        self.gloo = None  # its destructor waits for all of that without holding the interpreter's lock

    def abort(self):
        if self.gloo is not None:
            self.gloo.abort()
        self.shutdown()

    def _run(self, names, written, read, *options):
        """Calls the first of Gloo's methods `names` (separated by spaces) that this version of torch has. `written` and
        `read` are nested lists of tensors, in the order of the method's parameters. Raises RuntimeError after
        shutdown()."""
        if self.gloo is None:
            raise RuntimeError(f"{names.split()[0]}: the process group has been shut down")
        pairs, known = [], {}

        def convert(value, changes):
            if isinstance(value, (list, tuple)):
                return [convert(element, changes) for element in value]
            key = value.data_ptr(), value.shape, value.stride()  # a result may start at the same address as an argument
            if key in known and value.numel():
                return known[key]
            made, copied = _on_host(value)
            if copied:
                known[key] = made
                if changes:
                    pairs.append((value, made))
            return made

        arguments = [convert(value, True) for value in written] + [convert(value, False) for value in read]
        name = next(name for name in names.split() if hasattr(self.gloo, name))
        work = getattr(self.gloo, name)(*arguments, *options)
        return _staged(work, pairs) if pairs else work

    def allreduce(self, tensors, opts=c10d.AllreduceOptions()):
        return self._run("allreduce", [tensors], [], opts)

    def allreduce_coalesced(self, tensors, opts=c10d.AllreduceCoalescedOptions()):
        return self._run("allreduce_coalesced", [tensors], [], opts)

    def broadcast(self, tensors, opts=c10d.BroadcastOptions()):
        return self._run("broadcast", [tensors], [], opts)

    def reduce(self, tensors, opts=c10d.ReduceOptions()):
        return self._run("reduce", [tensors], [], opts)

    def allgather(self, outputs, inputs, opts=c10d.AllgatherOptions()):
        return self._run("allgather", [outputs], [inputs], opts)

    def _allgather_base(self, output, input, opts=c10d.AllgatherOptions()):
        return self._run("_allgather_base all_gather_single", [_flat(output)], [_flat(input)], opts)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=c10d.AllgatherOptions()):
        return self._run("allgather_into_tensor_coalesced all_gather_single_coalesced", [list(map(_flat, outputs))],
                         [list(map(_flat, inputs))], opts)

    def gather(self, outputs, inputs, opts=c10d.GatherOptions()):
        return self._run("gather", [outputs], [inputs], opts)

    def scatter(self, outputs, inputs, opts=c10d.ScatterOptions()):
        return self._run("scatter", [outputs], [inputs], opts)

    def reduce_scatter(self, outputs, inputs, opts=c10d.ReduceScatterOptions()):
        return self._run("reduce_scatter", [outputs], [inputs], opts)

    def _reduce_scatter_base(self, output, input, opts=c10d.ReduceScatterOptions()):
        return self._run("_reduce_scatter_base reduce_scatter_single", [_flat(output)], [_flat(input)], opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=c10d.ReduceScatterOptions()):
        return self._run("reduce_scatter_tensor_coalesced reduce_scatter_single_coalesced", [list(map(_flat, outputs))],
                         [list(map(_flat, inputs))], opts)

    def alltoall_base(self, output, input, output_sizes, input_sizes, opts=c10d.AllToAllOptions()):
        return self._run("alltoall_base all_to_all_single", [output], [input], output_sizes, input_sizes, opts)

    def alltoall(self, outputs, inputs, opts=c10d.AllToAllOptions()):
        work = [self._run("send", [], [[x]], rank, 0) for rank, x in enumerate(inputs) if rank != self.rank()]
        for rank, output in enumerate(outputs):
            if rank == self.rank():
                output.copy_(inputs[rank])
            else:
                self._run("recv", [[output]], [], rank, 0).wait()
        for sent in work:
            sent.wait()
        return self._run("barrier", [], [])

    def send(self, tensors, rank, tag=0):
        return self._run("send", [], [tensors], rank, tag)

    def recv(self, tensors, rank, tag=0):
        return self._run("recv", [tensors], [], rank, tag)

    def recv_anysource(self, tensors, tag=0):
        return self._run("recv_anysource", [tensors], [], tag)

    def barrier(self, opts=c10d.BarrierOptions()):
        options = c10d.BarrierOptions()
        options.timeout = opts.timeout
        return self._run("barrier", [], [], options)

    def monitored_barrier(self, *arguments, **named):
        return self.gloo.monitored_barrier(*arguments, **named)

    # Names of these methods since torch 2.15.
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base


def _create(store, rank, size, timeout):
    return ProcessGroupDml(store, rank, size, timeout)


@atexit.register
def _shut_down():
    for group in list(_groups):
        group.shutdown()


if dist.is_available() and "dml" not in dist.Backend.backend_list:
    dist.Backend.register_backend("dml", _create, devices=[DEVICE_TYPE])
