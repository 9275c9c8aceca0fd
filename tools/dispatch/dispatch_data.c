/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: from JSON and files to the bytes of a buffer, and back. */
#include "tools/dispatch/dispatch.h"

#include "tools/files.h"
#include "tools/npy.h"
#include "tools/output.h"
#include "tools/text.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PRINT_MAX 1024 /* elements for people */

int32_t tools_dispatch_onnx_type(DML_TENSOR_DATA_TYPE type)
{
    for (int32_t onnx = ONNX_FLOAT; onnx <= ONNX_INT4; onnx++)
        if (onnx_type_bytes(onnx) && onnx != ONNX_BOOL && onnx_type_dml(onnx) == type)
            return onnx;
    return 0;
}

static uint64_t tools_dispatch_count(const DML_BUFFER_TENSOR_DESC *tensor)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        count *= tensor->Sizes[i];
    return count;
}

static uint64_t packed_bytes(const DML_BUFFER_TENSOR_DESC *tensor)
{
    return (tools_dispatch_count(tensor) * schema_data_type_bits(tensor->DataType) + 7) / 8;
}

/* ---- strides ---- */

static void copy_element(uint8_t *to, uint64_t to_index, const uint8_t *from, uint64_t from_index, uint32_t bits)
{
    if (bits == 4) {
        const uint32_t shift = to_index % 2 * 4, value = from[from_index / 2] >> (from_index % 2 * 4) & 15;
        to[to_index / 2] = (uint8_t)((to[to_index / 2] & ~(15u << shift)) | value << shift);
    } else {
        memcpy(to + to_index * (bits / 8), from + from_index * (bits / 8), bits / 8);
    }
}

/* Converts between packed elements and their positions in the buffer. */
static void copy_elements(const DML_BUFFER_TENSOR_DESC *tensor, void *packed, void *buffer, bool to_packed)
{
    const uint32_t bits = schema_data_type_bits(tensor->DataType);
    const uint64_t count = tools_dispatch_count(tensor);
    uint32_t index[SCHEMA_MAX_RANK] = { 0 };
    uint64_t place = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (to_packed)
            copy_element(packed, i, buffer, place, bits);
        else
            copy_element(buffer, place, packed, i, bits);
        for (uint32_t d = tensor->DimensionCount; d-- > 0;) {
            place += tensor->Strides[d];
            if (++index[d] < tensor->Sizes[d])
                break;
            place -= (uint64_t)tensor->Strides[d] * tensor->Sizes[d];
            index[d] = 0;
        }
    }
}

const void *tools_dispatch_packed(const DML_BUFFER_TENSOR_DESC *tensor, const void *data, void **out_copy,
                                  struct tools_error *error)
{
    *out_copy = NULL;
    if (!tensor->Strides)
        return data;
    *out_copy = calloc(1, packed_bytes(tensor));
    if (*out_copy)
        copy_elements(tensor, *out_copy, (void *)(uintptr_t)data, true);
    else
        tools_fail_memory(error);
    return *out_copy;
}

/* ---- numbers in the file ---- */

static bool store_all(struct dispatch_reader *r, const json_t *value, const DML_BUFFER_TENSOR_DESC *tensor,
                      uint8_t *packed, uint64_t *at)
{
    const uint64_t count = tools_dispatch_count(tensor);
    if (!json_is_array(value)) {
        if (*at < count && !tools_dispatch_store(r, value, tensor->DataType, packed, *at))
            return false;
        ++*at;
        return true;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const size_t length = tools_dispatch_enter(r, "[%zu]", i);
        if (!store_all(r, json_array_get(value, i), tensor, packed, at))
            return false;
        tools_dispatch_leave(r, length);
    }
    return true;
}

static bool fill_numbers(struct dispatch_reader *r, const json_t *value, const DML_BUFFER_TENSOR_DESC *tensor,
                         void *packed)
{
    const uint64_t count = tools_dispatch_count(tensor);
    uint64_t at = 0;
    if (!store_all(r, value, tensor, packed, &at))
        return false;
    for (uint64_t i = 1; !json_is_array(value) && i < count; i++)
        copy_element(packed, i, packed, 0, schema_data_type_bits(tensor->DataType));
    if (json_is_array(value) && at != count)
        return tools_dispatch_fail(r, " has %llu elements, must have %llu", (unsigned long long)at,
                                   (unsigned long long)count);
    return true;
}

