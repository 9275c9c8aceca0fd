/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/host/array.h"

#include "base/os.h"
#include "base/pages.h"

#define ALIGNMENT 64

/* ---- memory ---- */

bool onnx_array_make(struct onnx_array *out, int32_t type, uint32_t rank, const int64_t *dims)
{
    int64_t elements = 1;
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < rank; i++) {
        if (__builtin_mul_overflow(elements, dims[i], &elements) || elements > INT64_MAX / 16)
            return false;
        out->dims[i] = dims[i];
    }
    uint64_t bytes = onnx_bytes(type, elements);
    /* The reference count is stored before the elements. */
    char *memory = base_memory_fits(bytes)
                       ? base_aligned_acquire(ALIGNMENT, ALIGNMENT + base_align_up(BASE_MAX(bytes, 1u), ALIGNMENT))
                       : NULL;
    if (!memory)
        return false;
    memset(memory, 0, ALIGNMENT + base_align_up(BASE_MAX(bytes, 1u), ALIGNMENT));
    out->type = type;
    out->rank = rank;
    out->bytes = bytes;
    out->users = (uint32_t *)memory;
    *out->users = 1;
    out->data = memory + ALIGNMENT;
    return true;
}

bool onnx_array_of_tensor(struct onnx_array *out, const struct onnx_tensor *t)
{
    if (!onnx_array_make(out, t->type, t->rank, t->dims))
        return false;
    if (out->bytes > t->bytes) {
        onnx_array_finish(out);
        return false;
    }
    memcpy(out->data, t->data, out->bytes);
    return true;
}

struct onnx_array onnx_array_share(const struct onnx_array *a)
{
    if (a->users)
        ++*a->users;
    return *a;
}

void onnx_array_finish(struct onnx_array *a)
{
    if (a->users && --*a->users == 0)
        base_aligned_release(a->users);
    memset(a, 0, sizeof(*a));
}

/* ---- elements of an axis ---- */

/* The contiguous pieces of an element of the axis, and their length. */
static void axis_parts(const struct onnx_array *whole, uint32_t axis, size_t *out_count, size_t *out_bytes)
{
    size_t count = 1, bytes = onnx_type_bytes(whole->type);
    for (uint32_t i = 0; i < whole->rank; i++) {
        count *= i < axis ? (size_t)whole->dims[i] : 1;
        bytes *= i > axis ? (size_t)whole->dims[i] : 1;
    }
    *out_count = count;
    *out_bytes = bytes;
}

bool onnx_array_element(struct onnx_array *out, const struct onnx_array *x, uint32_t axis, int64_t at)
{
    int64_t dims[ONNX_RANK_MAX];
    size_t count, bytes;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        dims[i] = x->dims[i + (i >= axis)];
    if (!onnx_array_make(out, x->type, x->rank - 1, dims))
        return false;
    axis_parts(x, axis, &count, &bytes);
    for (size_t i = 0; i < count && bytes; i++)
        memcpy((char *)out->data + i * bytes, (const char *)x->data + (i * (size_t)x->dims[axis] + (size_t)at) * bytes,
               bytes);
    return true;
}

void onnx_array_set_element(struct onnx_array *out, uint32_t axis, int64_t at, const struct onnx_array *x)
{
    size_t count, bytes;
    axis_parts(out, axis, &count, &bytes);
    for (size_t i = 0; i < count && bytes; i++)
        memcpy((char *)out->data + (i * (size_t)out->dims[axis] + (size_t)at) * bytes,
               (const char *)x->data + i * bytes, bytes);
}
