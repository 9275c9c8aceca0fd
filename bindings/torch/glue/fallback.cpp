// SPDX-License-Identifier: Apache-2.0
// Runs operators that the device does not support on the CPU: in place if the device's memory is host memory, otherwise
// on copies.
#include "glue.h"

#include <cstdlib>
#include <mutex>
#include <set>

#include <ATen/native/CPUFallback.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

namespace dml
{
namespace
{

// Releases the storage whose memory another storage shares.
void release_storage(void *context)
{
    c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl *>(context));
}

void set_layout(const at::Tensor &to, const at::Tensor &from)
{
    to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

void set_bits(const at::Tensor &to, const at::Tensor &from)
{
    if (from.is_conj())
        to._set_conj(true);
    if (from.is_neg())
        to._set_neg(true);
}

at::Tensor make_tensor(const c10::Storage &storage, c10::DispatchKeySet keys, const at::Tensor &like)
{
    at::Tensor made = at::detail::make_tensor<at::TensorImpl>(c10::Storage(storage), keys, like.dtype());
    set_layout(made, like);
    set_bits(made, like);
    return made;
}

// The device tensors of one call and their counterparts on the CPU.
class Aliases
{
  public:
    explicit Aliases(c10::DeviceIndex device_index) : index(device_index)
    {
    }

    at::Tensor to_cpu(const at::Tensor &tensor)
    {
        if (!tensor.defined() || !tensor.is_privateuseone())
            return tensor;
        for (auto &[mine, theirs] : tensors)
            if (mine.is_same(tensor))
                return theirs;
        check_storage(tensor);
        c10::Storage *found = find(tensor.storage(), false);
        if (!found) {
            storages.emplace_back(tensor.storage(),
                                  storage_over(tensor.storage(), at::kCPU, c10::GetAllocator(at::kCPU)));
            found = &storages.back().second;
        }
        at::Tensor made = make_tensor(*found, c10::DispatchKeySet(c10::DispatchKey::CPU), tensor);
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
            made.unsafeGetTensorImpl()->set_wrapped_number(true);
        tensors.emplace_back(tensor, made);
        return made;
    }

    // Transfers the storages and layouts that the operator changed to the device tensors.
    void take_changes()
    {
        for (auto &[mine, theirs] : storages)
            if (theirs.data() != mine.data() || theirs.nbytes() != mine.nbytes()) {
                size_t bytes = theirs.nbytes();
                c10::DataPtr data = theirs.set_data_ptr(c10::DataPtr());
                data.unsafe_set_device(c10::Device(kDml, index));
                theirs = c10::Storage();
                mine.set_data_ptr_noswap(std::move(data));
                mine.set_nbytes(bytes);
            }
        for (auto &[mine, theirs] : tensors)
            if (mine.sizes() != theirs.sizes() || mine.strides() != theirs.strides() ||
                mine.storage_offset() != theirs.storage_offset())
                set_layout(mine, theirs);
    }

    at::Tensor to_device(const at::Tensor &result)
    {
        if (!result.defined() || !result.is_cpu() || !result.has_storage())
            return result;
        for (auto &[mine, theirs] : tensors)
            if (theirs.is_same(result))
                return mine;
        if (c10::Storage *found = find(result.storage(), true)) {
            // A view has the dispatch keys of its base, also in inference mode.
            c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
            for (auto &[mine, theirs] : tensors)
                if (mine.storage().is_alias_of(*found))
                    keys = mine.key_set();
            at::Tensor view = at::detail::make_tensor<at::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(*found), keys,
                                                                      result.dtype());
            set_layout(view, result);
            view._set_conj(result.is_conj());
            view._set_neg(result.is_neg());
            return view;
        }
        storages.emplace_back(storage_over(result.storage(), c10::Device(kDml, index), allocator_of(index)),
                              result.storage());
        return make_tensor(storages.back().first, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), result);
    }

  private:
    c10::DeviceIndex index;
    std::vector<std::pair<c10::Storage, c10::Storage>> storages; // of the device, of the CPU
    std::vector<std::pair<at::Tensor, at::Tensor>> tensors;

    c10::Storage *find(const c10::Storage &storage, bool of_cpu)
    {
        for (auto &[mine, theirs] : storages) {
            c10::Storage &key = of_cpu ? theirs : mine;
            if (key && key.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl())
                return of_cpu ? &mine : &theirs;
        }
        return nullptr;
    }
};

template <typename F> void each_tensor(c10::IValue &value, F change)
{
    if (value.isTensor()) {
        value = change(value.toTensor());
    } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &t : value.toTensorVector())
            list.push_back(change(t));
        value = std::move(list);
    } else if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor> &t : value.toOptionalTensorVector())
            list.push_back(t ? std::optional<at::Tensor>(change(*t)) : std::nullopt);
        value = std::move(list);
    }
}

