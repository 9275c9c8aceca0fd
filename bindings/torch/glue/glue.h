// SPDX-License-Identifier: Apache-2.0
// What the files of the glue share. The glue is compiled for each minor version of torch; what needs no torch is in C,
// behind ../ops/aten.h.
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
c10::DeviceIndex current_device() noexcept; // of this thread
void set_current_device(c10::DeviceIndex index) noexcept;
// The opened device; throws when the index is none, or in a child of a process that had opened devices.
aten_device *device(c10::DeviceIndex index);
bool host_memory(c10::DeviceIndex index);
bool forked() noexcept; // whether this is such a child

// ---- memory (allocator.cpp) ----

c10::DeviceAllocator *allocator();
c10::Allocator *allocator_of(c10::DeviceIndex index); // always allocates there
c10::Allocator *pinned_allocator();
bool is_pinned(const void *address);
c10::Device device_of(const void *address);
// What tells the contents of a tensor from others that it had or will have; 0: not known, for memory of others. Who
// writes to tensors in any other way than by operators of torch notes that.
uint64_t version_of(const at::Tensor &tensor);
void note_written(const at::Tensor &tensor);
void set_memory_limit(c10::DeviceIndex index, double fraction);

// ---- random numbers (generator.cpp) ----

const at::Generator &default_generator(c10::DeviceIndex index);
at::Generator new_generator(c10::DeviceIndex index);
// Takes `count` 32 bit numbers: the seed, and the offset of the first.
std::pair<uint64_t, uint64_t> draw(const at::Generator &generator, uint64_t count);
// A generator of the CPU that goes on from a device's.
at::Generator cpu_generator(const at::Generator &generator);

// ---- tensors (factory.cpp) ----

at::Tensor empty_like_layout(const aten_tensor &layout, c10::DeviceIndex index);
// Throws where the storage has become too small for the tensor: it was resized.
void check_storage(const at::Tensor &tensor);
// Fills `out` from a tensor of strides (rank at most ATEN_RANK_MAX and a type of ATen's above: otherwise false).
bool describe(const at::Tensor &tensor, aten_tensor *out);

// ---- the CPU instead (fallback.cpp) ----

// A storage of the same memory as `base`, which it keeps.
c10::Storage storage_over(const c10::Storage &base, c10::Device where, c10::Allocator *allocator);
// Such a storage's base; NULL for others.
c10::StorageImpl *base_of(const c10::Storage &storage);
// A CPU tensor over the memory of one on an adapter whose memory is the host's.
at::Tensor alias_on_cpu(const at::Tensor &tensor);
// Runs the operator on the CPU; `why` (may be empty) goes into the warning, the first time.
void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack, const std::string &why);
// overrideable convolutions by the operator that the CPU and meta devices have; others are left as they are.
c10::OperatorHandle common_form(const c10::OperatorHandle &op, torch::jit::Stack *stack);
std::string fallbacks_json(bool clear);
// Throws for a result of the CPU that the device has no kind for: sparse, nested, quantized (absent.cpp).
void check_kind(const c10::OperatorHandle &op, const at::Tensor &made);
// "Expected all tensors to be on the same device ..." unless they are; CPU tensors of rank 0 go along. Returns the
// device of the first, or -1.
c10::DeviceIndex common_device(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin);

} // namespace dml

#endif
