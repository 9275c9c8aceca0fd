/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/npy.h"

#include "base/half.h"

#include <stdlib.h>

static bool is_float(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_DOUBLE;
}

static double load_float(int32_t type, const void *data, uint64_t i)
{
    if (type == ONNX_FLOAT)
        return ((const float *)data)[i];
    if (type == ONNX_FLOAT16)
        return base_half_to_float(((const uint16_t *)data)[i]);
    return ((const double *)data)[i];
}

static void store_float(int32_t type, void *data, uint64_t i, double value)
{
    if (type == ONNX_FLOAT)
        ((float *)data)[i] = (float)value;
    else if (type == ONNX_FLOAT16)
        ((uint16_t *)data)[i] = base_double_to_half(value);
    else
        ((double *)data)[i] = value;
}

/* 128 bits hold every integer type regardless of the sign. */
static __int128 load_integer(int32_t type, const void *data, uint64_t i)
{
    switch (type) {
    case ONNX_INT8:
        return ((const int8_t *)data)[i];
    case ONNX_UINT16:
        return ((const uint16_t *)data)[i];
    case ONNX_INT16:
        return ((const int16_t *)data)[i];
    case ONNX_UINT32:
        return ((const uint32_t *)data)[i];
    case ONNX_INT32:
        return ((const int32_t *)data)[i];
    case ONNX_UINT64:
        return ((const uint64_t *)data)[i];
    case ONNX_INT64:
        return ((const int64_t *)data)[i];
    case ONNX_BOOL:
        return ((const uint8_t *)data)[i] != 0;
    default:
        return ((const uint8_t *)data)[i];
    }
}

/* Stores the low bytes; the value is unchanged exactly if loading it returns the same. */
static void store_integer(int32_t type, void *data, uint64_t i, __int128 value)
{
    uint64_t low = (uint64_t)value;
    switch (onnx_type_bytes(type)) {
    case 1:
        ((uint8_t *)data)[i] = type == ONNX_BOOL ? low != 0 : (uint8_t)low;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)low;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)low;
        break;
    default:
        ((uint64_t *)data)[i] = low;
        break;
    }
}

static bool convert_integers(const struct tools_array *from, struct tools_array *to, const char *name,
                             struct tools_error *error)
{
    uint64_t count = tools_array_count(from);
    for (uint64_t i = 0; i < count; i++) {
        __int128 value = load_integer(from->type, from->data, i);
        store_integer(to->type, to->data, i, value);
        if (load_integer(to->type, to->data, i) != value)
            return tools_fail(error, TOOLS_USAGE, "%s: the value %lld does not fit into %s", name, (long long)value,
                              onnx_type_name(to->type));
    }
    return true;
}

bool tools_array_convert(struct tools_array *array, int32_t type, const char *name, struct tools_error *error)
{
    if (array->type == type)
        return true;
    if (is_float(array->type) != is_float(type))
        return tools_fail(error, TOOLS_USAGE, "%s has %s, but %s is wanted; convert it with numpy.astype", name,
                          onnx_type_name(array->type), onnx_type_name(type));
    struct tools_array to;
    if (!tools_array_init(&to, type, array->rank, array->dims, error))
        return false;
    uint64_t count = tools_array_count(array);
    bool ok = true;
    if (is_float(type)) {
        for (uint64_t i = 0; i < count; i++)
            store_float(type, to.data, i, load_float(array->type, array->data, i));
    } else {
        ok = convert_integers(array, &to, name, error);
    }
    tools_array_finish(ok ? array : &to);
    if (ok)
        *array = to;
    return ok;
}
