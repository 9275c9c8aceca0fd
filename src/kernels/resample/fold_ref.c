/* Windows as columns and back, the definition. Sums of integers wrap. */
#include "kernels/resample/fold.h"

bool kern_fold_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_fold *fold = &op->u.fold;
    const struct kern_view *image = fold_image(op), *columns = fold_columns(op);
    uint64_t positions = 1;
    if (op->epilogue || !fold->spatial || fold->spatial > KERN_FOLD_MAX || image->rank != fold->spatial + 2 ||
        columns->rank != 3 || image->type != columns->type || !kern_type_bytes(image->type))
        return false;
    for (uint32_t d = 0; d < fold->spatial; d++)
        positions *= fold->positions[d];
    return columns->sizes[0] == image->sizes[0] && columns->sizes[1] == image->sizes[1] * fold_taps(fold) &&
           columns->sizes[2] == positions;
}

void kern_fold_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t taps = op->u.fold.unfold ? 1 : fold_taps(&op->u.fold);
    *out = (struct kern_work){ .units = kern_view_elements(y), .grain = dense_grain(16 * taps) };
}

static void unfold_one(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_op *op = call->op;
    const struct kern_fold *fold = &op->u.fold;
    uint32_t bytes = kern_type_bytes(op->tensors[0].type), b[KERN_FOLD_MAX], k[KERN_FOLD_MAX];
    uint32_t where[KERN_RANK_MAX] = { at[0], (uint32_t)(at[1] / fold_taps(fold)) };
    char *to = (char *)call->data[1] + dense_offset(&op->tensors[1], at, 3) * bytes;
    fold_split(at[1], fold->window, fold->spatial, k);
    fold_split(at[2], fold->positions, fold->spatial, b);
    for (uint32_t d = 0; d < fold->spatial; d++) {
        int64_t pixel = fold_pixel(fold, d, b[d], k[d]);
        if (pixel < 0 || pixel >= op->tensors[0].sizes[d + 2]) {
            memset(to, 0, bytes);
            return;
        }
        where[d + 2] = (uint32_t)pixel;
    }
    const struct kern_view *image = &op->tensors[0];
    memcpy(to, (const char *)call->data[0] + dense_offset(image, where, image->rank) * bytes, bytes);
}

static uint64_t load_integer(const void *data, int64_t at, uint32_t bytes)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)data)[at];
    case 2:
        return ((const uint16_t *)data)[at];
    case 4:
        return ((const uint32_t *)data)[at];
    default:
        return ((const uint64_t *)data)[at];
    }
}

static void store_integer(void *data, int64_t at, uint32_t bytes, uint64_t value)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)data)[at] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)data)[at] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)data)[at] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)data)[at] = value;
        break;
    }
}

static void fold_one(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *columns = &call->op->tensors[0], *image = &call->op->tensors[1];
    uint32_t bytes = kern_type_bytes(image->type), taps = (uint32_t)fold_taps(fold);
    double real = 0;
    uint64_t whole = 0;
    for (uint32_t tap = 0; tap < taps; tap++) {
        uint32_t k[KERN_FOLD_MAX], b, where[3] = { at[0], at[1] * taps + tap, 0 };
        bool inside = true;
        fold_split(tap, fold->window, fold->spatial, k);
        for (uint32_t d = 0; d < fold->spatial && inside; d++) {
            inside = fold_position(fold, d, at[d + 2], k[d], &b);
            where[2] = where[2] * fold->positions[d] + (inside ? b : 0);
        }
        if (!inside)
            continue;
        int64_t from = dense_offset(columns, where, 3);
        if (dense_is_float(image->type))
            real += dense_load(call->data[0], from, image->type);
        else
            whole += load_integer(call->data[0], from, bytes);
    }
    int64_t to = dense_offset(image, at, image->rank);
    if (dense_is_float(image->type))
        dense_store(call->data[1], to, image->type, real);
    else
        store_integer(call->data[1], to, bytes, whole);
}

void kern_fold_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    for (uint64_t i = begin; i < end; i++) {
        uint32_t at[KERN_RANK_MAX];
        fold_split(i, y->sizes, y->rank, at);
        if (call->op->u.fold.unfold)
            unfold_one(call, at);
        else
            fold_one(call, at);
    }
}
