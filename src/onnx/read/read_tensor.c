/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of an ONNX file: their data stay in the mapped file if their format there can be used directly. */
#include "onnx/read/read.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Smaller tensors are copied: shapes are derived from them, and must not change after validation even if the file is
 * modified. */
#define COPIED_BYTES_MAX 4096

/* Fields that have numbers of a tensor, one kind each. */
enum { FLOAT_DATA = 4, INT32_DATA = 5, INT64_DATA = 7, DOUBLE_DATA = 10, UINT64_DATA = 11 };

HRESULT onnx_read_fail(struct onnx_reader *r, const char *what, const char *name)
{
    struct onnx_error *error = r->error;
    snprintf(error->text, sizeof(error->text), "%s%s%.400s", what, name ? ": " : "", name ? name : "");
    return E_INVALIDARG;
}

HRESULT onnx_read_no_model(struct onnx_reader *r)
{
    return onnx_read_fail(r, "the file is not an ONNX model", NULL);
}

/* ---- files ---- */

const struct onnx_mapping *onnx_map(struct onnx_model *model, const char *path, const char *name)
{
    for (struct onnx_mapping *mapping = model->storage; mapping; mapping = mapping->next)
        if (!strcmp(mapping->name, name))
            return mapping;
    struct onnx_mapping *mapping = base_arena_alloc(&model->arena, sizeof(*mapping));
    if (!mapping || !(mapping->name = base_arena_strdup(&model->arena, name))) {
        errno = ENOMEM;
        return NULL;
    }
    mapping->address = name[0] ? base_map_beside(path, name, &mapping->size) : base_map_file(path, &mapping->size);
    if (!mapping->address)
        return NULL;
    mapping->next = model->storage;
    model->storage = mapping;
    return mapping;
}

const char *onnx_map_problem(int error)
{
    switch (error) {
    case EXDEV:
        return "it is not in the model's folder";
    case EISDIR:
        return "it is a folder";
    case ENODATA:
        return "it is empty";
    case EINVAL:
        return "it is not a regular file";
    default:
        return strerror(error);
    }
}

/* ---- fields ---- */

const char *onnx_read_text(struct onnx_reader *r, struct onnx_wire *wire, const struct onnx_field *field)
{
    struct onnx_wire bytes = onnx_field_message(wire, field);
    char *copy = bytes.bad ? NULL : base_arena_alloc(&r->model->arena, field->size + 1);
    if (copy && field->size)
        memcpy(copy, field->data, field->size); /* the arena zeroes: terminated */
    return copy;
}

void *onnx_read_numbers(struct onnx_reader *r, struct onnx_wire message, uint32_t number, enum onnx_wire_kind kind,
                        uint32_t width, size_t *out_count)
{
    struct onnx_wire wire = message;
    struct onnx_field f;
    size_t count = 0;
    while (onnx_wire_next(&wire, &f))
        count += f.number == number ? onnx_field_count(&wire, &f, kind) : 0;
    char *out = wire.bad ? NULL : base_arena_alloc(&r->model->arena, count * width), *at = out;
    while (out && onnx_wire_next(&message, &f)) {
        if (f.number != number)
            continue;
        onnx_field_numbers(&f, kind, width, at);
        at += onnx_field_count(&message, &f, kind) * width;
    }
    *out_count = count;
    return out;
}

/* ---- tensors ---- */

/* A tensor as it is encoded in the file. */
struct tensor {
    struct onnx_wire message;
    const char *location, *offset, *length;
    struct onnx_field raw; /* the last one; empty: none */
    bool external;
};

static bool read_external(struct onnx_reader *r, struct onnx_wire pair, struct tensor *t)
{
    const char *key = "", *value = "";
    struct onnx_field f;
    while (onnx_wire_next(&pair, &f)) {
        if (f.number == 1)
            key = onnx_read_text(r, &pair, &f);
        else if (f.number == 2)
            value = onnx_read_text(r, &pair, &f);
        if (!key || !value)
            return false;
    }
    if (!strcmp(key, "location"))
        t->location = value;
    else if (!strcmp(key, "offset"))
        t->offset = value;
    else if (!strcmp(key, "length"))
        t->length = value;
    return !pair.bad;
}

static bool read_dims(struct onnx_wire *wire, const struct onnx_field *f, struct onnx_tensor *out)
{
    int64_t dims[ONNX_RANK_MAX];
    size_t count = onnx_field_count(wire, f, ONNX_WIRE_VARINT);
    if (!wire->bad && count && count <= ONNX_RANK_MAX - BASE_MIN(out->rank, (uint32_t)ONNX_RANK_MAX)) {
        onnx_field_numbers(f, ONNX_WIRE_VARINT, sizeof(*dims), dims);
        memcpy(out->dims + out->rank, dims, count * sizeof(*dims));
    }
    out->rank += (uint32_t)BASE_MIN(count, (size_t)ONNX_RANK_MAX + 1);
    return !wire->bad;
}

/* Of the message's fields, all but numbers. */
static bool read_tensor_fields(struct onnx_reader *r, struct tensor *t, struct onnx_tensor *out)
{
    struct onnx_wire wire = t->message;
    struct onnx_field f;
    while (onnx_wire_next(&wire, &f)) {
        switch (f.number) {
        case 1:
            if (!read_dims(&wire, &f, out))
                return false;
            break;
        case 2:
            out->type = (int32_t)onnx_field_int(&wire, &f);
            break;
        case 8:
            if (!(out->name = onnx_read_text(r, &wire, &f)))
                return false;
            break;
        case 9:
            wire.bad |= f.kind != ONNX_WIRE_BYTES;
            t->raw = f;
            break;
        case 13:
            if (!read_external(r, onnx_field_message(&wire, &f), t))
                return false;
            break;
        case 14:
            t->external = onnx_field_int(&wire, &f) == 1;
            break;
        default:
            break;
        }
    }
    return !wire.bad;
}

