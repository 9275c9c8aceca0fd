/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: element-wise operators, and C++'s operator overloads for them. Inputs have equal sizes; broadcast
 * smaller ones with Reinterpret and strides of 0. */
#ifndef ANYDML_DMLX_MATH_H
#define ANYDML_DMLX_MATH_H

#include "dmlx_graph.h"

namespace dml
{

/* ---- one input ---- */

inline Expression Identity(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_IDENTITY, input,
                                                                detail::Pointer(scaleBias));
}
inline Expression Abs(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ABS_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ABS, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression ACos(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ACOS_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ACOS, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression ASin(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ASIN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ASIN, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression ATan(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ATAN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ATAN, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression Ceil(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_CEIL_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_CEIL, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression Cos(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_COS_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_COS, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Exp(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_EXP_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_EXP, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Floor(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_FLOOR, input,
                                                             detail::Pointer(scaleBias));
}
inline Expression Log(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_LOG_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOG, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Recip(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_RECIP_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_RECIP, input,
                                                             detail::Pointer(scaleBias));
}
inline Expression Sin(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_SIN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_SIN, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Sqrt(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_SQRT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_SQRT, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression Tan(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_TAN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_TAN, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Erf(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ERF_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ERF, input,
                                                           detail::Pointer(scaleBias));
}
inline Expression Sinh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_SINH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_SINH, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression Cosh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_COSH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_COSH, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression Tanh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_TANH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_TANH, input,
                                                            detail::Pointer(scaleBias));
}
inline Expression ASinh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ASINH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ASINH, input,
                                                             detail::Pointer(scaleBias));
}
inline Expression ACosh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ACOSH, input,
                                                             detail::Pointer(scaleBias));
}
inline Expression ATanh(Expression input, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_ATANH_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ATANH, input,
                                                             detail::Pointer(scaleBias));
}
inline Expression Clip(Expression input, float min, float max, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_CLIP_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_CLIP, input,
                                                            detail::Pointer(scaleBias), min, max);
}
inline Expression Threshold(Expression input, float min, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_THRESHOLD, input,
                                                                 detail::Pointer(scaleBias), min);
}
inline Expression Pow(Expression input, float exponent, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Map<DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW, input,
                                                                    detail::Pointer(scaleBias), exponent);
}
inline Expression LogicalNot(Expression input)
{
    return detail::Map<DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT, input);
}
inline Expression Sign(Expression input)
{
    return detail::Map<DML_ELEMENT_WISE_SIGN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_SIGN, input);
}
inline Expression Round(Expression input, DML_ROUNDING_MODE roundingMode = DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN)
{
    return detail::Map<DML_ELEMENT_WISE_ROUND_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ROUND, input, roundingMode);
}
inline Expression IsNaN(Expression input, DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Map<DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_IS_NAN, input, outputDataType);
}
inline Expression IsInfinity(Expression input, DML_IS_INFINITY_MODE infinityMode = DML_IS_INFINITY_MODE_EITHER,
                             DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Map<DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_IS_INFINITY, input,
                                                                   outputDataType, infinityMode);
}

/* ---- two and more inputs ---- */

