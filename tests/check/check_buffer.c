/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "kernels/core/number.h"

#include <math.h>
#include <stdlib.h>

enum { GUARD = 192, POISON = 0xc5 };

static uint32_t past = 8;

void check_buffer_past(uint32_t bytes)
{
    past = bytes;
}

bool check_buffer_create(struct check_buffer *out, const struct kern_view *view)
{
    int64_t least = 0, most = 0;
    for (uint32_t i = 0; i < view->rank; i++) {
        int64_t last = (int64_t)(view->sizes[i] - 1) * view->strides[i];
        *(last < 0 ? &least : &most) += last;
    }
    uint32_t bits = kern_type_bits(view->type);
    int64_t before = (-least * bits + 7) / 8, after = ((most + 1) * bits + 7) / 8;
    out->size = (size_t)(before + after) + 2 * GUARD + 64;
    out->block = malloc(out->size);
    if (!out->block)
        return false;
    /* Some bytes past a cache line: nothing may count on more than the element's own alignment. */
    out->data = (uint8_t *)base_align_up((uintptr_t)out->block + GUARD + (size_t)before - 40, 64) + past;
    check_buffer_poison(out);
    return true;
}

void check_buffer_destroy(struct check_buffer *buffer)
{
    free(buffer->block);
    buffer->block = NULL;
}

void check_buffer_poison(struct check_buffer *buffer)
{
    memset(buffer->block, POISON, buffer->size);
}

static double special(struct check_rng *rng)
{
    static const double values[] = {
        NAN,   INFINITY, -INFINITY, 0.0,  -0.0,  1,      -1,     0.5,          1e-40,        -1e-40, 1e-44,   3e38,
        -3e38, 1e30,     -1e30,     88.5, -88,   -95,    104,    -103.5,       1e-10,        -1e-10, 1.5,     -2.5,
        2,     127.5,    -300,      300,  65504, -70000, 1.2e-7, 2147483647.0, 4294967296.0, 9.3e18, -9.3e18, 6e-8
    };
    if (check_chance(rng, 3))
        return values[check_pick(rng, ARRAY_SIZE(values))];
    if (check_chance(rng, 3))
        return check_uniform(rng, -1, 1) * exp2(check_range(rng, -30, 30));
    return check_uniform(rng, -12, 12);
}

static double unit(DML_TENSOR_DATA_TYPE type, double value);

static double near_half(struct check_rng *rng)
{
    static const double parts[] = { 0, 0.25, 0.5, 0.5 - 1.0 / 4096, 0.5 + 1.0 / 4096, 0.75 };
    const uint16_t bits = (uint16_t)check_next(rng);
    const double value = kern_read_double(DML_TENSOR_DATA_TYPE_FLOAT16, &bits, 0);
    return value +
           copysign(unit(DML_TENSOR_DATA_TYPE_FLOAT16, value) * parts[check_pick(rng, ARRAY_SIZE(parts))], value);
}

static struct kern_number random_integer(struct check_rng *rng, enum kern_class class, enum check_data data)
{
    struct kern_number number = { .class = class };
    if (data != CHECK_DATA_SPECIAL)
        number.i = check_range(rng, class == KERN_CLASS_SIGNED && data == CHECK_DATA_NORMAL ? -7 : 0, 7);
    else
        number.i = check_chance(rng, 3)   ? (int64_t)check_next(rng)
                   : check_chance(rng, 3) ? (check_chance(rng, 2) ? INT64_MIN : INT64_MAX)
                   : check_chance(rng, 3) ? (check_chance(rng, 2) ? INT32_MIN : -1)
                                          : check_range(rng, -9, 9);
    return number;
}

static struct kern_number random_number(struct check_rng *rng, DML_TENSOR_DATA_TYPE type, enum check_data data,
                                        uint32_t limit)
{
    enum kern_class class = kern_type_class(type);
    if (data == CHECK_DATA_INDEX || data == CHECK_DATA_INSIDE) {
        int64_t value = data == CHECK_DATA_INDEX && check_chance(rng, 8)
                            ? check_range(rng, -2 * (int32_t)limit, 2 * (int32_t)limit)
                            : check_range(rng, 0, (int32_t)limit - 1);
        return (struct kern_number){ .class = KERN_CLASS_SIGNED,
                                     .i = class == KERN_CLASS_UNSIGNED && value < 0 ? 0 : value };
    }
    bool zero = data == CHECK_DATA_SPARSE && check_chance(rng, 2);
    if (class != KERN_CLASS_FLOAT)
        return zero ? (struct kern_number){ .class = class } : random_integer(rng, class, data);
    if (zero)
        return kern_from_double(check_chance(rng, 2) ? 0.0 : -0.0);
    if (data == CHECK_DATA_SPECIAL)
        return kern_from_double(special(rng));
    if (data == CHECK_DATA_HALVES)
        return kern_from_double(near_half(rng));
    if (data == CHECK_DATA_SMALL)
        return kern_from_double(check_uniform(rng, -0.25, 0.25));
    if (data == CHECK_DATA_TINY)
        return kern_from_double(check_uniform(rng, 0x1p-12, 0x1p-9));
    return kern_from_double(check_uniform(rng, data == CHECK_DATA_POSITIVE ? 0.25 : -4, 4));
}

