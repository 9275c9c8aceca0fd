// SPDX-License-Identifier: Apache-2.0
// Operators that create tensors, view them, or copy them: the ones that every device of torch must implement.
#include "profiler.h"

#include <cstring>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

c10::DeviceIndex index_of(std::optional<c10::Device> where)
{
    return where && where->has_index() ? where->index() : current_device();
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory)
{
    TORCH_CHECK(!layout || *layout == at::kStrided, "dml tensors are of layout torch.strided, not ", *layout);
    TORCH_CHECK(!pin_memory || !*pin_memory, "Only dense CPU tensors can be pinned");
}

// Fills new tensors as torch.utils.deterministic.fill_uninitialized_memory requires.
at::Tensor filled(at::Tensor made)
{
    const auto &context = at::globalContext();
    if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()))
        at::native::fill_empty_deterministic_(made);
    return made;
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                 std::optional<at::Device> where, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> format)
{
    check_options(layout, pin_memory);
    return filled(
        at::detail::empty_generic(sizes, allocator_of(index_of(where)), kKeys, c10::dtype_or_default(type), format));
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout> layout, std::optional<at::Device> where,
                         std::optional<bool> pin_memory)
{
    check_options(layout, pin_memory);
    return filled(at::detail::empty_strided_generic(sizes, strides, allocator_of(index_of(where)), kKeys,
                                                    c10::dtype_or_default(type)));
}

at::Tensor &set_empty(at::Tensor &self)
{
    c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                               allocator_of(self.device().index()), true));
    return self.set_(storage, 0, { 0 }, {});
}

// ---- copies ----