inline Expression Add(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_ADD_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ADD, a, b);
}
inline Expression Divide(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_DIVIDE, a, b);
}
inline Expression LogicalAnd(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND, a, b);
}
inline Expression LogicalOr(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR, a, b);
}
inline Expression LogicalXor(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR, a, b);
}
inline Expression Max(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MAX_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MAX, a, b);
}
inline Expression Mean(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MEAN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MEAN, a, b);
}
inline Expression Min(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MIN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MIN, a, b);
}
inline Expression Multiply(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MULTIPLY, a, b);
}
inline Expression Subtract(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_SUBTRACT, a, b);
}
inline Expression BitShiftLeft(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT, a, b);
}
inline Expression BitShiftRight(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT, a, b);
}
inline Expression ModulusTruncate(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE, a,
                                                                        b);
}
inline Expression ModulusFloor(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR, a, b);
}
inline Expression Add(Expression a, Expression b, FusedActivation fusedActivation)
{
    detail::Operator op(a);
    DML_ELEMENT_WISE_ADD1_OPERATOR_DESC desc = { op.In(a), op.In(b), op.Out(a), op.Fused(fusedActivation) };
    return op.Make(DML_OPERATOR_ELEMENT_WISE_ADD1, desc);
}
inline Expression Pow(Expression input, Expression exponent, const Optional<DML_SCALE_BIAS> &scaleBias = NullOpt)
{
    return detail::Zip<DML_ELEMENT_WISE_POW_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_POW, input, exponent,
                                                           detail::Pointer(scaleBias));
}
inline Expression Equals(Expression a, Expression b, DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, a, b,
                                                                      outputDataType);
}
inline Expression GreaterThan(Expression a, Expression b,
                              DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC>(
        DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN, a, b, outputDataType);
}
inline Expression LessThan(Expression a, Expression b, DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, a,
                                                                         b, outputDataType);
}
/* condition ? a : b, with a condition of UINT8. */
inline Expression If(Expression condition, Expression a, Expression b)
{
    detail::Operator op(condition);
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = { op.In(condition), op.In(a), op.In(b), op.Out(a) };
    return op.Make(DML_OPERATOR_ELEMENT_WISE_IF, desc);
}
inline Expression QuantizeLinear(Expression input, Expression scale, Expression zeroPoint,
                                 DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    detail::Operator op(input);
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC desc = { op.In(input), op.In(scale), op.In(zeroPoint),
                                                            op.Out(outputDataType, detail::SizesOf(input)) };
    return op.Make(DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, desc);
}
/* The output has the type of the scale. */
inline Expression DequantizeLinear(Expression input, Expression scale, Expression zeroPoint)
{
    detail::Operator op(input);
    DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc = { op.In(input), op.In(scale), op.In(zeroPoint),
                                                              op.Out(detail::TypeOf(scale), detail::SizesOf(input)) };
    return op.Make(DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, desc);
}

#if DML_TARGET_VERSION >= 0x3000
inline Expression GreaterThanOrEqual(Expression a, Expression b,
                                     DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC>(
        DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL, a, b, outputDataType);
}
inline Expression LessThanOrEqual(Expression a, Expression b,
                                  DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Zip<DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC>(
        DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL, a, b, outputDataType);
}
inline Expression BitAnd(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_AND, a, b);
}
inline Expression BitOr(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_OR, a, b);
}
inline Expression BitXor(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_XOR, a, b);
}
inline Expression BitNot(Expression input)
{
    return detail::Map<DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_NOT, input);
}
inline Expression BitCount(Expression a, DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UINT8)
{
    return detail::Map<DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_BIT_COUNT, a,
                                                                 outputDataType);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
inline Expression ATanYX(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_ATAN_YX, a, b);
}
inline Expression DifferenceSquare(Expression a, Expression b)
{
    return detail::Zip<DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE, a,
                                                                         b);
}
inline Expression ClipGrad(Expression input, Expression inputGradient, float min, float max)
{
    return detail::Zip<DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD, input,
                                                                 inputGradient, min, max);
}
#endif

#if DML_TARGET_VERSION >= 0x5000
inline Expression Negate(Expression input)
{
    return detail::Map<DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC>(DML_OPERATOR_ELEMENT_WISE_NEGATE, input);
}
#else
inline Expression Negate(Expression input)
{
    return Identity(input, DML_SCALE_BIAS{ -1.0f, 0.0f });
}
#endif

/* ---- C++'s operator overloads ---- */

namespace detail
{

/* `value` in the type and with the sizes of a tensor, so that every operator accepts numbers and computes exactly as
 * with tensors: x / 3 is not x * (1 / 3). */
inline Expression Number(float value, const Expression &like)
{
    Operator op(like);
    DML_SCALAR_UNION scalar = {};
    scalar.Float32 = value;
    TensorDimensions one(SizesOf(like).size(), 1);
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc = { op.Out(DML_TENSOR_DATA_TYPE_FLOAT32, one),
                                                   DML_TENSOR_DATA_TYPE_FLOAT32, scalar };
    Expression number = op.Make(DML_OPERATOR_FILL_VALUE_CONSTANT, desc);
    if (TypeOf(like) != DML_TENSOR_DATA_TYPE_FLOAT32)
        number = Map<DML_CAST_OPERATOR_DESC>(DML_OPERATOR_CAST, number, TypeOf(like));
    return Reinterpret(number, SizesOf(like), TensorStrides(one.size(), 0));
}

} /* namespace detail */