/* ---- files ---- */

/* In the JSON file's folder or below it, wherever links lead; a regular file. */
static FILE *open_data(struct dispatch_reader *r, const char *name, uint64_t *out_size)
{
    char path[64];
    FILE *file = base_open_beside(r->file, name, out_size);
    if (!file && errno == EXDEV)
        tools_dispatch_fail(r, ": %.300s is not in the folder of the JSON file", name);
    else if (!file)
        tools_dispatch_fail(r, ": cannot read %.300s: %s", name,
                            errno != EINVAL  ? strerror(errno)
                            : name[0] == '/' ? "the name must be relative to the JSON file's folder"
                            : name[0]        ? "it is not a regular file"
                                             : "the name is empty");
    if (file) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
        tools_files_read(path);
    }
    return file;
}

/* Whether the shapes are the same except for sizes of 1, or the array is one line. */
static bool same_shape(const struct tools_array *array, const DML_BUFFER_TENSOR_DESC *tensor)
{
    uint32_t d = 0;
    if (tools_array_count(array) != tools_dispatch_count(tensor))
        return false;
    for (uint32_t i = 0; array->rank > 1 && i < array->rank; i++) {
        if (array->dims[i] == 1)
            continue;
        while (d < tensor->DimensionCount && tensor->Sizes[d] == 1)
            d++;
        if (d == tensor->DimensionCount || tensor->Sizes[d++] != array->dims[i])
            return false;
    }
    return true;
}

static bool fill_npy(struct dispatch_reader *r, FILE *file, const char *name, const DML_BUFFER_TENSOR_DESC *tensor,
                     void *packed)
{
    const int32_t type = tools_dispatch_onnx_type(tensor->DataType);
    struct tools_array array;
    char given[160], wanted[160];
    int64_t dims[SCHEMA_MAX_RANK];
    if (tensor->DataType == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 || schema_data_type_bits(tensor->DataType) < 8)
        return tools_dispatch_fail(r, ": .npy files have no %s: give numbers, or raw bytes under another name",
                                   schema_data_type_name(tensor->DataType));
    if (!tools_npy_read_open(file, name, &array, r->error))
        return false;
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        dims[i] = tensor->Sizes[i];
    bool ok = same_shape(&array, tensor) ||
              tools_dispatch_fail(r, ": the file has %s, must have %s",
                                  tools_shape_text(given, sizeof(given), array.type, array.rank, array.dims, NULL),
                                  tools_shape_text(wanted, sizeof(wanted), type, tensor->DimensionCount, dims, NULL));
    ok = ok && tools_array_convert(&array, type, name, r->error);
    if (ok)
        memcpy(packed, array.data, array.bytes);
    tools_array_finish(&array);
    return ok;
}

/* The bytes of the buffer in its strides; those that round its size up may be missing. */
static bool fill_raw(struct dispatch_reader *r, FILE *file, const char *name, uint64_t size,
                     const DML_BUFFER_TENSOR_DESC *tensor, void *data)
{
    const uint64_t total = tensor->TotalTensorSizeInBytes;
    if (size > total || base_align_up(size, 4) != base_align_up(total, 4))
        return tools_dispatch_fail(r, ": %.300s has %llu bytes, must have %llu (TotalTensorSizeInBytes)", name,
                                   (unsigned long long)size, (unsigned long long)total);
    return fread(data, 1, size, file) == size || tools_dispatch_fail(r, ": cannot read %.300s", name);
}

static bool fill_elements(struct dispatch_reader *r, const json_t *value, FILE *file, const char *name,
                          const DML_BUFFER_TENSOR_DESC *tensor, void *data)
{
    /* Not the size of the buffer: with strides of 0 few bytes have any number of elements. */
    const uint64_t bytes = tensor->Strides ? packed_bytes(tensor) : 0;
    if (!tools_dispatch_take(r, bytes))
        return false;
    r->memory += bytes;
    void *packed = tensor->Strides ? calloc(1, bytes) : data;
    if (!packed)
        return tools_fail_memory(r->error);
    const bool ok = file ? fill_npy(r, file, name, tensor, packed) : fill_numbers(r, value, tensor, packed);
    if (ok && tensor->Strides)
        copy_elements(tensor, packed, data, false);
    if (tensor->Strides)
        free(packed);
    return ok;
}