bool same_layout(const at::Tensor &a, const at::Tensor &b)
{
    return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.is_non_overlapping_and_dense() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

void move_bytes(const at::Tensor &to, const at::Tensor &from)
{
    bool up = from.is_cpu(), down = to.is_cpu();
    char message[kMessageBytes] = "";
    TORCH_CHECK(aten_copy(device((up ? to : from).device().index()), to.mutable_data_ptr(), from.const_data_ptr(),
                          from.nbytes(),
                          up     ? ATEN_TO_DEVICE
                          : down ? ATEN_FROM_DEVICE
                                 : ATEN_WITHIN,
                          message, sizeof(message)),
                "torch_directml: copying ", from.nbytes(), " bytes: ", message);
}

constexpr size_t kPlainCopyBytes = 65536; // for larger copies torch's own copy uses several threads

// For adapters that compute in host memory.
void copy_on_host(const at::Tensor &to, const at::Tensor &from)
{
    if (same_layout(to, from) && to.nbytes() <= kPlainCopyBytes && to.data_ptr() != from.data_ptr()) {
        std::memmove(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes());
        return;
    }
    at::Tensor target = alias_on_cpu(to);
    target.copy_(alias_on_cpu(from));
}

// Copies the tensor to host memory with the same strides, densely packed, so that it can be copied in one piece.
at::Tensor to_host(const at::Tensor &tensor)
{
    if (tensor.is_cpu())
        return tensor;
    if (!tensor.is_non_overlapping_and_dense()) {
        // Copies the span of its elements, then selects the elements from it.
        int64_t elements = 1;
        for (int64_t d = 0; d < tensor.dim(); d++)
            elements += (tensor.size(d) - 1) * tensor.stride(d);
        at::Tensor span = tensor.as_strided({ elements }, { 1 }, tensor.storage_offset());
        return to_host(span).as_strided(tensor.sizes(), tensor.strides(), 0);
    }
    at::Tensor plain = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
    move_bytes(plain, tensor);
    plain._set_conj(tensor.is_conj());
    plain._set_neg(tensor.is_neg());
    return plain;
}

void copy_staged(const at::Tensor &to, const at::Tensor &from)
{
    if (same_layout(to, from) && !(to.is_privateuseone() && from.is_privateuseone() && to.device() != from.device())) {
        move_bytes(to, from);
        return;
    }
    at::Tensor source = to_host(from);
    if (to.is_cpu()) {
        at::Tensor target = to;
        target.copy_(source);
        return;
    }
    if (to.is_non_overlapping_and_dense()) {
        at::Tensor staged = at::empty_strided(to.sizes(), to.strides(), to.options().device(at::kCPU));
        staged._set_conj(to.is_conj());
        staged._set_neg(to.is_neg());
        staged.copy_(source);
        move_bytes(to, staged);
        return;
    }
    // Elements between those of `to` keep their values.
    int64_t elements = 1;
    for (int64_t d = 0; d < to.dim(); d++)
        elements += (to.size(d) - 1) * to.stride(d);
    at::Tensor span = to.as_strided({ elements }, { 1 }, to.storage_offset());
    at::Tensor staged = to_host(span);
    staged.as_strided(to.sizes(), to.strides(), 0).copy_(source);
    move_bytes(span, staged);
}

// Copies between layouts and types of one device with the operator of the table. Returns false if there is no plan for
// it.
bool copy_on_device(const at::Tensor &to, const at::Tensor &from)
{
    static const aten_op *op = aten_op_find("copy", "");
    aten_tensor layouts[2], source;
    if (!op || to.device() != from.device() || to.is_conj() || from.is_conj() || to.is_neg() || from.is_neg() ||
        !describe(to, &layouts[0]) || !describe(from, &source))
        return false;
    layouts[1] = layouts[0];
    aten_arg args[3] = {};
    args[0].kind = args[1].kind = ATEN_TENSOR;
    args[0].tensors = &layouts[1];
    args[1].tensors = &source;
    args[2].kind = ATEN_BOOL;
    aten_device *where = device(to.device().index());
    char message[kMessageBytes] = "";
    aten_plan *plan = aten_find(where, op, args, 3, layouts, 1);
    if (!plan)
        plan = aten_compile(where, op, args, 3, layouts, 1, message);
    if (!plan)
        return false;
    bool ok = aten_run(plan, args, 3, layouts, 1, message, sizeof(message));
    aten_release(plan);
    TORCH_CHECK(ok, "torch_directml: copy_: ", message);
    return true;
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &dst, bool)
{
    at::Tensor from = self.sizes() == dst.sizes() ? self : self.expand(dst.sizes());
    if (!dst.numel() || dst.is_same(from))
        return dst;
    bool host = (!dst.is_privateuseone() || host_memory(dst.device().index())) &&
                (!from.is_privateuseone() || host_memory(from.device().index()));
    at::AutoDispatchBelowADInplaceOrView guard;
    check_storage(dst);
    check_storage(from);
    note_written(dst);
    Activity activity("copy", (dst.is_privateuseone() ? dst : from).device().index());
    if (host)
        copy_on_host(dst, from);
    else if (!copy_on_device(dst, from))
        copy_staged(dst, from);
    return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &dst)
{
    at::native::resize_output(dst, self.sizes());
    return copy_from(self, dst, false);
}

at::Scalar local_scalar(const at::Tensor &self)
{
    check_storage(self);
    if (host_memory(self.device().index()))
        return at::_local_scalar_dense(alias_on_cpu(self));
    at::AutoDispatchBelowADInplaceOrView guard;
    return at::_local_scalar_dense(to_host(self.reshape({}).as_strided({}, {}, self.storage_offset())));
}

// torch represents zero gradients without memory on the devices that it knows; here they are ordinary zeros.
at::Tensor zero_tensor(c10::SymIntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                       std::optional<at::Device> device, std::optional<bool> pinned)
{
    at::TensorOptions options = at::TensorOptions().dtype(type).layout(layout).device(device).pinned_memory(pinned);
    return at::zeros_symint(sizes, options);
}

// Whether `tensor.data = from` keeps the tensor: as with CUDA, tensors of the device and of the CPU can replace each
// other, so that Module.to keeps parameters.
bool can_take(const at::Tensor &self, const at::Tensor &from)
{
    auto dense = [](c10::DispatchKeySet keys) {
        return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) &&
               keys.has_any(
                   c10::DispatchKeySet({ c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit }));
    };
    return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set()) ||
           (dense(self.key_set()) && dense(from.key_set()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_has_compatible_shallow_copy_type", can_take);
    m.impl("_efficientzerotensor", zero_tensor);
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("as_strided", at::native::as_strided_tensorimpl);
    m.impl("view", at::native::view);
    m.impl("_reshape_alias", at::native::_reshape_alias);
    m.impl("alias", at::native::alias);
    m.impl("unfold", at::native::unfold);
    m.impl("view_as_real", at::native::view_as_real);
    m.impl("view_as_complex", at::native::view_as_complex);
    m.impl("is_set_to", at::native::is_set_to);
    m.impl("resize_", at::native::resize_);
    m.impl("set_", set_empty);
    m.impl("set_.source_Storage", [](at::Tensor &self, at::Storage source) -> at::Tensor & {
        return at::native::set_(self, std::move(source));
    });
    m.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
    m.impl("set_.source_Tensor", at::native::set_tensor_);
    m.impl("record_stream", [](at::Tensor &, at::Stream) {});
    m.impl("_copy_from", copy_from);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
    m.impl("_local_scalar_dense", local_scalar);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    m.impl("_has_compatible_shallow_copy_type", can_take);
}

// torch's kernels for conjugate and negative views would first copy the tensor by calling copy_.
TORCH_LIBRARY_IMPL(aten, Conjugate, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace

// Equivalent to at::detail::empty_strided_generic, without the checks that the plan has already made.
at::Tensor empty_like_layout(const aten_tensor &layout, c10::DeviceIndex index)
{
    at::IntArrayRef sizes(layout.sizes, layout.rank), strides(layout.strides, layout.rank);
    auto type = c10::scalarTypeToTypeMeta(static_cast<at::ScalarType>(layout.type));
    int64_t end = 1, packed = 1; // elements
    bool contiguous = true;
    for (size_t d = layout.rank; d-- > 0;) {
        contiguous = contiguous && strides[d] == packed;
        packed *= sizes[d];
        end += (sizes[d] - 1) * strides[d];
    }
    c10::Allocator *memory = allocator_of(index);
    size_t bytes = packed ? static_cast<size_t>(end) * type.itemsize() : 0;
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                         memory->allocate(bytes), memory, true);
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), kKeys, type);
    if (!contiguous || !packed)
        made.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    else
        made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    return made;
}

