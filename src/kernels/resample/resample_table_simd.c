/* Resampling with tables, row by row in memory order. */
#include "kernels/core/isa.h"
#include "kernels/vec/vec.h"
#include "kernels/resample/resample.h"

struct resample_rows {
    struct resample_plan plan;
    struct resample_table tables[KERN_RANK_MAX]; /* in the plan's order */
    struct resample_iterator iterator;           /* over the outer dimensions */
    const struct kern_call *call;
    float *line, *row, *out;
};

static void resample_rows_init(struct resample_rows *r, const struct kern_call *call)
{
    char *memory = call->worker_scratch;
    resample_plan_init(call->op, &r->plan);
    r->call = call;
    r->iterator = (struct resample_iterator){ .dims = r->plan.inner };
    for (uint32_t d = 0; d < r->plan.y.rank; d++) {
        uint32_t from = r->plan.order[d];
        resample_table_init(call->op, from, memory, &r->tables[d]);
        memory += resample_table_bytes(call->op, from);
        r->iterator.tables[d] = &r->tables[d];
    }
    r->line = (float *)memory;
    r->row = r->line + r->plan.in;
    r->out = r->row + r->plan.in;
}

/* line = the sum of the input rows that the outer coordinates `at` take; false when there are none. */
static bool resample_rows_gather(struct resample_rows *r, const uint32_t *at)
{
    const struct kern_view *x = &r->plan.x;
    int64_t step = x->strides[x->rank - 1], count = r->plan.in;
    bool first = true;
    if (!resample_iterator_begin(&r->iterator, at))
        return false;
    do {
        float weight = 1;
        int64_t from = 0, i = 0;
        for (uint32_t d = 0; d < r->plan.inner; d++) {
            weight *= resample_iterator_weight(&r->iterator, d);
            from += (int64_t)(r->iterator.lists[d]->first + r->iterator.entry[d]) * x->strides[d];
        }
        const float *row = (const float *)r->call->data[0] + from;
        if (x->type != DML_TENSOR_DATA_TYPE_FLOAT32 || (step != 1 && count > 1)) {
            dense_load_row(r->call->data[0], from, step, x->type, (uint32_t)count, r->row);
            row = r->row;
        }
        vec factor = vec_set(weight);
        for (; i + VEC <= count; i += VEC) {
            vec value = vec_load(row + i) * factor;
            if (!first)
                value = value + vec_load(r->line + i);
            vec_store(r->line + i, value);
        }
        for (; i < count; i++)
            r->line[i] = row[i] * weight + (first ? 0 : r->line[i]);
        first = false;
    } while (resample_iterator_next(&r->iterator));
    return true;
}

static float resample_rows_dot(const float *line, const float *weights, uint32_t count)
{
    float sum = 0;
    uint32_t i = 0;
    if (count >= VEC) {
        vec acc = vec_set(0);
        for (; i + VEC <= count; i += VEC)
            acc = vec_fma(vec_load(line + i), vec_load(weights + i), acc);
        sum = vec_sum(acc);
    }
    for (; i < count; i++)
        sum += line[i] * weights[i];
    return sum;
}

/* out = along the row, `line` taken by the inner dimension's lists */
static void resample_rows_inner(const struct resample_rows *r)
{
    const struct resample_table *table = &r->tables[r->plan.inner];
    uint32_t group = r->plan.group, columns = r->plan.out / group;
    for (uint32_t c = 0; c < columns; c++) {
        const struct resample_list *list = &table->lists[c];
        const float *weights = table->weights + list->weights, *from = r->line + (uint64_t)list->first * group;
        if (group == 1) {
            r->out[c] = resample_rows_dot(from, weights, list->count);
            continue;
        }
        for (uint32_t g = 0; g < group; g++) {
            float sum = 0;
            for (uint32_t i = 0; i < list->count; i++)
                sum += from[i * group + g] * weights[i];
            r->out[c * group + g] = sum;
        }
    }
}

static void resample_table_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct resample_rows r;
    resample_rows_init(&r, call);
    const struct kern_view *y = &r.plan.y;
    struct kern_view rows = *y;
    rows.rank = r.plan.inner + 1;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        const float *out = r.out;
        dense_row_at(&rows, row, at);
        if (!resample_rows_gather(&r, at))
            memset(r.out, 0, r.plan.out * sizeof(float));
        else if (r.plan.same)
            out = r.line;
        else
            resample_rows_inner(&r);
        dense_store_row(call->data[1], dense_offset(y, at, r.plan.inner), y->strides[y->rank - 1], y->type, r.plan.out,
                        out);
    }
}

KERN_ISA_RUN(resample_table_f32, resample_table_run)
