/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <math.h>

/* [B, H, rows, depth] in the layout after splitting heads: packed, or [B, rows, H, depth] in memory, or any layout. */
static void heads(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, const uint32_t *sizes)
{
    kern_view_set_packed(out, type, 4, sizes);
    if (check_chance(rng, 2)) {
        out->strides[1] = sizes[3];
        out->strides[2] = (int64_t)sizes[3] * sizes[1];
    } else if (check_chance(rng, 4)) {
        check_view(rng, out, type, 4, sizes);
    }
}

/* Lengths within a sequence of `limit`, sometimes outside. */
static void lengths(struct check_rng *rng, struct check_case *out, uint32_t batch, uint32_t limit)
{
    uint32_t t = out->op.input_count++;
    check_view(rng, &out->op.tensors[t], DML_TENSOR_DATA_TYPE_INT32, 1, &batch);
    out->data[t] = CHECK_DATA_INDEX;
    out->index_limit[t] = limit;
}

static void masks(struct check_rng *rng, struct check_case *out, DML_TENSOR_DATA_TYPE type, const uint32_t *sizes)
{
    struct kern_op *op = &out->op;
    struct kern_attention *attention = &op->u.attention;
    uint32_t kind = check_pick(rng, 5);
    attention->filter = check_chance(rng, 2) ? -3.4028234e38f : -3.0f;
    attention->undefined = check_chance(rng, 2);
    attention->has_mask = check_chance(rng, 3);
    attention->has_keep = kind == 1;
    attention->has_end = kind == 2 || kind == 3;
    attention->has_start = kind == 3;
    attention->has_past = check_chance(rng, 3);
    attention->causal = attention->has_past && check_chance(rng, 2);
    attention->new_keys = attention->has_past ? 1 + check_pick(rng, sizes[3]) : 0;
    if (attention->has_mask)
        check_view_broadcast(rng, &op->tensors[op->input_count++], type, 4, sizes);
    if (attention->has_keep) {
        out->data[op->input_count] = CHECK_DATA_INDEX;
        out->index_limit[op->input_count] = 2;
        check_view_broadcast(rng, &op->tensors[op->input_count++], DML_TENSOR_DATA_TYPE_INT32, 4, sizes);
    }
    if (attention->has_end)
        lengths(rng, out, sizes[0], sizes[3] + 1);
    if (attention->has_start)
        lengths(rng, out, sizes[0], sizes[3] + 1);
    if (attention->has_past)
        lengths(rng, out, sizes[0], sizes[3] + 1);
}

static uint32_t size_of_head(struct check_rng *rng)
{
    const uint32_t most = check_chance(rng, 8) ? 140 : 70; /* beyond 128 some rows do not take it */
    return check_chance(rng, 2) ? 32 : check_chance(rng, 3) ? 8 * (1 + check_pick(rng, 32)) : 1 + check_pick(rng, most);
}

#define PRODUCTS_MAX 5e6 /* of a case with several heads: they take the reference long, and sanitizers longer */

void check_gen_attention(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t b = 1 + check_pick(rng, 2), g = 1 + check_pick(rng, 3), h = g * (1 + check_pick(rng, 3));
    const uint32_t longer = check_chance(rng, 4) ? 2000 : 400; /* keys that threads share */
    uint32_t n = 1 + check_pick(rng, check_chance(rng, 4) ? longer : 150);
    const uint32_t most = n < 150 && check_chance(rng, 6) ? 600 : 90; /* several blocks of queries */
    uint32_t m = check_chance(rng, 3) ? 1 + check_pick(rng, 3) : 1 + check_pick(rng, most);
    uint32_t depth = size_of_head(rng), width = size_of_head(rng);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    if ((double)b * h * m * n * (depth + width) > PRODUCTS_MAX)
        b = g = h = 1;
    op->kind = KERN_ATTENTION;
    op->input_count = 3;
    op->output_count = 1;
    op->u.attention.scale = 1 / sqrtf((float)depth);
    heads(rng, &op->tensors[0], type, (uint32_t[]){ b, h, m, depth });
    heads(rng, &op->tensors[1], type, (uint32_t[]){ b, g, n, depth });
    heads(rng, &op->tensors[2], type, (uint32_t[]){ b, g, n, width });
    masks(rng, out, type, (uint32_t[]){ b, h, m, n });
    heads(rng, &op->tensors[op->input_count], type, (uint32_t[]){ b, h, m, width });
    out->norm_wise = true;
    check_widen(rng, out);
}

void check_gen_append(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t b = 1 + check_pick(rng, 3), h = 1 + check_pick(rng, 3), l = 1 + check_pick(rng, 5);
    uint32_t m = 1 + check_pick(rng, 12), depth = 1 + check_pick(rng, 20);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_APPEND;
    op->output_count = 1;
    op->input_count = 1;
    heads(rng, &op->tensors[0], type, (uint32_t[]){ b, h, l, depth });
    lengths(rng, out, b, m + 2);
    heads(rng, &op->tensors[2], type, (uint32_t[]){ b, h, m, depth });
}
