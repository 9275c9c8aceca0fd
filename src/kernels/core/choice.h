/* SPDX-License-Identifier: Apache-2.0 */
/* The selection between two kernels by cost in accepts(), and its corrections for machines other than the one on which
 * the costs were fitted. */
#ifndef KERNELS_CHOICE_H
#define KERNELS_CHOICE_H

#include "kernels/core/kernel.h"

enum kern_choice {
#define CHOICE(name, cost) KERN_CHOICE_##name,
#include "kernels/core/choices.def"
    KERN_CHOICE_COUNT
};

enum {
#define POINT(choice, side, in, out, kernel) KERN_POINT_##choice##_##side##_##in##_##out,
#include "kernels/core/choices.def"
    KERN_POINT_COUNT
};

struct kern_point {
    const char *name; /* "panel_1_512_512" */
    enum kern_choice choice;
    uint32_t side, in, out, kernel;
};
extern const struct kern_point kern_points[KERN_POINT_COUNT];

/* At each point, the ratio of the two measured times relative to the model's: more than 0, 1 if they agree. */
struct kern_tuning {
    float correction[KERN_POINT_COUNT];
};

BASE_TABLE_BEGIN
#define CHOICE(name, cost) double cost(const struct kern_op *op);
#include "kernels/core/choices.def"
BASE_TABLE_END
double kern_choice_cost(enum kern_choice choice, const struct kern_op *op);

/* Measurements override the model if they differ by more than this: not noise or differences between similar shapes. */
#define KERN_CHOICE_DOUBT 0.1

/* Whether to use the first kernel. `cost`: the ratio of their times in the model. Corrections are interpolated between
 * points. */
bool kern_pays(const struct kern_op *op, enum kern_choice choice, double cost);

#endif