// Replaces devices by the CPU, and generators, including the default one, by a CPU generator that continues the
// device's sequence.
void adapt_argument(const c10::Argument &argument, c10::IValue &value, c10::DeviceIndex *index)
{
    if (value.isDevice() && value.toDevice().is_privateuseone()) {
        c10::Device where = value.toDevice();
        if (*index < 0)
            *index = where.has_index() ? where.index() : current_device();
        value = c10::Device(at::kCPU);
    } else if (value.isGenerator() && value.toGenerator().device().is_privateuseone()) {
        value = cpu_generator(value.toGenerator());
    } else if (value.isNone() && argument.type()->kind() == c10::TypeKind::OptionalType &&
               argument.type()->expectRef<c10::OptionalType>().getElementType()->kind() ==
                   c10::TypeKind::GeneratorType) {
        value = cpu_generator(default_generator(*index));
    }
}

// Adapts the arguments for the CPU and notes what is written. Returns the device.
c10::DeviceIndex to_cpu_form(const c10::OperatorHandle &form, torch::jit::Stack *stack, c10::DeviceIndex index)
{
    const auto &arguments = form.schema().arguments();
    size_t begin = stack->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); i++)
        adapt_argument(arguments[i], (*stack)[begin + i], &index);
    for (size_t i = 0; i < arguments.size(); i++)
        if (arguments[i].alias_info() && arguments[i].alias_info()->isWrite())
            each_tensor((*stack)[begin + i], [](const at::Tensor &t) {
                note_written(t);
                return t;
            });
    return index < 0 ? current_device() : index;
}

void run_aliased(const c10::OperatorHandle &op, torch::jit::Stack *stack, size_t begin, c10::DeviceIndex index)
{
    Aliases aliases(index);
    for (size_t i = begin; i < stack->size(); i++)
        each_tensor((*stack)[i], [&](const at::Tensor &t) { return aliases.to_cpu(t); });
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    aliases.take_changes();
    size_t results = op.schema().returns().size();
    for (size_t i = stack->size() - results; i < stack->size(); i++)
        each_tensor((*stack)[i], [&](const at::Tensor &t) {
            check_kind(op, t);
            return aliases.to_device(t);
        });
}

struct Counts {
    std::mutex mutex;
    std::map<std::string, uint64_t> calls;
    std::set<std::string> warned;
};

Counts &counts()
{
    static Counts *only = new Counts;
    return *only;
}

std::string full_name(const c10::OperatorHandle &op)
{
    const auto &name = op.operator_name();
    return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

bool forbidden()
{
    static const bool answer = [] {
        const char *text = std::getenv("TORCH_DIRECTML_FALLBACK");
        return text && std::string(text) == "error";
    }();
    return answer;
}

void count(const std::string &name)
{
    Counts &c = counts();
    bool first;
    {
        std::lock_guard<std::mutex> lock(c.mutex);
        c.calls[name]++;
        first = c.warned.insert(name).second;
    }
    if (first)
        TORCH_WARN("The operator '", name,
                   "' is not currently supported on the DML backend and will fall back to run "
                   "on the CPU. This may have performance implications.");
}

// Whether this argument may be a CPU tensor although the others are on the device, as for every device of torch. NULL:
// any argument may be.
bool takes_cpu_tensor(const std::string &op, const std::string &argument)
{
    static const std::map<std::string, const char *> names = { { "aten::index", "indices" },
                                                               { "aten::index_put", "indices" },
                                                               { "aten::index_put_", "indices" },
                                                               { "aten::_index_put_impl_", "indices" },
                                                               { "aten::_unsafe_index", "indices" },
                                                               { "aten::_unsafe_index_put", "indices" },
                                                               { "aten::_pack_padded_sequence", nullptr },
                                                               { "aten::_pack_padded_sequence_backward", nullptr },
                                                               { "aten::_ctc_loss", nullptr },
                                                               { "aten::_ctc_loss_backward", nullptr },
                                                               { "aten::_copy_from", nullptr },
                                                               { "aten::_copy_from_and_resize", nullptr } };
    auto found = names.find(op);
    return found != names.end() && (!found->second || argument == found->second);
}

void fall_back_unnamed(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    fall_back(op, stack, "");
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back_unnamed>());
}

// torch's kernels of these for all devices only report that a device must have its own.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    for (const char *name : { "convolution_overrideable", "convolution_backward_overrideable" })
        if (!aten_op_find(name, ""))
            m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fall_back_unnamed>());
}

} // namespace

