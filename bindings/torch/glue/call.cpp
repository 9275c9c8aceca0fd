// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <ATen/ops/_local_scalar_dense.h>

namespace dml
{
namespace
{

Kind kind_of_list(const c10::TypePtr &element)
{
    switch (element->kind()) {
    case c10::TypeKind::TensorType:
        return Kind::Tensors;
    case c10::TypeKind::OptionalType:
        return Kind::Tensors;
    case c10::TypeKind::FloatType:
        return Kind::Reals;
    case c10::TypeKind::NumberType:
        return Kind::Numbers;
    case c10::TypeKind::BoolType:
        return Kind::Bools;
    default:
        return Kind::Integers;
    }
}

void convert_scalar(Call &call, const at::Scalar &value, aten_arg *arg)
{
    if (convert_number(value, arg))
        return;
    auto *parts = call.arena.take<double>(2);
    parts[0] = value.toComplexDouble().real();
    parts[1] = value.toComplexDouble().imag();
    arg->kind = ATEN_REALS;
    arg->count = 2;
    arg->reals = parts;
}

bool convert_list(Call &call, Kind kind, const c10::IValue &value, aten_arg *arg)
{
    auto list = value.toListRef();
    size_t count = list.size();
    arg->count = static_cast<uint32_t>(count);
    if (kind == Kind::Tensors) {
        auto *tensors = call.arena.take<aten_tensor>(count);
        arg->kind = ATEN_TENSORS;
        arg->tensors = tensors;
        for (size_t i = 0; i < count; i++)
            if (!convert_tensor(call, list[i].isTensor() ? list[i].toTensor() : at::Tensor(), &tensors[i]))
                return false;
    } else if (kind == Kind::Numbers) {
        auto *numbers = call.arena.take<aten_arg>(count);
        arg->kind = ATEN_NUMBERS;
        arg->numbers = numbers;
        for (size_t i = 0; i < count; i++)
            if (!list[i].isScalar() || !convert_number(list[i].toScalar(), &numbers[i]))
                return false;
    } else if (kind == Kind::Reals) {
        auto *reals = call.arena.take<double>(count);
        arg->kind = ATEN_REALS;
        arg->reals = reals;
        for (size_t i = 0; i < count; i++)
            reals[i] = list[i].toScalar().toDouble();
    } else {
        auto *integers = call.arena.take<int64_t>(count);
        arg->kind = kind == Kind::Bools ? ATEN_BOOLS : ATEN_INTS;
        arg->integers = integers;
        for (size_t i = 0; i < count; i++)
            integers[i] = list[i].isBool()  ? list[i].toBool()
                          : list[i].isInt() ? list[i].toInt()
                                            : list[i].toSymInt().guard_int(__FILE__, __LINE__);
    }
    return true;
}

} // namespace

Kind kind_of(const c10::Argument &argument)
{
    c10::TypePtr type = argument.type();
    if (auto optional = type->cast<c10::OptionalType>())
        type = optional->getElementType();
    if (argument.name() == "pin_memory")
        return Kind::Ignored;
    switch (type->kind()) {
    case c10::TypeKind::TensorType:
        return Kind::Tensor;
    case c10::TypeKind::ListType:
        return kind_of_list(type->expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::FloatType:
    case c10::TypeKind::NumberType:
        return Kind::Scalar;
    case c10::TypeKind::BoolType:
        return Kind::Bool;
    case c10::TypeKind::StringType:
        return Kind::String;
    case c10::TypeKind::GeneratorType:
        return Kind::Generator;
    case c10::TypeKind::DeviceObjType:
        return Kind::Ignored;
    default:
        return Kind::Integer;
    }
}

bool convert_number(const at::Scalar &value, aten_arg *arg)
{
    arg->count = 0;
    if (value.isFloatingPoint()) {
        arg->kind = ATEN_REAL;
        arg->real = value.toDouble();
    } else if (value.isBoolean()) {
        arg->kind = ATEN_BOOL;
        arg->integer = value.to<bool>();
    } else if (value.isIntegral(false)) {
        arg->kind = ATEN_INT;
        arg->integer = value.toLong();
    } else {
        return false;
    }
    return true;
}

uint32_t count_of_number(const at::Tensor &tensor)
{
    return tensor.unsafeGetTensorImpl()->is_wrapped_number() ? 0 : 1 + static_cast<uint32_t>(tensor.scalar_type());
}

bool convert_tensor(Call &call, const at::Tensor &tensor, aten_tensor *out)
{
    if (!tensor.defined()) {
        out->type = ATEN_ABSENT;
        return true;
    }
    if (tensor.is_cpu()) { // indices and numbers in lists may be CPU tensors
        call.kept.push_back(tensor.to(c10::Device(kDml, call.index)));
        return describe(call.kept.back(), out);
    }
    // torch leaves conjugation to some kernels (matrix multiplication).
    if (C10_UNLIKELY(tensor.is_conj() || tensor.is_neg())) {
        call.kept.push_back(tensor.resolve_conj().resolve_neg());
        return describe(call.kept.back(), out);
    }
    return describe(tensor, out);
}

void add_generator(Call &call, const c10::IValue *value)
{
    call.generator = value && value->isGenerator() ? value->toGenerator() : default_generator(call.index);
    aten_arg arg = {};
    arg.kind = ATEN_GENERATOR;
    arg.count = 2;
    arg.integers = call.random;
    call.args.push_back(arg);
}

bool convert(Call &call, Kind kind, const c10::IValue &value)
{
    if (kind == Kind::Generator) {
        add_generator(call, &value);
        return true;
    }
    call.args.emplace_back();
    aten_arg *arg = &call.args.back();
    arg->kind = ATEN_NONE;
    arg->count = 0;
    if (value.isNone() || kind == Kind::Ignored)
        return true;
    if (value.isTensor()) {
        const at::Tensor &tensor = value.toTensor();
        if (!tensor.defined())
            return true;
        uint32_t type = count_of_number(tensor);
        if (tensor.is_cpu() && !tensor.dim() && (!type || !tensor.is_complex())) {
            convert_scalar(call, at::_local_scalar_dense(tensor), arg);
            arg->count = type ? type : arg->count;
            return true;
        }
        auto *out = call.arena.take<aten_tensor>(1);
        arg->kind = ATEN_TENSOR;
        arg->count = 1;
        arg->tensors = out;
        return convert_tensor(call, tensor, out);
    }
    if (value.isList())
        return convert_list(call, kind, value, arg);
    if (value.isString()) {
        arg->kind = ATEN_STRING;
        arg->string = value.toStringRef().c_str();
        return true;
    }
    if (value.isBool()) {
        arg->kind = ATEN_BOOL;
        arg->integer = value.toBool();
        return true;
    }
    if (value.isSymInt()) {
        arg->kind = ATEN_INT;
        arg->integer = value.toSymInt().guard_int(__FILE__, __LINE__);
        return true;
    }
    if (!value.isScalar())
        return false;
    convert_scalar(call, value.toScalar(), arg);
    return true;
}

void append_tensors(c10::SmallVectorImpl<at::Tensor> &to, const c10::IValue &value)
{
    if (value.isTensor())
        to.push_back(value.toTensor());
    else if (value.isTensorList())
        for (const c10::IValue &element : value.toListRef())
            to.push_back(element.toTensor());
}

void check_indices(const aten_op *row, const aten_plan *plan, const aten_arg *args)
{
    char message[ATEN_MESSAGE_BYTES] = "";
    if (C10_LIKELY(aten_in_bounds(plan, args, message)))
        return;
    const std::string name = row->name;
    TORCH_CHECK(name != "gather" && name != "index_add" && name != "uniform" && name != "multinomial" &&
                    name != "binary_cross_entropy" && !name.starts_with("scatter") && !name.starts_with("max_unpool"),
                message);
    TORCH_CHECK_INDEX(false, message);
}

} // namespace dml
