#include "check.h"

#include <math.h>

/* [B, H, rows, depth] as it lies after splitting heads: packed, or [B, rows, H, depth] in memory, or any layout. */
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

void check_gen_attention(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t b = 1 + check_pick(rng, 2), h = 1 + check_pick(rng, 3), n = 1 + check_pick(rng, 200);
    uint32_t m = check_chance(rng, 3) ? 1 + check_pick(rng, 3) : 1 + check_pick(rng, 90);
    uint32_t depth = check_chance(rng, 2) ? 32 : 1 + check_pick(rng, 70);
    uint32_t width = check_chance(rng, 2) ? 32 : 1 + check_pick(rng, 70);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_ATTENTION;
    op->input_count = 3;
    op->output_count = 1;
    op->u.attention.scale = 1 / sqrtf((float)depth);
    heads(rng, &op->tensors[0], type, (uint32_t[]){ b, h, m, depth });
    heads(rng, &op->tensors[1], type, (uint32_t[]){ b, h, n, depth });
    heads(rng, &op->tensors[2], type, (uint32_t[]){ b, h, n, width });
    if (check_chance(rng, 2)) {
        op->u.attention.has_mask = true;
        check_view_broadcast(rng, &op->tensors[op->input_count++], type, 4, (uint32_t[]){ b, h, m, n });
    }
    heads(rng, &op->tensors[op->input_count], type, (uint32_t[]){ b, h, m, width });
    out->norm_wise = true;
}
