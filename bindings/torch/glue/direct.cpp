// SPDX-License-Identifier: Apache-2.0
#include "direct.h"
#include "profiler.h"

#include <ATen/ops/_local_scalar_dense.h>

namespace dml
{
namespace
{

// ---- argument types and the letters that encode them ----

using T = const at::Tensor &; // read
using W = at::Tensor &;       // written
using O = const std::optional<at::Tensor> &;
using S = const at::Scalar &;
using I = int64_t;
using B = bool;
using F = double;
using L = at::IntArrayRef;
using M = at::OptionalIntArrayRef;
using D = std::optional<at::ScalarType>;

template <typename Arg> constexpr char kLetter = '?';
template <> constexpr char kLetter<T> = 'T';
template <> constexpr char kLetter<W> = 'W';
template <> constexpr char kLetter<O> = 'O';
template <> constexpr char kLetter<S> = 'S';
template <> constexpr char kLetter<I> = 'I';
template <> constexpr char kLetter<B> = 'B';
template <> constexpr char kLetter<F> = 'F';
template <> constexpr char kLetter<L> = 'L';
template <> constexpr char kLetter<M> = 'M';
template <> constexpr char kLetter<D> = 'D';

char letter_of_optional(const c10::Type &element)
{
    switch (element.kind()) {
    case c10::TypeKind::TensorType:
        return 'O';
    case c10::TypeKind::ScalarTypeType:
        return 'D';
    case c10::TypeKind::ListType: {
        auto kind = element.expectRef<c10::ListType>().getElementType()->kind();
        return kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType ? 'M' : '?';
    }
    default:
        return '?';
    }
}

char letter_of(const c10::Argument &argument)
{
    const c10::TypePtr &type = argument.real_type();
    bool written = argument.alias_info() && argument.alias_info()->isWrite();
    switch (type->kind()) {
    case c10::TypeKind::TensorType:
        return written ? 'W' : 'T';
    case c10::TypeKind::NumberType:
        return 'S';
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
        return 'I';
    case c10::TypeKind::BoolType:
        return 'B';
    case c10::TypeKind::FloatType:
        return 'F';
    case c10::TypeKind::ListType: {
        auto kind = type->expectRef<c10::ListType>().getElementType()->kind();
        return kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType ? 'L' : '?';
    }
    case c10::TypeKind::OptionalType:
        return letter_of_optional(*type->expectRef<c10::OptionalType>().getElementType());
    default:
        return '?';
    }
}

// ---- a call ----

// Storage for as many arguments as the signature has, within the call. Unused members are left uninitialised.
template <size_t kCount> struct Arguments {
    aten_arg args[kCount];
    aten_tensor tensors[kCount], written;
    uint32_t count = 0;
    c10::DeviceIndex index = -1;

    bool add_tensor(const at::Tensor &tensor, aten_tensor *out)
    {
        if (!tensor.defined() || !tensor.is_privateuseone())
            return false;
        c10::DeviceIndex where = tensor.device().index();
        if (index < 0)
            index = where;
        return index == where && describe(tensor, out);
    }

    bool add(T tensor)
    {
        if (tensor.defined() && tensor.is_cpu() && !tensor.dim()) { // the scalar of x * 2 arrives as a tensor
            bool real = convert_number(at::_local_scalar_dense(tensor), &args[count]);
            args[count++].count = count_of_number(tensor);
            return real;
        }
        args[count].kind = ATEN_TENSOR;
        args[count].count = 1;
        args[count].tensors = &tensors[count];
        return add_tensor(tensor, &tensors[count++]);
    }
    bool add(O tensor)
    {
        return tensor && tensor->defined() ? add(*tensor) : none();
    }
    bool add(S number)
    {
        return convert_number(number, &args[count++]);
    }
    bool add(I integer)
    {
        args[count].kind = ATEN_INT;
        args[count].count = 0;
        args[count++].integer = integer;
        return true;
    }
    bool add(B flag)
    {
        add(static_cast<I>(flag));
        args[count - 1].kind = ATEN_BOOL;
        return true;
    }
    bool add(F real)
    {
        args[count].kind = ATEN_REAL;
        args[count].count = 0;
        args[count++].real = real;
        return true;
    }
    bool add(L list)
    {
        args[count].kind = ATEN_INTS;
        args[count].count = static_cast<uint32_t>(list.size());
        args[count++].integers = list.data();
        return true;
    }
    bool add(M list)
    {
        return list ? add(*list) : none();
    }
    bool add(D type)
    {
        return type ? add(static_cast<I>(*type)) : none();
    }

    bool none()
    {
        args[count].kind = ATEN_NONE;
        args[count++].count = 0;
        return true;
    }
};

// The written tensor of an in-place operator is the first argument, which is also read; that of an out overload is the
// last argument.
template <Form kForm, typename Result, typename... Args> class Direct
{
  public:
    Direct(const aten_op *table_row, const c10::OperatorHandle &operator_handle, Boxed boxed_kernel)
        : row(table_row), op(operator_handle), boxed(std::move(boxed_kernel))
    {
    }

    Result operator()(Args... args) const
    {
        Arguments<sizeof...(Args)> call;
        if (C10_LIKELY((add<Args>(&call, args) && ...) && call.index >= 0)) {
            constexpr bool fresh = kForm == Form::Functional;
            aten_plan *found =
                aten_find(device(call.index), row, call.args, call.count, fresh ? nullptr : &call.written, !fresh);
            std::unique_ptr<aten_plan, void (*)(aten_plan *)> plan(found, aten_release);
            if (C10_LIKELY(found && aten_plan_output_count(found) == 1))
                return run(&call, found, std::forward<Args>(args)...);
        }
        return box(std::forward<Args>(args)...);
    }

  private:
    const aten_op *row;
    c10::OperatorHandle op;
    Boxed boxed;

    template <typename Arg> static bool add(Arguments<sizeof...(Args)> *call, Arg arg)
    {
        if constexpr (std::is_same_v<Arg, W>) {
            if constexpr (kForm == Form::InPlace) {
                call->args[call->count].kind = ATEN_TENSOR;
                call->args[call->count].count = 1;
                call->args[call->count++].tensors = &call->written;
            }
            return call->add_tensor(arg, &call->written);
        } else {
            return call->add(arg);
        }
    }

    template <typename First, typename... Rest> static at::Tensor &written_of(First &first, Rest &...rest)
    {
        if constexpr (kForm == Form::InPlace || !sizeof...(Rest))
            return const_cast<at::Tensor &>(first);
        else
            return written_of(rest...);
    }

    Result run(Arguments<sizeof...(Args)> *call, aten_plan *plan, Args... args) const
    {
        check_indices(row, plan, call->args);
        if constexpr (kForm == Form::Functional) {
            at::Tensor made = empty_like_layout(*aten_plan_output(plan, 0), call->index);
            call->written.data = made.unsafeGetTensorImpl()->mutable_data();
            compute(call, plan);
            return made;
        } else {
            compute(call, plan);
            at::Tensor &out = written_of(args...);
            note_written(out);
            return out;
        }
    }

    void compute(Arguments<sizeof...(Args)> *call, aten_plan *plan) const
    {
        char message[kMessageBytes];
        Activity activity(row->name, call->index);
        if (C10_UNLIKELY(!aten_run(plan, call->args, call->count, &call->written, 1, message, sizeof(message))))
            TORCH_CHECK(false, op.operator_name(), ": ", static_cast<const char *>(message));
    }

    C10_NOINLINE Result box(Args... args) const
    {
        torch::jit::Stack stack;
        stack.reserve(sizeof...(Args));
        (stack.emplace_back(args), ...);
        boxed(op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
        if constexpr (kForm == Form::Functional)
            return std::move(stack.back()).toTensor();
        else
            return written_of(args...);
    }
};

// ---- signatures ----

template <Form kForm, typename Signature> struct Signed;

template <Form kForm, typename Result, typename... Args> struct Signed<kForm, Result(Args...)> {
    static constexpr char letters[] = { kLetter<Args>..., 0 };

    static bool make(const aten_op *row, const c10::OperatorHandle &op, const std::string &wanted, const Boxed &boxed,
                     std::optional<torch::CppFunction> *out)
    {
        if (wanted == letters)
            out->emplace(Direct<kForm, Result, Args...>(row, op, boxed));
        return wanted == letters;
    }
};

template <Form kForm, typename... Signatures>
std::optional<torch::CppFunction> choose(const aten_op *row, const c10::OperatorHandle &op, const Boxed &boxed)
{
    std::string wanted;
    for (const c10::Argument &argument : op.schema().arguments())
        wanted += letter_of(argument);
    std::optional<torch::CppFunction> kernel;
    (void)(Signed<kForm, Signatures>::make(row, op, wanted, boxed, &kernel) || ...);
    return kernel;
}

} // namespace

std::optional<torch::CppFunction> direct_kernel(const aten_op *row, Form form, const c10::OperatorHandle &op,
                                                Boxed boxed)
{
    const auto &returns = op.schema().returns();
    if (returns.size() != 1 || returns[0].type()->kind() != c10::TypeKind::TensorType)
        return std::nullopt;
    switch (form) {
    case Form::Functional:
        return choose<Form::Functional, at::Tensor(T), at::Tensor(T, T), at::Tensor(T, S), at::Tensor(S, T),
                      at::Tensor(T, T, S), at::Tensor(T, S, S), at::Tensor(T, T, T), at::Tensor(T, T, T, S),
                      at::Tensor(T, T, S, S), at::Tensor(T, T, T, S, S), at::Tensor(T, I), at::Tensor(T, L),
                      at::Tensor(T, I, T), at::Tensor(T, T, I), at::Tensor(T, I, B), at::Tensor(T, L, B),
                      at::Tensor(T, D), at::Tensor(T, I, D), at::Tensor(T, M, B), at::Tensor(T, M, B, D),
                      at::Tensor(T, T, I, B, B), at::Tensor(T, I, T, B), at::Tensor(T, O, O)>(row, op, boxed);
    case Form::InPlace:
        return choose<Form::InPlace, at::Tensor &(W), at::Tensor &(W, T), at::Tensor &(W, S), at::Tensor &(W, T, S),
                      at::Tensor &(W, S, S), at::Tensor &(W, T, T), at::Tensor &(W, T, T, S),
                      at::Tensor &(W, T, T, S, S)>(row, op, boxed);
    case Form::Out:
        return choose<Form::Out, at::Tensor &(T, W), at::Tensor &(T, T, W), at::Tensor &(T, S, W),
                      at::Tensor &(T, T, S, W), at::Tensor &(T, T, T, S, S, W)>(row, op, boxed);
    }
    return std::nullopt;
}

} // namespace dml