/* A decimal number that is not negative. */
static bool parse_offset(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    bool ok = text[0] != 0;
    for (; ok && *text; text++)
        ok = *text >= '0' && *text <= '9' && base_mul_u64(value, 10, &value) &&
             base_add_u64(value, (uint64_t)(*text - '0'), &value);
    *out = value;
    return ok;
}

/* The file must be in the model's folder or below. */
static HRESULT external_data(struct onnx_reader *r, const struct tensor *t, struct onnx_tensor *out)
{
    uint64_t start = 0, length = out->bytes;
    if (!t->location || !t->location[0] || t->location[0] == '/' || !r->path)
        return onnx_read_fail(r, "tensor has external data that cannot be located", out->name);
    if ((t->offset && !parse_offset(t->offset, &start)) || (t->length && !parse_offset(t->length, &length)))
        return onnx_read_fail(r, "tensor's external data has a bad offset or length", out->name);
    if (length != out->bytes)
        return onnx_read_fail(r, "length of the external data does not match the dimensions of tensor", out->name);
    const struct onnx_mapping *mapping = onnx_map(r->model, r->path, t->location);
    if (!mapping) {
        snprintf(r->error->text, sizeof(r->error->text),
                 "cannot read the external data file '%.200s' of tensor '%.100s': %s", t->location, out->name,
                 onnx_map_problem(errno));
        return E_INVALIDARG;
    }
    if (start > mapping->size || out->bytes > mapping->size - start)
        return onnx_read_fail(r, "external data file is too short for tensor", out->name);
    out->data = (const char *)mapping->address + start;
    out->mapped = true;
    return S_OK;
}

/* The field that has values of the type in non-raw encoding: narrow ones one per number, 4-bit ones two. */
static uint32_t number_of(int32_t type)
{
    switch (type) {
    case ONNX_FLOAT:
        return FLOAT_DATA;
    case ONNX_DOUBLE:
        return DOUBLE_DATA;
    case ONNX_INT64:
        return INT64_DATA;
    case ONNX_UINT32:
    case ONNX_UINT64:
        return UINT64_DATA;
    default:
        return INT32_DATA;
    }
}

static enum onnx_wire_kind kind_of(uint32_t number)
{
    return number == FLOAT_DATA ? ONNX_WIRE_FIXED32 : number == DOUBLE_DATA ? ONNX_WIRE_FIXED64 : ONNX_WIRE_VARINT;
}

/* The only field `number` of the message. */
static bool only_field(struct onnx_wire message, uint32_t number, struct onnx_field *out)
{
    uint32_t count = 0;
    struct onnx_field f;
    while (onnx_wire_next(&message, &f)) {
        if (f.number == number && count++ == 0)
            *out = f;
    }
    return count == 1;
}

/* Numbers of full width in one field are used in place. */
static HRESULT typed_data(struct onnx_reader *r, const struct tensor *t, struct onnx_tensor *out)
{
    uint32_t width = onnx_type_bytes(out->type), number = number_of(out->type);
    enum onnx_wire_kind kind = kind_of(number);
    struct onnx_field f = { 0 };
    size_t count;
    if (kind != ONNX_WIRE_VARINT && only_field(t->message, number, &f) && f.kind == ONNX_WIRE_BYTES) {
        count = f.size % width ? SIZE_MAX : f.size / width;
        out->data = f.data;
        out->mapped = r->mapped;
    } else if (!(out->data = onnx_read_numbers(r, t->message, number, kind, width, &count))) {
        return onnx_read_no_model(r);
    }
    if (!count)
        return onnx_read_fail(r, "tensor has no data", out->name);
    return count == out->bytes / width
               ? S_OK
               : onnx_read_fail(r, "tensor's element count does not match its dimensions", out->name);
}

static HRESULT find_data(struct onnx_reader *r, const struct tensor *t, struct onnx_tensor *out)
{
    if (t->external)
        return external_data(r, t, out);
    if (!t->raw.size)
        return typed_data(r, t, out);
    if (t->raw.size != out->bytes)
        return onnx_read_fail(r, "tensor's raw data does not match its dimensions", out->name);
    out->data = t->raw.data;
    out->mapped = r->mapped;
    return S_OK;
}

HRESULT onnx_read_tensor(struct onnx_reader *r, struct onnx_wire message, struct onnx_tensor *out)
{
    struct tensor t = { .message = message };
    uint64_t count = 1;
    out->name = "";
    if (!read_tensor_fields(r, &t, out))
        return onnx_read_no_model(r);
    if (out->rank > ONNX_RANK_MAX)
        return onnx_read_fail(r, "tensor has more than 8 dimensions", out->name);
    for (uint32_t i = 0; i < out->rank; i++)
        if (out->dims[i] < 0)
            return onnx_read_fail(r, "tensor has a negative dimension", out->name);
    for (uint32_t i = 0; i < out->rank; i++)
        if (!base_mul_u64(count, (uint64_t)out->dims[i], &count) || count > UINT32_MAX)
            return onnx_read_fail(r, "tensor has more than 4294967295 elements, or dimensions that would", out->name);
    out->bytes = onnx_bytes(out->type, (int64_t)count);
    out->data = "";
    /* Of no elements, or of a type that only an operator using it will complain about. */
    HRESULT hr = out->bytes ? find_data(r, &t, out) : S_OK;
    if (FAILED(hr) || !out->mapped || out->bytes > COPIED_BYTES_MAX)
        return hr;
    out->mapped = false;
    out->data = base_arena_copy(&r->model->arena, out->data, out->bytes);
    return out->data ? S_OK : E_OUTOFMEMORY;
}
