/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table, lookups, selection by cost, and small helpers on views. */
#include "kernels/core/choice.h"

#include "base/cpu.h"

#include <math.h>

/* clang-format off */
#define ROW(kind, name, family, planner, cpu, max_ulp)                                                                 \
    #name, KERN_##kind, cpu, max_ulp, kern_##family##_accepts, kern_##planner##_plan, kern_##name##_run
#define PACK(name) .pack_plan = kern_##name##_pack_plan, .pack = kern_##name##_pack
#define KERNEL_AS(kind, name, family, cpu, max_ulp) { ROW(kind, name, family, family, cpu, max_ulp) },
#define REFERENCE(kind, name, family, planner) { ROW(kind, name, family, planner, BASE_CPU_NONE, 0) },
#define PACKED_AS(kind, name, family, cpu, max_ulp) { ROW(kind, name, family, name, cpu, max_ulp), PACK(name) },
/* clang-format on */
static const struct kern_row rows[] = {
#include "kernels/core/kernels.def"
};

const uint8_t kern_map_arity[KERN_MAP_CODE_COUNT] = {
#define MAPOP(name, arity, types, formula) arity,
#include "kernels/core/mapops.def"
};

void kern_pack_first(const struct kern_row *row, const struct kern_work *work, const struct kern_call *call,
                     void **data)
{
    if (!work->packs)
        return;
    row->pack(call->op, data[1], call->scratch);
    data[1] = call->scratch;
}

static bool row_allowed(const struct kern_row *row, const struct kern_op *op, uint32_t cpu)
{
    if (row->kind != op->kind || (row->cpu & ~cpu))
        return false;
    if ((op->flags & KERN_FLAG_REFERENCE) && row->cpu)
        return false;
    return row->accepts(op);
}

const struct kern_row *kern_find(const struct kern_op *op, uint32_t cpu)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (row_allowed(&rows[i], op, cpu))
            return &rows[i];
    return NULL;
}

const struct kern_row *kern_rows(uint32_t *out_count)
{
    *out_count = ARRAY_SIZE(rows);
    return rows;
}

/* ---- selection by cost ---- */

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

/* Logarithms of channels or k, results' channels or columns, pixels or rows: similar shapes have similar ratios. */
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

/* ---- views ---- */

uint64_t kern_view_elements(const struct kern_view *view)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < view->rank; i++)
        count *= view->sizes[i];
    return count;
}

void kern_elements_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[op->input_count]), .grain = 1024 };
    for (uint32_t t = op->input_count; t < op->input_count + op->output_count; t++)
        if (!kern_type_bytes(op->tensors[t].type))
            out->grain = out->units; /* neighbours share bytes */
}

void kern_whole_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = 1, .grain = 1 };
}

bool kern_view_packed(const struct kern_view *view)
{
    int64_t stride = 1;
    for (uint32_t i = view->rank; i-- > 0;) {
        if (view->sizes[i] != 1 && view->strides[i] != stride)
            return false;
        stride *= view->sizes[i];
    }
    return true;
}

void kern_view_set_packed(struct kern_view *view, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    int64_t stride = 1;
    memset(view, 0, sizeof(*view));
    view->type = type;
    view->rank = rank;
    for (uint32_t i = rank; i-- > 0;) {
        view->sizes[i] = sizes[i];
        view->strides[i] = stride;
        stride *= sizes[i];
    }
}
