# SPDX-License-Identifier: Apache-2.0
"""Two and four processes: collectives, and training with DistributedDataParallel and FSDP2 beside one process on the CPU
with the whole batch; and that processes end as they should."""
import copy
import os
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch_directml
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

DEVICE = torch_directml.device()


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 7), nn.Tanh(), nn.Linear(7, 2))


def batches(count=4):
    torch.manual_seed(6)
    return [(torch.randn(8, 6), torch.randn(8, 2)) for _ in range(count)]


def full(*values):
    return torch.tensor(values, device=DEVICE)


def reductions(test, rank, size):
    base, total = torch.arange(4.0), sum(range(size))
    for op, want in ((dist.ReduceOp.SUM, base * size + total), (dist.ReduceOp.MAX, base + size - 1),
                     (dist.ReduceOp.MIN, base), (dist.ReduceOp.AVG, base + total / size)):
        x = base.to(DEVICE) + rank
        dist.all_reduce(x, op=op, async_op=True).wait()
        test.assertEqual(x.tolist(), want.tolist(), op)
    x = base.to(DEVICE) + rank
    dist.reduce(x, size - 1)
    if rank == size - 1:
        test.assertEqual(x.tolist(), (base * size + total).tolist())
    for op, factor in ((dist.ReduceOp.SUM, size), (dist.ReduceOp.AVG, 1)):
        part = torch.zeros(2, device=DEVICE)
        dist.reduce_scatter_tensor(part, torch.arange(2.0 * size, device=DEVICE), op=op)
        test.assertEqual(part.tolist(), [factor * 2.0 * rank, factor * (2.0 * rank + 1)])
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * size, device=DEVICE).view(1, -1))
    test.assertEqual(part.tolist(), [size * 2.0 * rank, size * (2.0 * rank + 1)])
    host = torch.tensor([float(rank)])
    dist.all_reduce(host)
    test.assertEqual(host.item(), total)


def moves(test, rank, size):
    everyone = [float(r) for r in range(size)]
    y = full(float(rank), rank)
    dist.broadcast(y, 1)
    test.assertEqual(y.tolist(), [1.0, 1])
    parts = [torch.zeros(1, device=DEVICE) for _ in range(size)]
    dist.all_gather(parts, full(float(rank)))
    test.assertEqual([p.item() for p in parts], everyone)
    whole = torch.zeros(size, device=DEVICE)
    dist.all_gather_into_tensor(whole, full(float(rank)))
    test.assertEqual(whole.tolist(), everyone)
    for shape in ((1, size), (size, 1)):
        there = torch.zeros(shape, device=DEVICE)
        dist.all_gather_into_tensor(there, full(float(rank)))
        test.assertEqual(there.view(-1).tolist(), everyone)
    parts = [torch.zeros(1, device=DEVICE) for _ in range(size)]
    dist.gather(full(float(rank)), parts if rank == 0 else None)
    test.assertEqual([p.item() for p in parts], everyone if rank == 0 else [0.0] * size)
    mine = torch.zeros(1, device=DEVICE)
    dist.scatter(mine, [full(10.0 + r) for r in range(size)] if rank == 1 else None, 1)
    test.assertEqual(mine.item(), 10 + rank)
    dist.all_to_all_single(whole, torch.arange(float(size), device=DEVICE) + 10 * rank)
    test.assertEqual(whole.tolist(), [10.0 * r + rank for r in range(size)])
    parts = [torch.zeros(1, device=DEVICE) for _ in range(size)]
    dist.all_to_all(parts, [full(10.0 * rank + r) for r in range(size)])
    test.assertEqual([p.item() for p in parts], [10.0 * r + rank for r in range(size)])
    sent = dist.isend(full(float(rank)), (rank + 1) % size)
    dist.recv(mine, (rank - 1) % size)
    sent.wait()
    test.assertEqual(mine.item(), (rank - 1) % size)
    dist.barrier()


