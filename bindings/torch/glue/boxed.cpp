// SPDX-License-Identifier: Apache-2.0
// All operators of the C library as one boxed functor. It converts the arguments on torch's stack to the C library's
// form, finds or compiles the plan and runs it; on a miss, the meta device supplies the layout of the results.
#include "direct.h"
#include "meta.h"
#include "profiler.h"

#include <mutex>

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

namespace dml
{
namespace
{

class Operator final : public c10::OperatorKernel
{
  public:
    Operator(const aten_op *table_row, Form operator_form, const c10::FunctionSchema &schema)
        : row(table_row), form(operator_form), results(schema.returns().size())
    {
        for (const c10::Argument &argument : schema.arguments()) {
            kinds.push_back(kind_of(argument));
            has_generator |= kinds.back() == Kind::Generator;
        }
        inputs = kinds.size();
        for (const c10::Argument &argument : schema.arguments())
            inputs -= form == Form::Out && argument.is_out();
        for (const c10::Argument &result : schema.returns())
            result_is_list.push_back(result.type()->kind() == c10::TypeKind::ListType);
        fresh = form == Form::Functional ? results : 0;
        const std::string name = row->name;
        apart = form == Form::Out && (name == "gather" || name == "index_select" || name == "take" ||
                                      name == "kthvalue" || name == "cat" || name == "aminmax");
        takes_masks = name == "index" || name == "_unsafe_index" || name.find("index_put") != std::string::npos;
        carries = form != Form::Out && only_moves(name);
        convolves = form == Form::Functional && name == "convolution";
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
    {
        size_t begin = stack->size() - kinds.size();
        if (C10_UNLIKELY(carries && run_as_bytes(op, keys, stack, begin)))
            return;
        if (C10_UNLIKELY(is_long_list(*stack, begin))) {
            run_in_parts(op, keys, stack, begin);
            return;
        }
        if (C10_UNLIKELY(convolves && c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Tracer))) {
            convolve_traced(stack, begin);
            return;
        }
        if (C10_UNLIKELY(takes_masks))
            expand_masks(stack, begin);
        if (C10_UNLIKELY(apart))
            check_overlap(*stack, begin);
        Call call;
        call.index = common_device(op, *stack, begin);
        for (size_t i = begin; call.index < 0 && i < stack->size(); i++)
            if ((*stack)[i].isDevice() && (*stack)[i].toDevice().has_index())
                call.index = (*stack)[i].toDevice().index();
        if (call.index < 0)
            call.index = current_device();
        aten_plan *plan = nullptr;
        std::string why = call.problem;
        if (prepare(call, *stack, begin)) {
            plan = find(call);
            if (C10_UNLIKELY(!plan))
                plan = make(op, call, *stack, begin, &why);
        }
        if (C10_UNLIKELY(!plan)) {
            fall_back(op, stack, why);
            return;
        }
        std::unique_ptr<aten_plan, void (*)(aten_plan *)> release(plan, aten_release);
        run(op, call, plan, stack, begin);
    }

    // Whether a call with a cached plan has nothing to do but to run it.
    bool is_plain() const
    {
        return !takes_masks && !apart && !row->random && !row->writes;
    }

  private:
    const aten_op *row;
    Form form;
    size_t results, inputs, fresh;
    bool has_generator = false, takes_masks = false, apart = false, carries = false, convolves = false;
    c10::SmallVector<Kind, 16> kinds;
    c10::SmallVector<bool, 4> result_is_list;

    // Whether the operator moves elements without reading them.
    static bool only_moves(const std::string &name)
    {
        static const char *const names[] = { "cat",  "stack", "flip",      "roll",  "repeat", "index_select", "gather",
                                             "take", "index", "embedding", "where", "zero",   "index_copy" };
        return std::any_of(std::begin(names), std::end(names), [&](const char *other) { return name == other; });
    }

