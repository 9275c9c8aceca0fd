/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of a SPIR-V program: before each step that depends on steps since the last one. */
#include "dml/dispatch_spirv.h"

#include "graph/ir/view.h"
#include "shaders/shader.h"

#define USES_MAX 640u /* that are looked through before a barrier is set anyway */

_Static_assert(USES_MAX > SHADER_CHAIN_MAX * (KERN_TENSORS_MAX + 1), "what a chain uses");

/* Bytes of a buffer that a command since the last barrier uses. */
struct use {
    enum graph_buffer buffer;
    uint32_t index;
    int64_t begin, end;
    bool writes;
    struct stripes {
        int64_t period, from, to; /* of an address only these remainders by `period`; 0: any */
    } stripes[2];
};

struct uses {
    uint32_t count;
    struct use uses[USES_MAX];
};

static bool conflicts(const struct use *a, const struct use *b)
{
    if (!a->writes && !b->writes)
        return false;
    /* The application may bind outputs over inputs; but outputs do not overlap each other. */
    if (a->buffer != b->buffer)
        return (a->buffer == GRAPH_BUFFER_INPUT && b->buffer == GRAPH_BUFFER_OUTPUT) ||
               (a->buffer == GRAPH_BUFFER_OUTPUT && b->buffer == GRAPH_BUFFER_INPUT);
    for (uint32_t i = 0; i < ARRAY_SIZE(a->stripes); i++) {
        const struct stripes *x = &a->stripes[i], *y = &b->stripes[i];
        if (x->period && x->period == y->period && (x->to <= y->from || y->to <= x->from))
            return false;
    }
    return a->index == b->index && a->begin < b->end && b->begin < a->end;
}

/* Bytes [begin, begin + width) modulo the period. */
static struct stripes stripes_of(int64_t begin, int64_t width, int64_t period)
{
    const int64_t from = period > 0 ? begin % period : 0;
    return from + width <= period ? (struct stripes){ period, from, from + width } : (struct stripes){ 0 };
}

/* Concatenated ranges of NHWC channels interleave: the period is the common divisor of all other strides. So do lines
 * of an image each of which is a part of a longer line: the period is the largest stride except for the batch's, and
 * all smaller ones are within it. */
static void find_stripes(const struct kern_view *view, struct use *use)
{
    const int64_t bytes = kern_type_bytes(view->type);
    int64_t period = 0, width = bytes, line = 0, within = bytes;
    for (uint32_t d = 0; d < view->rank; d++) {
        int64_t a = view->strides[d] * bytes, b = period;
        if (view->sizes[d] == 1)
            continue;
        if (view->strides[d] == 1) {
            width = view->sizes[d] * bytes;
            continue;
        }
        if (d)
            line = BASE_MAX(line, a);
        for (int64_t rest; b; a = b, b = rest)
            rest = a % b;
        period = a < 0 ? -a : a;
    }
    for (uint32_t d = 0; d < view->rank && line; d++) {
        const int64_t stride = view->strides[d] * bytes;
        if (view->sizes[d] > 1 && (stride < 0 || stride % line))
            within += stride < 0 ? line : (view->sizes[d] - 1) * stride;
    }
    use->stripes[0] = stripes_of(use->begin, width, period);
    use->stripes[1] = stripes_of(use->begin, within, line);
}

static uint32_t uses_of(const struct graph_step *step, struct use *out)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
        const struct graph_location *where = &step->where[t];
        const struct kern_view *view = &step->op.tensors[t];
        int64_t low, high, bits = kern_type_bytes(view->type) ? 8 * kern_type_bytes(view->type) : 4;
        struct kern_view placed = *view;
        placed.offset = 0;
        if (!graph_view_bounds(&placed, &low, &high))
            low = INT32_MIN, high = INT32_MAX;
        if (where->buffer == GRAPH_BUFFER_CONSTANT)
            continue;
        out[count] = (struct use){ where->buffer, where->buffer <= GRAPH_BUFFER_OUTPUT ? where->index : 0,
                                   (int64_t)where->offset + ((low * bits) >> 3),
                                   (int64_t)where->offset + (((high + 1) * bits + 7) >> 3), t >= step->op.input_count };
        if (bits >= 8 && out[count].begin >= 0)
            find_stripes(view, &out[count]);
        count++;
    }
    if (step->scratch_bytes)
        out[count++] = (struct use){ GRAPH_BUFFER_TEMP, 0, (int64_t)step->scratch_offset,
                                     (int64_t)(step->scratch_offset + step->scratch_bytes), true };
    return count;
}

/* A chain waits for all previous work, and `uses` restart with its accesses. */
static void begin_chain(struct uses *uses, const struct graph_plan *plan, const struct graph_step *step)
{
    const int64_t from = (int64_t)(plan->zeroed_offset + step->zeroed_offset);
    uses->count = 0;
    for (uint32_t i = 0; i < step->chain; i++)
        uses->count += uses_of(&step[i], &uses->uses[uses->count]);
    uses->uses[uses->count++] = (struct use){ GRAPH_BUFFER_TEMP, 0, from, from + (int64_t)step->zeroed_bytes, true };
}

/* Whether the step must wait for steps in `uses`, which then restart with it. */
static bool must_wait(struct uses *uses, const struct graph_step *step)
{
    struct use own[KERN_TENSORS_MAX + 1];
    const uint32_t count = uses_of(step, own);
    bool wait = uses->count + count > USES_MAX;
    for (uint32_t i = 0; i < uses->count && !wait; i++)
        for (uint32_t k = 0; k < count && !wait; k++)
            wait = conflicts(&uses->uses[i], &own[k]);
    if (wait)
        uses->count = 0;
    memcpy(&uses->uses[uses->count], own, count * sizeof(*own));
    uses->count += count;
    return wait;
}

void dml_spirv_find_barriers(struct adapter_step *command, const struct graph_plan *plan)
{
    struct uses uses = { 0 };
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].chain)
            begin_chain(&uses, plan, &plan->steps[i]);
        if (plan->steps[i].u.spirv.work->dispatch_count)
            command->barrier = plan->steps[i].chain || (!plan->steps[i].turn && must_wait(&uses, &plan->steps[i]));
        command += shader_commands(plan->steps[i].u.spirv.work);
    }
}
