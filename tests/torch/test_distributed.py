# SPDX-License-Identifier: Apache-2.0
"""Two processes: collectives, and DistributedDataParallel beside one process on the CPU with the whole batch."""
import os
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch_directml
from torch import nn


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))


def batches():
    torch.manual_seed(6)
    return [(torch.randn(8, 6), torch.randn(8, 2)) for _ in range(4)]


def collectives(test, rank, size):
    device = torch_directml.device()
    x = torch.arange(4.0, device=device) + rank
    dist.all_reduce(x)
    test.assertEqual(x.tolist(), [1.0, 3, 5, 7])
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    test.assertEqual(x.tolist(), [1.0, 3, 5, 7])
    y = torch.full((3,), float(rank), device=device)
    dist.broadcast(y, 1)
    test.assertEqual(y.tolist(), [1.0] * 3)
    parts = [torch.zeros(2, device=device) for _ in range(size)]
    dist.all_gather(parts, torch.full((2,), float(rank), device=device))
    test.assertEqual([p.tolist() for p in parts], [[0.0, 0], [1, 1]])
    whole = torch.zeros(4, device=device)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(rank), device=device))
    test.assertEqual(whole.tolist(), [0.0, 0, 1, 1])
    part = torch.zeros(2, device=device)
    dist.reduce_scatter_tensor(part, torch.arange(4.0, device=device))
    test.assertEqual(part.tolist(), [4.0 * rank, 4 * rank + 2])
    if rank == 0:
        dist.send(torch.tensor([7.0], device=device), 1)
    else:
        z = torch.zeros(1, device=device)
        dist.recv(z, 0)
        test.assertEqual(z.item(), 7)
    host = torch.tensor([float(rank)])
    dist.all_reduce(host)
    test.assertEqual(host.item(), 1)
    dist.barrier()


def training(test, rank, size):
    device = torch_directml.device()
    alone, module = network(), nn.parallel.DistributedDataParallel(network().to(device))
    mine, theirs = (torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (alone, module))
    for x, y in batches():
        mine.zero_grad()
        theirs.zero_grad()
        nn.functional.mse_loss(alone(x), y).backward()
        nn.functional.mse_loss(module(x[rank::size].to(device)), y[rank::size].to(device)).backward()
        for a, b in zip(alone.parameters(), module.parameters()):
            torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-6)
        mine.step()
        theirs.step()


def process(rank, size, store):
    test = unittest.TestCase()
    dist.init_process_group("cpu:gloo,dml:dml", init_method=f"file://{store}", rank=rank, world_size=size)
    try:
        collectives(test, rank, size)
        training(test, rank, size)
        # As on adapters with memory of their own.
        torch_directml.distributed._on_host = lambda tensor: (tensor.cpu(), tensor.device.type == "dml")
        collectives(test, rank, size)
        training(test, rank, size)
    finally:
        dist.destroy_process_group()


class TwoProcesses(unittest.TestCase):
    def test_all(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(process, args=(2, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    if not dist.is_available():
        sys.exit("torch.distributed is not there")
    unittest.main()