void check_buffer_fill(struct check_buffer *buffer, const struct kern_view *view, struct check_rng *rng,
                       enum check_data data, uint32_t limit)
{
    uint32_t index[KERN_RANK_MAX] = { 0 };
    do
        kern_write(view->type, buffer->data, kern_offset(view, index), random_number(rng, view->type, data, limit));
    while (kern_advance(view->rank, view->sizes, index));
}

bool check_buffer_guarded(struct check_buffer *buffer, const struct kern_view *view)
{
    uint32_t index[KERN_RANK_MAX] = { 0 };
    uint64_t poison;
    memset(&poison, POISON, sizeof(poison));
    do {
        int64_t offset = kern_offset(view, index);
        uint32_t bytes = kern_type_bytes(view->type);
        if (bytes)
            memset((void *)kern_at(buffer->data, view->type, offset), POISON, bytes);
        else
            kern_write(view->type, buffer->data, offset,
                       (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = poison >> (offset & 1 ? 4 : 0) });
    } while (kern_advance(view->rank, view->sizes, index));
    for (size_t i = 0; i < buffer->size; i++)
        if (buffer->block[i] != POISON)
            return false;
    return true;
}

/* Distance between neighbouring numbers of the type near `value`. */
static double unit(DML_TENSOR_DATA_TYPE type, double value)
{
    int exponent = -2000;
    if (value != 0)
        frexp(value, &exponent);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return exp2(BASE_MAX(exponent - 11, -24));
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return exp2(BASE_MAX(exponent - 8, -133));
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return exp2(BASE_MAX(exponent - 24, -149));
    return exp2(BASE_MAX(exponent - 53, -1074));
}

static double greatest(const struct kern_view *view, const struct check_buffer *buffer)
{
    uint32_t index[KERN_RANK_MAX] = { 0 };
    double most = 0;
    do {
        double value = fabs(kern_read_double(view->type, buffer->data, kern_offset(view, index)));
        if (value > most && value < INFINITY)
            most = value;
    } while (kern_advance(view->rank, view->sizes, index));
    return most;
}

/* Distance in units in the last place; infinite for what can have no error, e.g. a number instead of NaN. */
static double distance(DML_TENSOR_DATA_TYPE type, struct kern_number got, struct kern_number want, double scale)
{
    double most = type == DML_TENSOR_DATA_TYPE_FLOAT16       ? 65504
                  : type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? 0x1.fep127
                  : type == DML_TENSOR_DATA_TYPE_FLOAT32     ? 0x1.fffffep127
                                                             : 0;
    if (got.class != KERN_CLASS_FLOAT)
        return got.u == want.u                                                              ? 0
               : kern_type_bytes(type) == 1 && (got.u + 1 == want.u || got.u == want.u + 1) ? 1
                                                                                            : INFINITY;
    if (got.f != got.f || want.f != want.f)
        return got.f != got.f && want.f != want.f ? 0 : INFINITY;
    if (got.f == want.f)
        return 0;
    if (isinf(got.f) && most) /* the next number after the largest */
        got.f = copysign(most + unit(type, most), got.f);
    if (isinf(want.f) && most)
        want.f = copysign(most + unit(type, most), want.f);
    return fabs(got.f - want.f) / unit(type, fmax(fabs(want.f), scale));
}

static bool other_zero(struct kern_number a, struct kern_number b)
{
    return a.class == KERN_CLASS_FLOAT && a.f == 0 && b.f == 0 && !signbit(a.f) != !signbit(b.f);
}

bool check_compare(const struct check_case *c, const struct kern_view *view, const struct check_buffer *got,
                   const struct check_buffer *want, double max_ulp, struct check_error *out)
{
    uint32_t index[KERN_RANK_MAX] = { 0 };
    double scale = c->norm_wise ? greatest(view, want) : 0;
    out->worst = 0;
    do {
        int64_t offset = kern_offset(view, index);
        struct kern_number g = kern_read(view->type, got->data, offset), w = kern_read(view->type, want->data, offset);
        double far = c->signed_zeros && other_zero(g, w) ? INFINITY : distance(view->type, g, w, scale);
        if (!(far > out->worst))
            continue;
        out->worst = far;
        memcpy(out->index, index, sizeof(index));
        out->got = kern_number_to(DML_TENSOR_DATA_TYPE_FLOAT64, g).f;
        out->want = kern_number_to(DML_TENSOR_DATA_TYPE_FLOAT64, w).f;
    } while (kern_advance(view->rank, view->sizes, index));
    return out->worst <= max_ulp;
}