    // torch.jit.trace records aten::_convolution, which torch composes aten::convolution of, and not the latter itself.
    static void convolve_traced(torch::jit::Stack *stack, size_t begin)
    {
        static const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_convolution", "");
        while (stack->size() - begin < op.schema().arguments().size())
            stack->emplace_back(false); // benchmark, deterministic, cudnn_enabled, allow_tf32: of other devices
        op.callBoxed(stack);
    }

    // Moves elements of a type that DirectML lacks as bytes. Returns false if there are none, or of several types.
    bool run_as_bytes(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack, size_t begin)
    {
        std::optional<at::ScalarType> type;
        bool mixed = false;
        for (size_t i = begin; i < stack->size(); i++) {
            c10::SmallVector<at::Tensor, 4> tensors;
            append_tensors(tensors, (*stack)[i]);
            for (const at::Tensor &t : tensors) {
                bool floating = t.defined() && at::isFloatingType(t.scalar_type());
                mixed |= floating && type.value_or(t.scalar_type()) != t.scalar_type();
                type = floating ? t.scalar_type() : type;
            }
        }
        if (mixed || !type || !at::isFloat8Type(*type))
            return false;
        const at::Tensor written = form == Form::InPlace ? (*stack)[begin].toTensor() : at::Tensor();
        retype(stack, begin, *type, at::kByte);
        (*this)(op, keys, stack);
        if (written.defined())
            stack->back() = written;
        else
            retype(stack, begin, at::kByte, *type);
        return true;
    }

    // Views tensors of one type as another of the same size.
    static void retype(torch::jit::Stack *stack, size_t begin, at::ScalarType from, at::ScalarType to)
    {
        auto changed = [&](const at::Tensor &t) { return t.defined() && t.scalar_type() == from ? t.view(to) : t; };
        for (size_t i = begin; i < stack->size(); i++) {
            c10::IValue &value = (*stack)[i];
            if (value.isTensor()) {
                value = changed(value.toTensor());
            } else if (value.isTensorList()) {
                c10::List<at::Tensor> list;
                for (const at::Tensor &t : value.toTensorVector())
                    list.push_back(changed(t));
                value = std::move(list);
            }
        }
    }

    static constexpr size_t kPart = 32;

    // Whether the operator works on lists element by element (_foreach_ operators, optimizer steps) and this list is
    // long.
    bool is_long_list(const torch::jit::Stack &stack, size_t begin) const
    {
        bool each = form == Form::Functional ? results == 1 && result_is_list[0] : form == Form::InPlace && !results;
        return each && !kinds.empty() && kinds[0] == Kind::Tensors && stack[begin].toListRef().size() > kPart;
    }

    static c10::IValue part_of(const c10::IValue &list, size_t from, size_t end)
    {
        c10::impl::GenericList whole = list.toList(), part(whole.elementType());
        for (size_t i = from; i < end; i++)
            part.push_back(whole.get(i));
        return part;
    }

