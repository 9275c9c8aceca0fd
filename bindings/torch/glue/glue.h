// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files of the glue. The glue is compiled for each minor version of torch; code that does
// not need torch is in C, behind ../ops/aten.h.
#ifndef ANYDML_TORCH_GLUE_H
#define ANYDML_TORCH_GLUE_H

#include <map>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "aten.h"

namespace dml
{

constexpr c10::DeviceType kDml = c10::DeviceType::PrivateUse1;
constexpr size_t kMessageBytes = 512;

// ---- devices (guard.cpp) ----

c10::DeviceIndex device_count() noexcept;
c10::DeviceIndex current_device() noexcept; // of the calling thread
void set_current_device(c10::DeviceIndex index) noexcept;
// Opens the device on first use. Throws if the index is out of range, or in a forked child of a process that had opened
// devices.
aten_device *device(c10::DeviceIndex index);
bool host_memory(c10::DeviceIndex index);
bool forked() noexcept; // whether this process is such a child

// ---- memory (allocator.cpp) ----

c10::DeviceAllocator *allocator();
c10::Allocator *allocator_of(c10::DeviceIndex index); // allocates on this device regardless of the current one
c10::Allocator *pinned_allocator();
bool is_pinned(const void *address);
c10::Device device_of(const void *address);
// Identifies the contents of a tensor: equal versions mean equal contents; 0: unknown, because the allocator does not
// own the memory. Code that writes to a tensor without an operator of torch must call note_written.
uint64_t version_of(const at::Tensor &tensor);
void note_written(const at::Tensor &tensor);
void set_memory_limit(c10::DeviceIndex index, double fraction);

// ---- random numbers (generator.cpp) ----

const at::Generator &default_generator(c10::DeviceIndex index);
at::Generator new_generator(c10::DeviceIndex index);
// Reserves `count` 32-bit numbers and returns the seed and the offset of the first one.
std::pair<uint64_t, uint64_t> draw(const at::Generator &generator, uint64_t count);
// A CPU generator that continues the sequence of a device's generator.
at::Generator cpu_generator(const at::Generator &generator);

// ---- tensors (factory.cpp) ----

at::Tensor empty_like_layout(const aten_tensor &layout, c10::DeviceIndex index);
// Throws if the tensor's storage was resized and is now too small for it.
void check_storage(const at::Tensor &tensor);
// Fills `out` from a strided tensor. Returns false if its rank exceeds ATEN_RANK_MAX or aten_type lacks its type.
bool describe(const at::Tensor &tensor, aten_tensor *out);

// ---- fallback to the CPU (fallback.cpp) ----

// A storage that shares the memory of `base` and keeps a reference to it.
c10::Storage storage_over(const c10::Storage &base, c10::Device where, c10::Allocator *allocator);
// The base of such a storage; NULL for any other.
c10::StorageImpl *base_of(const c10::Storage &storage);
// A CPU tensor that shares the memory of a device tensor; only for adapters that use host memory.
at::Tensor alias_on_cpu(const at::Tensor &tensor);
// Runs the operator on the CPU. The first call for each operator warns; `why` (may be empty) is the reason.
void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack, const std::string &why);
// Runs the operator's kernel for the CPU in the memory of the tensors, on a device that computes in host memory: where
// that is the best implementation, and no fallback.
void run_in_host_memory(const c10::OperatorHandle &op, torch::jit::Stack *stack);
// Replaces overrideable convolutions by the operator that the CPU and meta devices have; returns other operators
// unchanged.
c10::OperatorHandle common_form(const c10::OperatorHandle &op, torch::jit::Stack *stack);
std::string fallbacks_json(bool clear);
// Throws if the CPU's result has a layout that the device does not support: sparse, nested, quantized (absent.cpp).
void check_kind(const c10::OperatorHandle &op, const at::Tensor &made);
// Returns the index of the first tensor's device, or -1 without one. Throws "Expected all tensors to be on the same
// device ..." if devices differ; CPU tensors of rank 0 are accepted.
c10::DeviceIndex common_device(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin);

} // namespace dml

#endif