c10::Storage storage_over(const c10::Storage &base, c10::Device where, c10::Allocator *allocator)
{
    auto *impl = base.unsafeGetStorageImpl();
    c10::raw::intrusive_ptr::incref(impl);
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), base.nbytes(),
        c10::DataPtr(base.mutable_data(), impl, release_storage, where), allocator, true));
}

c10::StorageImpl *base_of(const c10::Storage &storage)
{
    const c10::DataPtr &data = storage.data_ptr();
    return data.get_deleter() == release_storage ? static_cast<c10::StorageImpl *>(data.get_context()) : nullptr;
}

at::Tensor alias_on_cpu(const at::Tensor &tensor)
{
    return Aliases(0).to_cpu(tensor);
}

c10::DeviceIndex common_device(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin)
{
    c10::DeviceIndex index = -1;
    const at::Tensor *stranger = nullptr;
    size_t where = begin;
    auto look = [&](const at::Tensor &t, size_t i) {
        if (!t.defined())
            return;
        if (t.is_privateuseone()) {
            if (index < 0)
                index = t.device().index();
            else if (index != t.device().index())
                TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
                            c10::Device(kDml, index), " and ", t.device(), "! (when checking argument for argument ",
                            op.schema().arguments()[i - begin].name(), " in method ", full_name(op), ")");
        } else if (!stranger && (t.dim() || !t.is_cpu() || op.schema().arguments()[i - begin].alias_info()) &&
                   !takes_cpu_tensor(op.operator_name().name, op.schema().arguments()[i - begin].name())) {
            stranger = &t;
            where = i;
        }
    };
    for (size_t i = begin; i < stack.size(); i++) {
        const c10::IValue &value = stack[i];
        if (value.isTensor()) {
            look(value.toTensor(), i);
        } else if (value.isTensorList() || value.isOptionalTensorList()) {
            for (const c10::IValue &element : value.toListRef())
                if (element.isTensor())
                    look(element.toTensor(), i);
        }
    }
    TORCH_CHECK(!stranger || index < 0,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                c10::Device(kDml, index), " and ", stranger->device(), "! (when checking argument for argument ",
                op.schema().arguments()[where - begin].name(), " in method ", full_name(op), ")");
    return index;
}

c10::OperatorHandle common_form(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    auto &dispatcher = c10::Dispatcher::singleton();
    const std::string &name = op.operator_name().name;
    if (name == "aten::convolution_overrideable")
        return dispatcher.findSchemaOrThrow("aten::convolution", op.operator_name().overload_name.c_str());
    if (name != "aten::convolution_backward_overrideable")
        return op;
    // Rewrites (grad, input, weight, stride, ...) to (grad, input, weight, sizes of the bias, stride, ...).
    size_t begin = stack->size() - op.schema().arguments().size();
    const at::Tensor weight = (*stack)[begin + 2].toTensor();
    bool transposed = (*stack)[begin + 6].toBool();
    int64_t groups = (*stack)[begin + 8].toInt();
    std::vector<int64_t> sizes = { transposed ? weight.size(1) * groups : weight.size(0) };
    stack->insert(stack->begin() + static_cast<std::ptrdiff_t>(begin) + 3, c10::IValue(sizes));
    return dispatcher.findSchemaOrThrow("aten::convolution_backward", "");
}

void run_in_host_memory(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    size_t begin = stack->size() - op.schema().arguments().size();
    c10::DeviceIndex index = to_cpu_form(op, stack, common_device(op, *stack, begin));
    run_aliased(op, stack, begin, index);
}

void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack, const std::string &why)
{
    size_t begin = stack->size() - op.schema().arguments().size();
    c10::DeviceIndex index = common_device(op, *stack, begin);
    std::string name = full_name(op);
    TORCH_CHECK_NOT_IMPLEMENTED(!forbidden(), "The operator '", name, "' is not supported on the DML backend",
                                why.empty() ? "" : " here: ", why,
                                ", and TORCH_DIRECTML_FALLBACK=error forbids running it on the CPU.");
    c10::OperatorHandle form = common_form(op, stack);
    index = to_cpu_form(form, stack, index);
    if (host_memory(index))
        run_aliased(form, stack, begin, index);
    else
        at::native::cpu_fallback(form, stack);
    count(name);
}

std::string fallbacks_json(bool clear)
{
    Counts &c = counts();
    std::lock_guard<std::mutex> lock(c.mutex);
    std::string text = "{";
    for (const auto &[name, calls] : c.calls)
        text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(calls);
    if (clear)
        c.calls.clear();
    return text + "}";
}

} // namespace dml
