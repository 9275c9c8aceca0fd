/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dispatch/dispatch.h"

#include "base/half.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- messages ---- */

bool tools_dispatch_fail(struct dispatch_reader *r, const char *format, ...)
{
    char text[sizeof(r->error->text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tools_fail(r->error, TOOLS_USAGE, "%s: %s%s", r->file, r->path, text);
}

bool tools_dispatch_refuse(struct dispatch_reader *r, const json_t *value, const char *rule)
{
    if (!value)
        return tools_dispatch_fail(r, " is missing, must be %s", rule);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const bool is_long = text && strlen(text) > 60;
    tools_dispatch_fail(r, " = %.60s%s, must be %s", text ? text : "?", is_long ? "..." : "", rule);
    free(text);
    return false;
}

size_t tools_dispatch_enter(struct dispatch_reader *r, const char *format, ...)
{
    const size_t length = strlen(r->path);
    va_list args;
    va_start(args, format);
    vsnprintf(r->path + length, sizeof(r->path) - length, format, args);
    va_end(args);
    return length;
}

void tools_dispatch_leave(struct dispatch_reader *r, size_t length)
{
    r->path[length] = 0;
}

bool tools_dispatch_take(struct dispatch_reader *r, uint64_t bytes)
{
    if (bytes > r->memory)
        return tools_fail(r->error, TOOLS_USAGE,
                          "%s: its tensors take more memory than is allowed, %llu bytes beyond what is left (%llu); "
                          "--memory allows more",
                          r->file, (unsigned long long)(bytes - r->memory), (unsigned long long)r->memory);
    r->memory -= bytes;
    return true;
}

void *tools_dispatch_alloc(struct dispatch_reader *r, uint64_t count, size_t size)
{
    uint64_t bytes;
    void *memory = base_mul_u64(count, size, &bytes) && bytes < SIZE_MAX / 2
                       ? base_arena_alloc(r->arena, (size_t)bytes + 1)
                       : NULL;
    if (!memory)
        tools_fail_memory(r->error);
    return memory;
}

/* ---- integers ---- */

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == DML_TENSOR_DATA_TYPE_FLOAT64 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

static bool is_signed(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_INT32 ||
           type == DML_TENSOR_DATA_TYPE_INT16 || type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_INT4;
}

/* A decimal or hexadecimal number of up to 64 bits. 128 bits hold every integer type regardless of the sign. */
static bool integer_of_text(const char *text, __int128 *out)
{
    const bool minus = *text == '-';
    char *end;
    text += minus;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, text[1] == 'x' ? 16 : 10);
    *out = minus ? -(__int128)value : (__int128)value;
    return !errno && !*end;
}

static bool integer_of(const json_t *value, __int128 *out)
{
    if (json_is_string(value))
        return integer_of_text(json_string_value(value), out);
    *out = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
    return json_is_integer(value) || json_is_boolean(value);
}

static bool store_integer(struct dispatch_reader *r, const json_t *value, DML_TENSOR_DATA_TYPE type, uint8_t *data,
                          uint64_t index)
{
    const uint32_t bits = schema_data_type_bits(type);
    const __int128 span = (__int128)1 << (is_signed(type) ? bits - 1 : bits);
    const __int128 low = is_signed(type) ? -span : 0, high = span - 1;
    char rule[96];
    __int128 number;
    if (!integer_of(value, &number) || number < low || number > high) {
        snprintf(rule, sizeof(rule), "an integer from %lld to %llu", (long long)low, (unsigned long long)high);
        return tools_dispatch_refuse(r, value, rule);
    }
    const uint64_t plain = (uint64_t)number; /* little-endian, like all targets */
    if (bits == 4) {
        const uint32_t shift = index % 2 * 4;
        data[index / 2] = (uint8_t)((data[index / 2] & ~(15u << shift)) | (plain & 15) << shift);
    } else {
        memcpy(data + index * (bits / 8), &plain, bits / 8);
    }
    return true;
}

static uint64_t load_integer(DML_TENSOR_DATA_TYPE type, const uint8_t *data, uint64_t index)
{
    const uint32_t bits = schema_data_type_bits(type);
    uint64_t plain = 0;
    if (bits == 4)
        plain = data[index / 2] >> (index % 2 * 4) & 15;
    else
        memcpy(&plain, data + index * (bits / 8), bits / 8);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return is_signed(type) ? (plain ^ sign) - sign : plain;
}

/* ---- floats ---- */

static bool float_of(const json_t *value, double *out)
{
    char *end;
    *out = json_is_number(value) ? json_number_value(value) : json_is_true(value);
    if (!json_is_string(value))
        return json_is_number(value) || json_is_boolean(value);
    const char *text = json_string_value(value);
    *out = strtod(text, &end);
    return end != text && !*end;
}

static void store_float(double value, DML_TENSOR_DATA_TYPE type, void *data, uint64_t index)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        ((float *)data)[index] = (float)value;
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
        ((double *)data)[index] = value;
    else
        ((uint16_t *)data)[index] =
            type == DML_TENSOR_DATA_TYPE_FLOAT16 ? base_double_to_half(value) : base_double_to_bfloat(value);
}

static double load_float(DML_TENSOR_DATA_TYPE type, const void *data, uint64_t index)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return (double)((const float *)data)[index];
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return ((const double *)data)[index];
    const uint16_t bits = ((const uint16_t *)data)[index];
    return (double)(type == DML_TENSOR_DATA_TYPE_FLOAT16 ? base_half_to_float(bits) : base_bfloat_to_float(bits));
}

/* ---- both ---- */

bool tools_dispatch_store(struct dispatch_reader *r, const json_t *value, DML_TENSOR_DATA_TYPE type, void *data,
                          uint64_t index)
{
    double number;
    if (!is_float(type))
        return store_integer(r, value, type, data, index);
    if (!float_of(value, &number))
        return tools_dispatch_refuse(r, value, "a number, \"nan\", \"inf\" or \"-inf\"");
    store_float(number, type, data, index);
    return true;
}

const char *tools_dispatch_text(char out[48], DML_TENSOR_DATA_TYPE type, const void *data, uint64_t index,
                                bool *out_quoted)
{
    *out_quoted = false;
    if (is_float(type)) {
        const double value = load_float(type, data, index);
        /* The minimum number of digits that distinguishes neighbours. */
        const uint32_t bits = schema_data_type_bits(type);
        snprintf(out, 48, "%.*g", bits == 64 ? 17 : bits == 32 ? 9 : 5, value);
        *out_quoted = !isfinite(value);
        if (isnan(value))
            snprintf(out, 48, "nan");
    } else if (is_signed(type)) {
        snprintf(out, 48, "%lld", (long long)load_integer(type, data, index));
    } else {
        const uint64_t value = load_integer(type, data, index);
        *out_quoted = value > INT64_MAX;
        snprintf(out, 48, "%llu", (unsigned long long)value);
    }
    return out;
}
