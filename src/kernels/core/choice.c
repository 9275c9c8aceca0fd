/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/choice.h"

#include <math.h>

const struct kern_point kern_points[KERN_POINT_COUNT] = {
#define POINT(choice, side, in, out, kernel)                                                                           \
    { #choice "_" #side "_" #in "_" #out, KERN_CHOICE_##choice, side, in, out, kernel },
#include "kernels/core/choices.def"
};

double kern_choice_cost(enum kern_choice choice, const struct kern_op *op)
{
    static double (*const costs[])(const struct kern_op *op) = {
#define CHOICE(name, cost) cost,
#include "kernels/core/choices.def"
    };
    return costs[choice](op);
}

/* Logarithms of channels or k, results' channels or columns, pixels or rows: near shapes are of like proportions. */
struct place {
    double in, out, uses;
};

static struct place place_of(const struct kern_op *op)
{
    const struct kern_view *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    double in = w->sizes[op->kind == KERN_CONV ? 1 : w->rank - 2];
    double out = y->sizes[op->kind == KERN_CONV ? 1 : y->rank - 1];
    return (struct place){ log2(in), log2(out), log2((double)kern_view_elements(y) / out) };
}

static double correction(const struct kern_op *op, enum kern_choice choice)
{
    struct place here = place_of(op);
    double sum = 0, whole = 0;
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++) {
        const struct kern_point *p = &kern_points[i];
        if (p->choice != choice)
            continue;
        double in = here.in - log2(p->in), out = here.out - log2(p->out);
        double uses = here.uses - log2(p->kernel ? (double)p->side * p->side : p->side);
        double near = 1 / (0.01 + in * in + out * out + uses * uses);
        sum += near * log2((double)op->tuning->correction[i]);
        whole += near;
    }
    return exp2(sum / whole);
}

bool kern_pays(const struct kern_op *op, enum kern_choice choice, double cost)
{
    bool fitted = cost <= 1;
    double here = op->tuning ? cost * correction(op, choice) : cost;
    return fitted ? here <= 1 + KERN_CHOICE_DOUBT : here < 1 - KERN_CHOICE_DOUBT;
}