def compare(test, rank, size, module, full_of):
    """Training steps of `module` on this process's part of each batch, beside the CPU with the whole."""
    alone = network()
    mine, theirs = (torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (alone, module))
    for x, y in batches():
        mine.zero_grad()
        theirs.zero_grad()
        nn.functional.mse_loss(alone(x), y).backward()
        nn.functional.mse_loss(module(x[rank::size].to(DEVICE)), y[rank::size].to(DEVICE)).backward()
        for a, b in zip(alone.parameters(), module.parameters(), strict=True):
            test.assertEqual(b.grad.device.type, "dml")
            torch.testing.assert_close(full_of(b.grad), a.grad, rtol=1e-5, atol=1e-6)
        mine.step()
        theirs.step()
    for a, b in zip(alone.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(full_of(b.detach()), a.detach(), rtol=1e-5, atol=1e-6)


def data_parallel(test, rank, size):
    module = nn.parallel.DistributedDataParallel(network().to(DEVICE), bucket_cap_mb=0.0001)  # several buckets
    compare(test, rank, size, module, lambda t: t.cpu())


def sharded(test, rank, size, shape):
    module, mesh = network().to(DEVICE), init_device_mesh("dml", shape, mesh_dim_names=("copies", "shards")[-len(shape):])
    for layer in module:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    shards = shape[-1]
    test.assertLessEqual(module[0].weight.to_local().numel(), -(-16 // shards) * 6)
    compare(test, rank, size, module, lambda t: t.full_tensor().cpu())


def synchronized(test, rank, size):
    """Batch normalization whose statistics are those of all processes' parts together."""
    torch.manual_seed(7)
    alone = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh()).double()
    module = copy.deepcopy(alone).to(DEVICE)
    module = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(module))
    x, slope = torch.randn(4 * size, 6, dtype=torch.float64), torch.randn(4 * size, 5, dtype=torch.float64)
    want = alone(x)
    want.backward(slope / size)  # of the processes' gradients DistributedDataParallel takes the mean
    have = module(x[rank::size].to(DEVICE))
    have.backward(slope[rank::size].to(DEVICE))
    torch.testing.assert_close(have.detach().cpu(), want.detach()[rank::size])
    for a, b in zip(alone.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(b.grad.cpu(), a.grad)
    for a, b in zip(alone.buffers(), module.buffers(), strict=True):
        torch.testing.assert_close(b.cpu(), a)


def late_callback(test, rank):
    """What runs in a thread of Gloo when all have their results is over when the group is destroyed."""
    x, finished = torch.ones(4, device=DEVICE), []
    if rank == 1:
        dist.recv(x, 0)
    work = dist.all_reduce(x, async_op=True)
    if rank == 0:
        import time
        work.get_future().then(lambda _: (time.sleep(1), finished.append(True)))
        dist.send(x.clone(), 1)
    work.wait()
    dist.destroy_process_group()
    test.assertEqual(finished, [True] if rank == 0 else [])


def process(rank, size, store):
    test = unittest.TestCase()
    torch.set_num_threads(1)
    dist.init_process_group("cpu:gloo,dml:dml", init_method=f"file://{store}", rank=rank, world_size=size)
    try:
        for staged in (False, True):
            if staged:  # as on adapters with memory of their own
                torch_directml.distributed._on_host = lambda tensor: (tensor.cpu(), tensor.device.type == "dml")
            reductions(test, rank, size)
            moves(test, rank, size)
            data_parallel(test, rank, size)
            synchronized(test, rank, size)
            sharded(test, rank, size, (size,))
        if size == 4:
            sharded(test, rank, size, (2, 2))
        late_callback(test, rank)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


LEFT = """
import datetime, sys, threading, time
import torch, torch.distributed as dist, torch_directml

stage, groups, store = torch_directml.distributed, [None, None], dist.HashStore()
stage._on_host = lambda tensor: (tensor.cpu(), True)

def make(rank):
    groups[rank] = stage.ProcessGroupDml(store, rank, 2, datetime.timedelta(seconds=60))

def late(future):
    time.sleep(1)
    print("finished", flush=True)

other = threading.Thread(target=make, args=(1,))
other.start()
make(0)
other.join()
work = groups[0].allreduce([torch.ones(4, device="dml")])
work.get_future().then(late)
groups[1].allreduce([torch.ones(4, device="dml")]).wait()
work.wait()
if len(sys.argv) > 1:
    for group in groups:
        group.shutdown()
    print("shut down", flush=True)
    try:
        groups[0].allreduce([torch.ones(4, device="dml")])
    except RuntimeError as error:
        print(error)
"""


class Processes(unittest.TestCase):
    def run_processes(self, size):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(process, args=(size, os.path.join(folder, "store")), nprocs=size)

    def test_two(self):
        self.run_processes(2)

    def test_four(self):
        self.run_processes(4)


class Ending(unittest.TestCase):
    def ran(self, *arguments):
        ran = subprocess.run([sys.executable, "-c", LEFT, *arguments], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout.splitlines()

    def test_a_group_that_nobody_destroyed(self):
        self.assertEqual(self.ran(), ["finished"])

    def test_nothing_runs_after_shutdown(self):
        self.assertEqual(self.ran("shutdown"), ["finished", "shut down", "allreduce: the process group has been shut down"])


if __name__ == "__main__":
    if not dist.is_available():
        sys.exit("torch.distributed is not there")
    unittest.main()
