/* Random words block by block, stored in the order of the elements. */
#include "kernels/random/random.h"

#include "kernels/core/iterator.h"

bool kern_random_any_ref_accepts(const struct kern_op *op);

bool kern_random_philox_accepts(const struct kern_op *op)
{
    return kern_random_any_ref_accepts(op);
}

void kern_random_philox_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_random_groups(op), .grain = 4096 };
}

void kern_random_run(const struct kern_call *call, kern_random_fn *block, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = call->op;
    const uint32_t y = 1;
    uint32_t words[4 * KERN_RANDOM_GROUPS];
    struct kern_random_state first = kern_random_read(op, call->data[0]);
    struct kern_iterator iterator;
    kern_iterator_init(&iterator, op, &y, 1, UINT32_MAX, KERN_ITERATOR_ROW_MAJOR);
    for (uint64_t group = begin; group < end; group += KERN_RANDOM_GROUPS) {
        struct kern_random_state state = kern_random_after(first, group);
        uint64_t last = BASE_MIN(4 * BASE_MIN(end, group + KERN_RANDOM_GROUPS), iterator.count);
        block(&state, words);
        kern_iterator_store(&iterator, 0, op->tensors[1].type, call->data[1], 4 * group, last - 4 * group, words);
    }
    if (begin == 0)
        kern_random_finish(call);
}
