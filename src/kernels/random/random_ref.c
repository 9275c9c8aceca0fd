/* Random words, one group after the other. */
#include "kernels/core/number.h"
#include "kernels/random/random.h"

static bool is_state(const struct kern_view *view)
{
    return view->type == DML_TENSOR_DATA_TYPE_UINT32 && view->sizes[view->rank - 1] == 6 &&
           kern_view_elements(view) == 6;
}

bool kern_random_any_ref_accepts(const struct kern_op *op)
{
    return is_state(&op->tensors[0]) && op->tensors[1].type == DML_TENSOR_DATA_TYPE_UINT32 && !op->epilogue &&
           (op->output_count == 1 || is_state(&op->tensors[2]));
}

uint64_t kern_random_groups(const struct kern_op *op)
{
    return (kern_view_elements(&op->tensors[1]) + 3) / 4;
}

void kern_random_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_random_groups(op), .grain = 256 };
}

struct kern_random_state kern_random_read(const struct kern_op *op, const void *state)
{
    const struct kern_view *view = &op->tensors[0];
    uint64_t word[6];
    for (uint32_t i = 0; i < 6; i++)
        word[i] = kern_read(view->type, state, i * view->strides[view->rank - 1]).u;
    return (struct kern_random_state){ word[0] | word[1] << 32,
                                       word[2] | word[3] << 32,
                                       { (uint32_t)word[4], (uint32_t)word[5] } };
}

struct kern_random_state kern_random_after(struct kern_random_state state, uint64_t groups)
{
    state.low += groups;
    state.high += state.low < groups;
    return state;
}

void kern_random_finish(const struct kern_call *call)
{
    const struct kern_view *view = &call->op->tensors[2];
    if (call->op->output_count < 2)
        return;
    struct kern_random_state state =
        kern_random_after(kern_random_read(call->op, call->data[0]), kern_random_groups(call->op));
    const uint64_t word[6] = { state.low, state.low >> 32, state.high, state.high >> 32, state.key[0], state.key[1] };
    for (uint32_t i = 0; i < 6; i++)
        kern_write(view->type, call->data[2], i * view->strides[view->rank - 1],
                   (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = word[i] });
}

static void philox(const struct kern_random_state *state, uint32_t *out)
{
    uint32_t c[4] = { (uint32_t)state->low, (uint32_t)(state->low >> 32), (uint32_t)state->high,
                      (uint32_t)(state->high >> 32) };
    uint32_t k0 = state->key[0], k1 = state->key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)KERN_PHILOX_M0 * c[0], b = (uint64_t)KERN_PHILOX_M1 * c[2];
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += KERN_PHILOX_K0;
        k1 += KERN_PHILOX_K1;
    }
    memcpy(out, c, sizeof(c));
}

void kern_random_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct kern_random_state first = kern_random_read(call->op, call->data[0]);
    uint64_t elements = kern_view_elements(y);
    for (uint64_t group = begin; group < end; group++) {
        struct kern_random_state state = kern_random_after(first, group);
        uint32_t words[4], index[KERN_RANK_MAX];
        philox(&state, words);
        for (uint32_t j = 0; j < 4 && 4 * group + j < elements; j++) {
            kern_unflatten(4 * group + j, y->rank, y->sizes, index);
            kern_write(y->type, call->data[1], kern_offset(y, index),
                       (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = words[j] });
        }
    }
    if (begin == 0)
        kern_random_finish(call);
}