void check_storage(const at::Tensor &tensor)
{
    const c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
    if (!impl->numel() || !impl->has_storage() || impl->layout() != at::kStrided)
        return;
    at::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
    // In elements. The sizes fitted into a storage when they were set, so this cannot overflow.
    int64_t end = impl->storage_offset() + 1;
    for (size_t d = 0; d < sizes.size(); d++)
        end += (sizes[d] - 1) * strides[d];
    size_t needed = static_cast<size_t>(end) * impl->itemsize(), there = impl->unsafe_storage().nbytes();
    TORCH_CHECK(needed <= there, "A tensor of sizes ", sizes, " on ", tensor.device(), " needs ", needed,
                " bytes of its storage, which has been resized to ", there);
}

bool describe(const at::Tensor &tensor, aten_tensor *out)
{
    const c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
    at::IntArrayRef sizes = impl->sizes(), strides = impl->strides();
    out->type = static_cast<int32_t>(c10::typeMetaToScalarType(impl->dtype()));
    if (sizes.size() > ATEN_RANK_MAX || !aten_type_bytes(out->type) || impl->layout() != at::kStrided ||
        impl->is_conj() || impl->is_neg())
        return false;
    out->rank = static_cast<uint32_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); d++) {
        out->sizes[d] = sizes[d];
        out->strides[d] = strides[d];
    }
    check_storage(tensor);
    out->data = const_cast<void *>(impl->data()); // NULL without elements
    return true;
}

} // namespace dml