inline Expression operator+(Expression a, Expression b)
{
    return Add(a, b);
}
inline Expression operator+(Expression a, float b)
{
    return Add(a, detail::Number(b, a));
}
inline Expression operator+(float a, Expression b)
{
    return Add(detail::Number(a, b), b);
}
inline Expression &operator+=(Expression &a, Expression b)
{
    return a = a + b;
}
inline Expression &operator+=(Expression &a, float b)
{
    return a = a + b;
}
inline Expression operator-(Expression a, Expression b)
{
    return Subtract(a, b);
}
inline Expression operator-(Expression a, float b)
{
    return Subtract(a, detail::Number(b, a));
}
inline Expression operator-(float a, Expression b)
{
    return Subtract(detail::Number(a, b), b);
}
inline Expression &operator-=(Expression &a, Expression b)
{
    return a = a - b;
}
inline Expression &operator-=(Expression &a, float b)
{
    return a = a - b;
}
inline Expression operator*(Expression a, Expression b)
{
    return Multiply(a, b);
}
inline Expression operator*(Expression a, float b)
{
    return Multiply(a, detail::Number(b, a));
}
inline Expression operator*(float a, Expression b)
{
    return Multiply(detail::Number(a, b), b);
}
inline Expression &operator*=(Expression &a, Expression b)
{
    return a = a * b;
}
inline Expression &operator*=(Expression &a, float b)
{
    return a = a * b;
}
inline Expression operator/(Expression a, Expression b)
{
    return Divide(a, b);
}
inline Expression operator/(Expression a, float b)
{
    return Divide(a, detail::Number(b, a));
}
inline Expression operator/(float a, Expression b)
{
    return Divide(detail::Number(a, b), b);
}
inline Expression &operator/=(Expression &a, Expression b)
{
    return a = a / b;
}
inline Expression &operator/=(Expression &a, float b)
{
    return a = a / b;
}
inline Expression operator%(Expression a, Expression b)
{
    return ModulusTruncate(a, b);
}
inline Expression operator%(Expression a, float b)
{
    return ModulusTruncate(a, detail::Number(b, a));
}
inline Expression operator%(float a, Expression b)
{
    return ModulusTruncate(detail::Number(a, b), b);
}
inline Expression &operator%=(Expression &a, Expression b)
{
    return a = a % b;
}
inline Expression &operator%=(Expression &a, float b)
{
    return a = a % b;
}
inline Expression operator-(Expression a)
{
    return Negate(a);
}
inline Expression operator!(Expression a)
{
    return LogicalNot(a);
}
inline Expression operator&&(Expression a, Expression b)
{
    return LogicalAnd(a, b);
}
inline Expression operator||(Expression a, Expression b)
{
    return LogicalOr(a, b);
}
inline Expression operator>(Expression a, Expression b)
{
    return GreaterThan(a, b);
}
inline Expression operator<(Expression a, Expression b)
{
    return LessThan(a, b);
}
inline Expression operator==(Expression a, Expression b)
{
    return Equals(a, b);
}
inline Expression operator!=(Expression a, Expression b)
{
    return LogicalNot(Equals(a, b));
}
#if DML_TARGET_VERSION >= 0x3000
inline Expression operator~(Expression a)
{
    return BitNot(a);
}
inline Expression operator&(Expression a, Expression b)
{
    return BitAnd(a, b);
}
inline Expression operator|(Expression a, Expression b)
{
    return BitOr(a, b);
}
inline Expression operator^(Expression a, Expression b)
{
    return BitXor(a, b);
}
inline Expression operator<<(Expression a, Expression b)
{
    return BitShiftLeft(a, b);
}
inline Expression operator>>(Expression a, Expression b)
{
    return BitShiftRight(a, b);
}
inline Expression operator>=(Expression a, Expression b)
{
    return GreaterThanOrEqual(a, b);
}
inline Expression operator<=(Expression a, Expression b)
{
    return LessThanOrEqual(a, b);
}
inline Expression &operator&=(Expression &a, Expression b)
{
    return a = a & b;
}
inline Expression &operator|=(Expression &a, Expression b)
{
    return a = a | b;
}
inline Expression &operator^=(Expression &a, Expression b)
{
    return a = a ^ b;
}
inline Expression &operator<<=(Expression &a, Expression b)
{
    return a = a << b;
}
inline Expression &operator>>=(Expression &a, Expression b)
{
    return a = a >> b;
}
#endif

} /* namespace dml */

#endif
