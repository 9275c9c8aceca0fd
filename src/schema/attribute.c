/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: enumerations, numbers and arrays against their columns in operators.def, and activations. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "schema/check.h"

/* How one element of an attribute is named in messages: "Strides[1]", "Axis". */
struct label {
    char text[48];
};

static struct label label_of(const struct schema_field *field, uint32_t i)
{
    struct label label;
    if (schema_field_is_array(field))
        snprintf(label.text, sizeof(label.text), "%.31s[%" PRIu32 "]", field->name, i);
    else
        snprintf(label.text, sizeof(label.text), "%.31s", field->name);
    return label;
}

static bool check_range(struct schema_check *check, const struct schema_field *field, uint32_t i, int64_t value,
                        int64_t low, int64_t high)
{
    if (value >= low && value <= high)
        return true;
    return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "%s = %" PRId64 ", must be %" PRId64 " to %" PRId64,
                       label_of(field, i).text, value, low, high);
}

static bool check_rank_count(struct schema_check *check, const struct schema_field *field, uint32_t value)
{
    const uint32_t less = field->limit == SCHEMA_LIMIT_SPATIAL ? 2 : 0;
    if ((uint64_t)value + less == check->rank)
        return true;
    return schema_fail(check, SCHEMA_ERROR_COUNT, "%s = %" PRIu32 ", must be the dimension count%s (%" PRIu32 ")",
                       field->name, value, less ? " less batch and channel" : "", check->rank - less);
}

static bool check_number(struct schema_check *check, const struct schema_field *field, uint32_t i, uint32_t bits)
{
    const int64_t value = field->type == SCHEMA_INT || field->type == SCHEMA_INT_ARRAY ? (int64_t)(int32_t)bits : bits;
    switch ((enum schema_limit)field->limit) {
    case SCHEMA_LIMIT_MIN1:
        return check_range(check, field, i, value, 1, UINT32_MAX);
    case SCHEMA_LIMIT_WINDOW:
        return check_range(check, field, i, value, 1, SCHEMA_MAX_EXTENT);
    case SCHEMA_LIMIT_EXTENT:
        return check_range(check, field, i, value, 0, SCHEMA_MAX_EXTENT);
    case SCHEMA_LIMIT_NONZERO:
        return value
                   ? true
                   : schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "%s = 0, must not be 0", label_of(field, i).text);
    case SCHEMA_LIMIT_AXIS:
    case SCHEMA_LIMIT_AXES:
        return value < check->rank ? true
                                   : schema_fail(check, SCHEMA_ERROR_AXIS,
                                                 "%s = %" PRId64 ", must be below the dimension count (%" PRIu32 ")",
                                                 label_of(field, i).text, value, check->rank);
    case SCHEMA_LIMIT_RANK:
    case SCHEMA_LIMIT_SPATIAL:
        return check_rank_count(check, field, bits);
    case SCHEMA_LIMIT_ANY:
    case SCHEMA_LIMIT_POSITIVE:
    case SCHEMA_LIMIT_FINITE:
        break;
    }
    return true;
}

static bool check_float(struct schema_check *check, const struct schema_field *field, uint32_t i, float value)
{
    if (field->limit == SCHEMA_LIMIT_POSITIVE && !(value > 0))
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "%s = %g, must be above 0", label_of(field, i).text,
                           (double)value);
    if (field->limit == SCHEMA_LIMIT_FINITE && !isfinite(value))
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "%s = %g, must be finite", label_of(field, i).text,
                           (double)value);
    return true;
}

static bool check_repeats(struct schema_check *check, const struct schema_field *field, const uint32_t *axes,
                          uint32_t count)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (seen >> axes[i] & 1)
            return schema_fail(check, SCHEMA_ERROR_AXIS, "%s = %" PRIu32 ", must not be repeated",
                               label_of(field, i).text, axes[i]);
        seen |= UINT32_C(1) << axes[i];
    }
    return true;
}

static bool check_array(struct schema_check *check, const struct schema_field *field)
{
    const uint32_t count = schema_array_length(field, check->desc);
    const uint32_t *values = schema_field_pointer(field, check->desc); /* or floats of the same width */
    if (count > SCHEMA_MAX_RANK)
        return schema_fail(check, SCHEMA_ERROR_COUNT, "%s: has %" PRIu32 " elements, must have at most %d", field->name,
                           count, SCHEMA_MAX_RANK);
    if (count && !values)
        return schema_fail(check, SCHEMA_ERROR_ARRAY_NULL, "%s: NULL, must have %" PRIu32 " elements", field->name,
                           count);
    for (uint32_t i = 0; i < count; i++) {
        if (field->type == SCHEMA_FLOAT_ARRAY) {
            if (!check_float(check, field, i, ((const float *)values)[i]))
                return false;
        } else if (!check_number(check, field, i, values[i])) {
            return false;
        }
    }
    return field->limit != SCHEMA_LIMIT_AXES || check_repeats(check, field, values, count);
}

