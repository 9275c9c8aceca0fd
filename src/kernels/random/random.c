/* SPDX-License-Identifier: Apache-2.0 */
/* Random words: block by block, stored in the order of the elements, and the reference, one group after another. */
#include "kernels/random/random.h"
#include "kernels/core/iterator.h"
#include "kernels/core/number.h"

static bool is_state(const struct kern_view *view)
{
    return view->type == DML_TENSOR_DATA_TYPE_UINT32 && view->sizes[view->rank - 1] == 6 &&
           kern_view_elements(view) == 6;
}

bool kern_random_philox_accepts(const struct kern_op *op)
{
    return is_state(&op->tensors[0]) && op->tensors[1].type == DML_TENSOR_DATA_TYPE_UINT32 && !op->epilogue &&
           (op->output_count == 1 || is_state(&op->tensors[2]));
}

uint64_t kern_random_groups(const struct kern_op *op)
{
    return (kern_view_elements(&op->tensors[1]) + 3) / 4;
}

static struct kern_random_state random_read(const struct kern_op *op, const void *state)
{
    const struct kern_view *view = &op->tensors[0];
    uint64_t word[6];
    for (uint32_t i = 0; i < 6; i++)
        word[i] = kern_read(view->type, state, i * view->strides[view->rank - 1]).u;
    return (struct kern_random_state){ word[0] | word[1] << 32,
                                       word[2] | word[3] << 32,
                                       { (uint32_t)word[4], (uint32_t)word[5] } };
}

static struct kern_random_state random_after(struct kern_random_state state, uint64_t groups)
{
    state.low += groups;
    state.high += state.low < groups;
    return state;
}

static void random_finish(const struct kern_call *call)
{
    const struct kern_view *view = &call->op->tensors[2];
    if (call->op->output_count < 2)
        return;
    struct kern_random_state state = random_after(random_read(call->op, call->data[0]), kern_random_groups(call->op));
    const uint64_t word[6] = { state.low, state.low >> 32, state.high, state.high >> 32, state.key[0], state.key[1] };
    for (uint32_t i = 0; i < 6; i++)
        kern_write(view->type, call->data[2], i * view->strides[view->rank - 1], kern_from_integer(word[i]));
}

static void philox(const struct kern_random_state *state, uint32_t *out)
{
    struct philox_lane c = { (uint32_t)state->low, (uint32_t)(state->low >> 32), (uint32_t)state->high,
                             (uint32_t)(state->high >> 32) };
    for (uint32_t r = 0; r < 10; r++)
        c = philox_round(c, state->key[0] + r * KERN_PHILOX_K0, state->key[1] + r * KERN_PHILOX_K1);
    memcpy(out, &c, sizeof(c));
}

void kern_random_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct kern_random_state first = random_read(call->op, call->data[0]);
    uint64_t elements = kern_view_elements(y);
    for (uint64_t group = begin; group < end; group++) {
        struct kern_random_state state = random_after(first, group);
        uint32_t words[4], index[KERN_RANK_MAX];
        philox(&state, words);
        for (uint32_t j = 0; j < 4 && 4 * group + j < elements; j++) {
            kern_unflatten(4 * group + j, y->rank, y->sizes, index);
            kern_write(y->type, call->data[1], kern_offset(y, index), kern_from_integer(words[j]));
        }
    }
    if (begin == 0)
        random_finish(call);
}

void kern_random_philox_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_random_groups(op), .grain = 4096 };
}

void kern_random_run(const struct kern_call *call, kern_random_fn *block, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = call->op;
    const uint32_t y = 1;
    uint32_t words[4 * KERN_RANDOM_GROUPS];
    struct kern_random_state first = random_read(op, call->data[0]);
    struct kern_iterator iterator;
    kern_iterator_init(&iterator, op, &y, 1, UINT32_MAX, KERN_ITERATOR_ROW_MAJOR);
    for (uint64_t group = begin; group < end; group += KERN_RANDOM_GROUPS) {
        struct kern_random_state state = random_after(first, group);
        uint64_t last = BASE_MIN(4 * BASE_MIN(end, group + KERN_RANDOM_GROUPS), iterator.count);
        block(&state, words);
        kern_iterator_store(&iterator, 0, op->tensors[1].type, call->data[1], 4 * group, last - 4 * group, words);
    }
    if (begin == 0)
        random_finish(call);
}
