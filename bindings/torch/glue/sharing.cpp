// SPDX-License-Identifier: Apache-2.0
// Device tensors in memory of CPU tensors, on adapters that compute in host memory. The Python package shares such
// tensors with other processes (sharing.py).
#include "glue.h"

#include <cstring>

#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace dml
{
namespace
{

at::Tensor bytes_of(const c10::Storage &storage, c10::Device where)
{
    at::Tensor made = at::empty({ 0 }, at::TensorOptions(at::kByte).device(where));
    return made.set_(storage, 0, { static_cast<int64_t>(storage.nbytes()) }, { 1 });
}

// The CPU tensor of bytes whose whole storage backs the tensor's storage; empty if the tensor has its own memory.
std::optional<at::Tensor> host_bytes(const at::Tensor &tensor)
{
    c10::StorageImpl *base = base_of(tensor.storage());
    if (!base)
        return std::nullopt;
    return bytes_of(c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(base)), at::kCPU);
}

// A device tensor of bytes that shares the memory of `bytes`.
at::Tensor over_host(const at::Tensor &bytes, int64_t index)
{
    auto where = static_cast<c10::DeviceIndex>(index);
    TORCH_CHECK(bytes.is_cpu() && host_memory(where), "over_host: the memory of ", c10::Device(kDml, where),
                " is not host memory");
    c10::Storage storage = storage_over(bytes.storage(), c10::Device(kDml, where), allocator_of(where));
    storage.unsafeGetStorageImpl()->set_resizable(false);
    return bytes_of(storage, c10::Device(kDml, where));
}

// Moves the tensor's storage, including all tensors that share it, into the memory of `bytes`.
void move_over_host(const at::Tensor &tensor, const at::Tensor &bytes)
{
    const c10::Storage &storage = tensor.storage();
    TORCH_CHECK(bytes.is_cpu() && host_memory(tensor.device().index()) && bytes.storage().nbytes() == storage.nbytes(),
                "move_over_host: ", storage.nbytes(), " bytes of host memory are required, not ",
                bytes.storage().nbytes(), " of ", bytes.device());
    c10::DeviceIndex index = tensor.device().index();
    aten_synchronize(device(index));
    std::memcpy(bytes.storage().mutable_data(), storage.data(), storage.nbytes());
    c10::Storage over = storage_over(bytes.storage(), tensor.device(), allocator_of(index));
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(over.set_data_ptr(c10::DataPtr()));
    storage.unsafeGetStorageImpl()->set_resizable(false);
}

TORCH_LIBRARY_FRAGMENT(torch_directml, m)
{
    m.def("host_bytes(Tensor tensor) -> Tensor?", &host_bytes);
    m.def("over_host(Tensor bytes, int index) -> Tensor", &over_host);
    m.def("move_over_host(Tensor tensor, Tensor bytes) -> ()", &move_over_host);
}

} // namespace
} // namespace dml