    // Long lists are split, so that graphs stay small; parts of the same shapes share a plan.
    void run_in_parts(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack, size_t begin)
    {
        torch::jit::Stack args(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
        size_t count = args[0].toListRef().size();
        c10::List<at::Tensor> made;
        for (size_t from = 0; from < count; from += kPart) {
            torch::jit::Stack part;
            for (const c10::IValue &arg : args)
                part.push_back(arg.isList() && arg.toListRef().size() == count
                                   ? part_of(arg, from, std::min(count, from + kPart))
                                   : arg);
            (*this)(op, keys, &part);
            for (size_t i = 0; results && i < part.back().toTensorList().size(); i++)
                made.push_back(part.back().toTensorList().get(i));
        }
        stack->resize(begin);
        if (results)
            stack->emplace_back(std::move(made));
    }

    bool prepare(Call &call, const torch::jit::Stack &stack, size_t begin)
    {
        for (size_t i = 0; i < inputs; i++)
            if (!convert(call, kinds[i], stack[begin + i]))
                return false;
        if (row->random && !has_generator)
            add_generator(call, nullptr);
        if (form == Form::InPlace)
            append_tensors(call.written, stack[begin]);
        for (size_t i = inputs; i < kinds.size(); i++)
            append_tensors(call.written, stack[begin + i]);
        for (size_t i = form == Form::InPlace; i < inputs; i++)
            if (row->writes >> i & 1) {
                if (stack[begin + i].isNone())
                    call.written.emplace_back();
                append_tensors(call.written, stack[begin + i]);
            }
        call.output_count = static_cast<uint32_t>(call.written.size());
        return describe_written(call);
    }

    static bool describe_written(Call &call)
    {
        call.outputs = call.arena.take<aten_tensor>(call.written.size());
        for (size_t i = 0; i < call.written.size(); i++)
            if ((call.written[i].defined() && (call.written[i].is_conj() || call.written[i].is_neg())) ||
                !convert_tensor(call, call.written[i], &call.outputs[i]))
                return false;
        return true;
    }

    aten_plan *find(Call &call)
    {
        aten_device *where = device(call.index);
        auto count = static_cast<uint32_t>(call.args.size());
        return fresh ? aten_find(where, row, call.args.data(), count, nullptr, 0)
                     : aten_find(where, row, call.args.data(), count, call.outputs, call.output_count);
    }

    // Resizes out arguments to the sizes and strides of the results.
    void resize_written(Call &call, const torch::jit::Stack &inferred)
    {
        c10::SmallVector<at::Tensor, 4> like;
        for (const c10::IValue &value : inferred)
            append_tensors(like, value);
        for (size_t i = 0; i < like.size() && i < call.written.size(); i++) {
            const at::Tensor &out = call.written[i];
            if (!out.defined() || !like[i].defined() || !at::native::resize_output(out, like[i].sizes()))
                continue;
            if (like[i].is_non_overlapping_and_dense())
                out.unsafeGetTensorImpl()->set_sizes_and_strides(like[i].sizes(), like[i].strides());
        }
        describe_written(call);
    }

    aten_plan *make(const c10::OperatorHandle &op, Call &call, const torch::jit::Stack &stack, size_t begin,
                    std::string *why)
    {
        torch::jit::Stack inferred;
        // Operators that return nothing write to tensors of known layout, and meta kernels for them are rare
        // (_fused_sgd_).
        if (results && !infer(op, stack, begin, &inferred, why))
            return nullptr;
        aten_tensor *outputs = call.outputs;
        uint32_t count = call.output_count;
        if (form == Form::Out) {
            resize_written(call, inferred);
            if (apart)
                check_overlap(stack, begin);
            outputs = call.outputs;
            if (aten_plan *plan = find(call))
                return plan;
        } else if (fresh) {
            c10::SmallVector<at::Tensor, 8> made;
            for (const c10::IValue &value : inferred)
                append_tensors(made, value);
            count += static_cast<uint32_t>(made.size());
            outputs = call.arena.take<aten_tensor>(count);
            for (size_t i = 0; i < made.size(); i++)
                if (!layout_of(made[i], &outputs[i]))
                    return nullptr;
            std::copy_n(call.outputs, call.output_count, outputs + made.size());
        }
        char message[kMessageBytes] = "";
        aten_plan *plan = aten_compile(device(call.index), row, call.args.data(),
                                       static_cast<uint32_t>(call.args.size()), outputs, count, message);
        if (!plan)
            *why = message;
        return plan;
    }

    static bool layout_of(const at::Tensor &meta, aten_tensor *out)
    {
        out->type = ATEN_ABSENT;
        out->data = nullptr;
        if (!meta.defined())
            return true;
        if (meta.dim() > ATEN_RANK_MAX || !aten_type_bytes(static_cast<int32_t>(meta.scalar_type())))
            return false;
        out->type = static_cast<int32_t>(meta.scalar_type());
        out->rank = static_cast<uint32_t>(meta.dim());
        std::copy_n(meta.sizes().data(), out->rank, out->sizes);
        std::copy_n(meta.strides().data(), out->rank, out->strides);
        return true;
    }

    // These operators read and write elements in different orders, so outputs must not overlap inputs.
    void check_overlap(const torch::jit::Stack &stack, size_t begin) const
    {
        for (size_t i = inputs; i < kinds.size(); i++) {
            const at::Tensor &out = stack[begin + i].toTensor();
            at::assert_no_internal_overlap(out);
            c10::SmallVector<at::Tensor, 8> read;
            for (size_t k = 0; k < inputs; k++)
                append_tensors(read, stack[begin + k]);
            for (const at::Tensor &tensor : read)
                if (tensor.defined())
                    at::assert_no_overlap(out, tensor);
            for (size_t k = inputs; k < i; k++)
                TORCH_CHECK_VALUE(at::get_overlap_status(out, stack[begin + k].toTensor()) == at::MemOverlapStatus::No,
                                  row->name, ": the results must not overlap");
        }
    }

    void run(const c10::OperatorHandle &op, Call &call, aten_plan *plan, torch::jit::Stack *stack, size_t begin)
    {
        check_indices(row, plan, call.args.data());
        c10::SmallVector<at::Tensor, 4> made;
        if (fresh)
            allocate(call, plan, &made);
        if (call.generator.defined()) {
            auto [seed, offset] = draw(call.generator, aten_plan_draws(plan));
            call.random[0] = static_cast<int64_t>(seed);
            call.random[1] = static_cast<int64_t>(offset);
        }
        char message[kMessageBytes] = "";
        Activity activity(row->name, call.index);
        bool ok = aten_run(plan, call.args.data(), static_cast<uint32_t>(call.args.size()), call.outputs,
                           call.output_count, message, sizeof(message));
        TORCH_CHECK(ok, op.operator_name(), ": ", message);
        for (const at::Tensor &tensor : call.written)
            note_written(tensor);
        give_results(call, made, stack, begin);
    }

    static void allocate(Call &call, aten_plan *plan, c10::SmallVectorImpl<at::Tensor> *made)
    {
        uint32_t count = aten_plan_output_count(plan), fresh_count = count - call.output_count;
        auto *outputs = call.arena.take<aten_tensor>(count);
        for (uint32_t i = 0; i < fresh_count; i++) {
            outputs[i] = *aten_plan_output(plan, i);
            if (outputs[i].type == ATEN_ABSENT) {
                made->emplace_back();
                continue;
            }
            made->push_back(empty_like_layout(outputs[i], call.index));
            outputs[i].data = made->back().numel() ? made->back().mutable_data_ptr() : nullptr;
        }
        std::copy_n(call.outputs, call.output_count, outputs + fresh_count);
        call.outputs = outputs;
        call.output_count = count;
    }

    void give_results(Call &call, c10::SmallVectorImpl<at::Tensor> &made, torch::jit::Stack *stack, size_t begin)
    {
        if (!fresh) { // the written tensors are returned
            c10::SmallVector<c10::IValue, 4> returned;
            for (size_t i = 0; i < results; i++)
                returned.push_back((*stack)[begin + (form == Form::Out ? inputs + i : 0)]);
            stack->resize(begin);
            for (c10::IValue &value : returned)
                stack->push_back(std::move(value));
            return;
        }
        stack->resize(begin);
        size_t next = 0;
        for (size_t i = 0; i < results; i++) {
            if (!result_is_list[i]) {
                stack->emplace_back(std::move(made[next++]));
                continue;
            }
            c10::List<at::Tensor> list;
            for (size_t end = made.size() - (results - 1 - i); next < end; next++)
                list.push_back(std::move(made[next]));
            stack->emplace_back(std::move(list));
        }
        (void)call;
    }
};

// Operators that copy between devices are not table rows: torch composes those with a device argument from an empty
// tensor and a copy, and copies are in factory.cpp.
bool moves(const c10::FunctionSchema &schema)
{
    bool tensor = false, device = false;
    for (const c10::Argument &argument : schema.arguments()) {
        tensor |= kind_of(argument) == Kind::Tensor;
        device |= argument.name() == "device";
    }
    return (tensor && device) || schema.name() == "aten::copy" || schema.name() == "aten::copy_" ||
           schema.name() == "aten::clone";
}

// Whether a row is of this namespace, which only names outside of aten have.
bool is_of(const std::string &name, const std::string &space)
{
    size_t end = name.find("::");
    return end == std::string::npos ? space == "aten" : name.substr(0, end) == space;
}

// An operator of a library that may be loaded later: its schema is known when it is called.
class Late final : public c10::OperatorKernel
{
  public:
    explicit Late(const aten_op *table_row) : row(table_row)
    {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
    {
        std::call_once(once, [&] { made = std::make_unique<Operator>(row, Form::Functional, op.schema()); });
        (*made)(op, keys, stack);
    }

  private:
    const aten_op *row;
    std::once_flag once;
    std::unique_ptr<Operator> made;
};

void add(torch::Library &m, const aten_op *row, Form form, const std::string &name, const std::string &overload)
{
    auto op = c10::Dispatcher::singleton().findSchema({ is_of(name, "aten") ? "aten::" + name : name, overload });
    // A missing operator belongs to another version of torch. Composites of torch are differentiated through their
    // parts.
    if (!op || moves(op->schema()) || op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
        return;
    std::string full = overload.empty() ? name : name + "." + overload;
    auto boxed = std::make_unique<Operator>(row, form, op->schema());
    std::optional<torch::CppFunction> direct;
    if (boxed->is_plain())
        direct = direct_kernel(row, form, *op,
                               [own = std::make_shared<Operator>(*boxed)](auto &&...args) { (*own)(args...); });
    m.impl(full.c_str(), direct ? std::move(*direct) : torch::CppFunction::makeFromBoxedFunctor(std::move(boxed)));
}

// That of the row, but floor_divide has floor_divide_.Tensor.
std::string in_place_overload(const aten_op &row)
{
    std::string name = std::string("aten::") + row.name + "_", overload = row.overload;
    bool known = c10::Dispatcher::singleton().findSchema({ name, overload }).has_value();
    return known || !overload.empty() ? overload : "Tensor";
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    for (uint32_t i = 0; const aten_op *row = aten_op_at(i); i++) {
        std::string name = row->name;
        if (!is_of(name, "aten"))
            continue;
        if (!row->no_functional)
            add(m, row, Form::Functional, name, row->overload);
        if (row->in_place)
            add(m, row, Form::InPlace, name + "_", in_place_overload(*row));
        if (row->out_overload)
            add(m, row, Form::Out, name, row->out_overload);
    }
}

TORCH_LIBRARY_FRAGMENT(torch_directml, m)
{
    m.def("attention(Tensor query, Tensor key, Tensor value, Tensor? bias, bool causal, float scale, "
          "Tensor? keep=None, float dropout=0.) -> Tensor");
    m.def("attention_backward(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor? bias, bool causal, "
          "float scale, Tensor? keep=None, float dropout=0.) -> (Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(torch_directml, PrivateUse1, m)
{
    for (uint32_t i = 0; const aten_op *row = aten_op_at(i); i++)
        if (is_of(row->name, "torch_directml"))
            add(m, row, Form::Functional, row->name, row->overload);
}

TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, m)
{
    for (uint32_t i = 0; const aten_op *row = aten_op_at(i); i++)
        if (is_of(row->name, "torchvision"))
            m.impl(row->name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Late>(row)));
}

} // namespace
} // namespace dml