static bool check_enum(struct schema_check *check, const struct schema_field *field)
{
    const struct schema_enum *type = field->values;
    const uint32_t value = schema_field_u32(field, check->desc);
    if (value >= type->count)
        return schema_fail(check, SCHEMA_ERROR_ENUM_VALUE, "%s = %" PRIu32 ", must be a %s, 0 to %" PRIu32, field->name,
                           value, type->name, type->count - 1);
    if (check->level < type->values[value].level)
        return schema_fail(check, SCHEMA_ERROR_FEATURE_LEVEL,
                           "%s = %s (%" PRIu32 "), must be of feature level %x.%x or below", field->name,
                           type->values[value].name, value, (unsigned)check->level >> 12,
                           (unsigned)check->level >> 8 & 15);
    return true;
}

static bool check_value_type(struct schema_check *check, const struct schema_field *field)
{
    const uint32_t value = schema_field_u32(field, check->desc);
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *output = &check->op->fields[i];
        if (output->kind != SCHEMA_OUTPUT)
            continue;
        const struct schema_tensor tensor = schema_tensor_of_field(output, check->desc, 0);
        if (value == (uint32_t)tensor.desc->DataType)
            return true;
        return schema_fail(check, SCHEMA_ERROR_VALUE_TYPE, "%s = %s (%" PRIu32 "), must equal that of %s (%s)",
                           field->name, schema_data_type_name((DML_TENSOR_DATA_TYPE)value), value, tensor.name,
                           schema_data_type_name(tensor.desc->DataType));
    }
    return true;
}

static bool check_size_2d(struct schema_check *check, const struct schema_field *field)
{
    DML_SIZE_2D size;
    memcpy(&size, (const char *)check->desc + field->offset, sizeof(size));
    if (size.Width && size.Height)
        return true;
    return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                       "%s = {%" PRIu32 ", %" PRIu32 "}, width and height must be at least 1", field->name, size.Width,
                       size.Height);
}

static bool check_activations(struct schema_check *check, const struct schema_field *field)
{
    const DML_OPERATOR_DESC *activations = schema_field_pointer(field, check->desc);
    const uint32_t count = schema_array_length(field, check->desc);
    if (field->type == SCHEMA_FUSED_ACTIVATION)
        return !activations || schema_check_activation(check, field, activations, 0);
    if (count < 1 || count > SCHEMA_MAX_ACTIVATIONS)
        return schema_fail(check, SCHEMA_ERROR_COUNT, "%s: has %" PRIu32 " elements, must have 1 to %d", field->name,
                           count, SCHEMA_MAX_ACTIVATIONS);
    if (!activations)
        return schema_fail(check, SCHEMA_ERROR_ARRAY_NULL, "%s: NULL, must have %" PRIu32 " elements", field->name,
                           count);
    for (uint32_t i = 0; i < count; i++)
        if (!schema_check_activation(check, field, &activations[i], i))
            return false;
    return true;
}

static bool check_attribute(struct schema_check *check, const struct schema_field *field)
{
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_UINT:
    case SCHEMA_INT:
        return check_number(check, field, 0, schema_field_u32(field, check->desc));
    case SCHEMA_FLOAT:
        return check_float(check, field, 0, base_bits_to_float(schema_field_u32(field, check->desc)));
    case SCHEMA_ENUM:
        return check_enum(check, field);
    case SCHEMA_VALUE_TYPE:
        return check_value_type(check, field);
    case SCHEMA_SIZE_2D:
        return check_size_2d(check, field);
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        return check_array(check, field);
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        return check_activations(check, field);
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY:
    case SCHEMA_BOOL:
    case SCHEMA_SCALAR:
    case SCHEMA_SCALE_BIAS:
        break;
    }
    return true;
}

bool schema_check_attributes(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++)
        if (check->op->fields[i].kind == SCHEMA_ATTRIBUTE && !check_attribute(check, &check->op->fields[i]))
            return false;
    return true;
}