bool tools_dispatch_fill(struct dispatch_reader *r, const json_t *value, const DML_BUFFER_TENSOR_DESC *tensor,
                         void *data)
{
    static const char *const keys[] = { "file", NULL };
    const char *name = NULL;
    uint64_t size;
    if (!value || json_is_null(value))
        return tools_dispatch_refuse(r, NULL, "numbers, or {\"file\": NAME}");
    if (!json_is_object(value))
        return fill_elements(r, value, NULL, NULL, tensor, data);
    if (!tools_dispatch_object(r, value, keys))
        return false;
    tools_dispatch_enter(r, ".file");
    if (!tools_dispatch_string(r, json_object_get(value, "file"), &name))
        return false;
    FILE *file = open_data(r, name, &size);
    if (file)
        r->memory += BASE_MIN(size, tensor->TotalTensorSizeInBytes); /* the user has that much data */
    const bool ok = file && (tools_ends_with(name, ".npy") ? fill_elements(r, value, file, name, tensor, data)
                                                           : fill_raw(r, file, name, size, tensor, data));
    if (file)
        fclose(file);
    return ok;
}

bool tools_dispatch_save(const char *path, const DML_BUFFER_TENSOR_DESC *tensor, const void *data,
                         struct tools_error *error)
{
    struct tools_output output;
    if (!tools_ends_with(path, ".npy")) {
        if (!tools_output_open(&output, path, error))
            return false;
        fwrite(data, 1, tensor->TotalTensorSizeInBytes, output.file);
        return tools_output_close(&output, true, error);
    }
    struct tools_array array = { tools_dispatch_onnx_type(tensor->DataType), tensor->DimensionCount,
                                 .bytes = packed_bytes(tensor) };
    for (uint32_t i = 0; i < array.rank; i++)
        array.dims[i] = tensor->Sizes[i];
    void *copy;
    array.data = (void *)(uintptr_t)tools_dispatch_packed(tensor, data, &copy, error);
    const bool ok = array.data && tools_npy_write(path, &array, error);
    free(copy);
    return ok;
}

/* ---- printing ---- */

void tools_dispatch_print(const char *name, const DML_BUFFER_TENSOR_DESC *tensor, const void *packed)
{
    const uint64_t count = tools_dispatch_count(tensor);
    const uint32_t line = tensor->Sizes[tensor->DimensionCount - 1];
    char text[48];
    bool quoted;
    printf("output  %s  %s[", name, schema_data_type_name(tensor->DataType));
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        printf("%s%u", i ? "," : "", tensor->Sizes[i]);
    printf("]\n");
    for (uint64_t i = 0; i < BASE_MIN(count, PRINT_MAX); i++)
        printf("%s%s%s", i % line ? " " : "        ", tools_dispatch_text(text, tensor->DataType, packed, i, &quoted),
               i % line + 1 == line || i + 1 == BASE_MIN(count, PRINT_MAX) ? "\n" : "");
    if (count > PRINT_MAX)
        printf("        ... %llu more (--output %s=FILE has all)\n", (unsigned long long)(count - PRINT_MAX), name);
}

void tools_dispatch_print_json(const char *name, const DML_BUFFER_TENSOR_DESC *tensor, const void *packed)
{
    const uint64_t count = tools_dispatch_count(tensor);
    char text[48];
    bool quoted;
    tools_json_string(stdout, name);
    printf(": {\"DataType\": \"%s\", \"Sizes\": [", schema_data_type_name(tensor->DataType));
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        printf("%s%u", i ? ", " : "", tensor->Sizes[i]);
    printf("], \"values\": [");
    for (uint64_t i = 0; i < count; i++) {
        tools_dispatch_text(text, tensor->DataType, packed, i, &quoted);
        printf("%s%s%s%s", i ? ", " : "", quoted ? "\"" : "", text, quoted ? "\"" : "");
    }
    printf("]}");
}
