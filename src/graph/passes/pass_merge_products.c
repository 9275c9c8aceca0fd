/* SPDX-License-Identifier: Apache-2.0 */
/* Several GEMMs of the same matrix of few rows with different constant matrices, floats or quantised, become one GEMM
 * with the constants side by side, if all have the same epilogue: one step instead of several, and more columns to
 * share among threads. Readers of the results then view parts of the wide one. The backend states the maximum number of
 * rows. On CPUs many rows gain nothing, because each GEMM is long enough alone: 128 rows, FLOAT32, three of 768x768
 * take 0.99 of the time with one thread and the same with two, two of 768x3072 the same and 0.98; and the concatenated
 * weights would be stored twice while compiling. */
#include "graph/passes/pass.h"

#include "base/parallel.h"
#include "kernels/core/number.h"

#include <stdlib.h>

#define MERGED_MAX   8
#define LOOKED_MAX   64 /* maximum number of GEMMs of one matrix that are searched for candidates */
#define ROWS_AT_ONCE 32 /* of concatenated columns */

#define PROMPT_ROWS 512

/* Quantised weights of 768x768, one row: three GEMMs take 0.78 of the time with two threads, 0.96 with one. Those of
 * 4096x4096 gain 2 %; unmerged, they are the same constants in the store as those of the graph that was compiled for
 * many rows. */
#define CODES_MAX (UINT64_C(4) << 20) /* elements of a matrix */

struct merging {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
    uint32_t *next;                   /* [position of a GEMM]: the next one of the same matrix, or GRAPH_NONE */
    struct graph_op *ops[MERGED_MAX]; /* in order */
    uint32_t at[MERGED_MAX], count;
    uint64_t columns;
};

static const struct kern_view *result_of(const struct graph_op *op)
{
    return &op->k.tensors[op->k.input_count];
}

static uint32_t last_size(const struct kern_view *view)
{
    return view->sizes[view->rank - 1];
}

/* A constant of floats as wide as the result; only the last `dims` dimensions matter. */
static bool wide_constant(const struct merging *merging, const struct graph_op *op, uint32_t t, uint32_t dims)
{
    const struct graph *graph = merging->graph;
    const struct kern_view *view = &op->k.tensors[t], *y = result_of(op);
    if (!graph_value_fixed(graph, merging->options, op->value[t]) || !graph_is_float(view->type) ||
        view->rank != y->rank || last_size(view) != last_size(y) || !graph_operand_fits(graph, op, t))
        return false;
    for (uint32_t d = 0; d + dims < view->rank; d++)
        if (view->sizes[d] > 1 && view->strides[d] != 0)
            return false;
    return true;
}

/* Operands from 1 on that are the matrix; the following ones are as wide as the result. */
static uint32_t matrix_end(const struct graph_op *op)
{
    return op->k.kind == KERN_QGEMM ? 3 + op->k.u.qgemm.has_zero : 2;
}

/* Whether the backend also merges the GEMMs of long prompts: the graphs of a token and of a prompt then have the same
 * constants. */
static bool merges_prompts(const struct merging *merging)
{
    return merging->options->backend->merged_rows >= PROMPT_ROWS;
}

/* Consecutive panels: those of the next matrix may follow. */
static bool constant_panels(const struct merging *merging, const struct graph_op *op)
{
    const struct graph *graph = merging->graph;
    if (op->k.tensors[0].sizes[op->k.tensors[0].rank - 1] * (uint64_t)last_size(result_of(op)) > CODES_MAX &&
        !merges_prompts(merging))
        return false;
    for (uint32_t t = 1; t < matrix_end(op); t++)
        if (!graph_value_fixed(graph, merging->options, op->value[t]) || !kern_view_packed(&op->k.tensors[t]) ||
            op->k.tensors[t].offset || !graph_operand_fits(graph, op, t))
            return false;
    return true;
}

static bool constant_matrix(const struct merging *merging, const struct graph_op *op)
{
    if (op->k.kind == KERN_QGEMM)
        return constant_panels(merging, op);
    return op->k.kind == KERN_GEMM && !op->k.u.gemm.integer && wide_constant(merging, op, 1, 2);
}

/* Whether the reader may become the epilogue of the op that writes the value: it is element-wise. An op that views the
 * value in several ways, as rotary embeddings do, remains separate. */
static bool may_end(const struct merging *merging, const struct graph_op *reader, uint32_t value)
{
    uint32_t reads = 0;
    for (uint32_t t = 0; t < reader->k.input_count; t++)
        reads += reader->value[t] == value;
    return reader->k.kind == KERN_MAP && (reads == 1 || !merges_prompts(merging));
}

/* The result has no other writer, and is not about to be fused with the only element-wise op that reads it. */
static bool suits(const struct merging *merging, const struct graph_op *op)
{
    const struct graph *graph = merging->graph;
    const struct kern_view *y = result_of(op);
    if (op->dead || (op->k.kind != KERN_GEMM && op->k.kind != KERN_QGEMM) || op->k.output_count != 1 || y->rank < 2 ||
        kern_view_elements(y) / last_size(y) > merging->options->backend->merged_rows || !constant_matrix(merging, op))
        return false;
    for (uint32_t t = matrix_end(op); t < op->k.input_count; t++)
        if (!wide_constant(merging, op, t, 1))
            return false;
    uint32_t value = op->value[op->k.input_count];
    struct graph_use_summary sum = graph_uses_of(&merging->uses, value);
    return graph->values[value].place == GRAPH_TEMP && sum.writes == 1 && sum.reading_ops &&
           (sum.reading_ops > 1 || !may_end(merging, graph->ops[sum.reader], value));
}

static bool same_parameters(const struct graph_op *a, const struct graph_op *b)
{
    const struct kern_qgemm *left = &a->k.u.qgemm, *right = &b->k.u.qgemm;
    if (a->k.kind != b->k.kind)
        return false;
    if (a->k.kind == KERN_QGEMM)
        return left->block == right->block && left->has_zero == right->has_zero;
    return memcmp(&a->k.u.gemm, &b->k.u.gemm, sizeof(a->k.u.gemm)) == 0;
}

/* The dimension of operand t along the columns: panels, or the last. */
static uint32_t wide_dim(const struct graph_op *op, uint32_t t)
{
    return op->k.kind == KERN_QGEMM && t < matrix_end(op) ? 0 : op->k.tensors[t].rank - 1;
}

/* Equal except for the constants and how wide they are. */
static bool alike(const struct graph_op *a, const struct graph_op *b)
{
    if (a->value[0] != b->value[0] || !graph_view_equal(&a->k.tensors[0], &b->k.tensors[0]) ||
        a->k.flags != b->k.flags || a->k.input_count != b->k.input_count || !same_parameters(a, b) ||
        !a->k.epilogue != !b->k.epilogue)
        return false;
    if (a->k.epilogue && (a->k.epilogue_input != b->k.epilogue_input ||
                          memcmp(a->k.epilogue, b->k.epilogue, sizeof(*a->k.epilogue)) != 0))
        return false;
    for (uint32_t t = 1; t <= a->k.input_count; t++) {
        const struct kern_view *left = &a->k.tensors[t], *right = &b->k.tensors[t];
        if (left->type != right->type || left->rank != right->rank)
            return false;
        for (uint32_t d = 0; d < left->rank; d++)
            if (d != wide_dim(a, t) && left->sizes[d] != right->sizes[d])
                return false;
    }
    return true;
}

/* The columns after this op's begin with a panel. */
static bool ends_panel(const struct graph_op *op)
{
    return op->k.kind != KERN_QGEMM || last_size(result_of(op)) % KERN_QGEMM_COLUMNS == 0;
}

/* The device can hold the wide matrix. */
static bool fits_device(const struct merging *merging)
{
    const uint64_t most = merging->options->constant_bytes_max;
    const struct kern_view *x = &merging->ops[0]->k.tensors[0], *matrix = &merging->ops[0]->k.tensors[1];
    uint64_t bits = kern_type_bits(matrix->type);
    return !most ||
           (base_mul_u64(bits, last_size(x), &bits) && base_mul_u64(bits, merging->columns, &bits) && bits / 8 <= most);
}

/* Collects the op at `at` and later ones like it; their inputs do not change in between. */
static bool find(struct merging *merging, uint32_t at)
{
    struct graph *graph = merging->graph;
    struct graph_op *first = graph->ops[at];
    merging->count = 0;
    merging->columns = 0;
    if (!suits(merging, first))
        return false;
    for (uint32_t i = at, looked = 0; i != GRAPH_NONE && looked < LOOKED_MAX && merging->count < MERGED_MAX;
         i = merging->next[i], looked++) {
        struct graph_op *op = graph->ops[i];
        if (i > at && (!graph_stable_between(&merging->uses, first->value[0], at, i) ||
                       !ends_panel(merging->ops[merging->count - 1])))
            break;
        if (i > at && (!suits(merging, op) || !alike(first, op)))
            continue;
        merging->at[merging->count] = i;
        merging->ops[merging->count++] = op;
        merging->columns += last_size(result_of(op));
    }
    return merging->count > 1 && merging->columns <= INT32_MAX && fits_device(merging);
}

/* The op with operands in old results replaced by ones in `wide`, whose value is `value`. */
static bool redirect(const struct merging *merging, const struct kern_view *wide, uint32_t value, struct graph_op *op)
{
    struct kern_view part = *wide;
    for (uint32_t i = 0; i < merging->count; i++) {
        const struct graph_op *old = merging->ops[i];
        const struct kern_view *y = result_of(old);
        part.sizes[part.rank - 1] = last_size(y);
        for (uint32_t t = 0; t < op->k.input_count; t++) {
            if (op->value[t] != old->value[old->k.input_count])
                continue;
            if (!graph_view_through(y, &part, &op->k.tensors[t], &op->k.tensors[t]))
                return false;
            op->value[t] = value;
        }
        part.offset += last_size(y);
    }
    return true;
}

/* All readers: first a trial (`apply` false; the first result represents the wide one), then the change itself. */
static bool redirect_all(struct merging *merging, const struct kern_view *wide, uint32_t value, bool apply)
{
    struct graph *graph = merging->graph;
    const struct graph_uses *uses = &merging->uses;
    for (uint32_t i = 0; i < merging->count; i++) {
        const struct graph_op *old = merging->ops[i];
        uint32_t at = graph_uses_first_read(uses, old->value[old->k.input_count]);
        for (; at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
            uint32_t reader = uses->pool[at].op;
            struct graph_op changed = *graph->ops[reader];
            if (!redirect(merging, wide, value, &changed) ||
                (!apply && !graph_op_no_worse(graph, merging->options, graph->ops[reader], &changed)))
                return false;
            if (!apply)
                continue;
            *graph->ops[reader] = changed;
            graph->failed |= !graph_uses_refresh(&merging->uses, reader);
        }
    }
    return true;
}

static uint64_t packed_bytes(const struct kern_view *view)
{
    return kern_view_elements(view) * kern_type_bits(view->type) / 8;
}

/* Concatenates operand t of all ops: consecutive panels, or columns side by side. */
struct joining {
    struct kern_view views[MERGED_MAX];
    uint32_t widths[MERGED_MAX], rows, count;
    uint64_t columns;
};

static bool run_join_panels(const void *context, const void *const *in, void *const *out)
{
    const struct joining *joining = context;
    char *to = out[0];
    for (uint32_t i = 0; i < joining->count; i++) {
        memcpy(to, in[i], packed_bytes(&joining->views[i]));
        to += packed_bytes(&joining->views[i]);
    }
    return true;
}

struct columns {
    const struct joining *joining;
    const void *const *in;
    char *out;
};

/* Constant sizes become one instruction. */
static inline void copy_element(char *to, const char *from, uint64_t bytes)
{
    if (bytes == 2)
        memcpy(to, from, 2);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

/* Rows [begin, end) of a matrix whose columns are not side by side: a few rows at a time, so that what is read of a
 * column is in the caches for all of them. */
static void gather_columns(const struct kern_view *view, const char *data, size_t begin, size_t end, uint64_t pitch,
                           char *to)
{
    const uint64_t bytes = kern_type_bytes(view->type);
    const int64_t row = view->sizes[view->rank - 2] > 1 ? view->strides[view->rank - 2] : 0;
    const int64_t step = last_size(view) > 1 ? view->strides[view->rank - 1] : 0;
    for (size_t first = begin; first < end; first += ROWS_AT_ONCE) {
        const size_t last = BASE_MIN(first + ROWS_AT_ONCE, end);
        for (uint32_t c = 0; c < last_size(view); c++)
            for (size_t k = first; k < last; k++)
                copy_element(to + k * pitch + c * bytes,
                             data + (view->offset + (int64_t)k * row + c * step) * (int64_t)bytes, bytes);
    }
}

static void copy_columns(const struct kern_view *view, const char *data, size_t begin, size_t end, uint64_t pitch,
                         char *to)
{
    const int64_t bytes = (int64_t)kern_type_bytes(view->type);
    const int64_t row = view->sizes[view->rank - 2] > 1 ? view->strides[view->rank - 2] : 0;
    for (size_t k = begin; k < end; k++)
        memcpy(to + k * pitch, data + (view->offset + (int64_t)k * row) * bytes, last_size(view) * (uint64_t)bytes);
}

static void join_rows(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct columns *columns = context;
    const struct joining *joining = columns->joining;
    const uint64_t bytes = kern_type_bytes(joining->views->type);
    char *to = columns->out;
    (void)worker;
    for (uint32_t i = 0; i < joining->count; i++) {
        const struct kern_view *view = &joining->views[i];
        const bool plain = last_size(view) == 1 || view->strides[view->rank - 1] == 1;
        (plain ? copy_columns : gather_columns)(view, columns->in[i], begin, end, joining->columns * bytes, to);
        to += joining->widths[i] * bytes;
    }
}

static bool run_join_columns(const void *context, const void *const *in, void *const *out)
{
    const struct joining *joining = context;
    struct columns columns = { joining, in, out[0] };
    base_parallel_for(joining->rows, ROWS_AT_ONCE, join_rows, &columns);
    return true;
}

static bool join(const struct merging *merging, uint32_t t, uint32_t rows, graph_derive_fn *run,
                 const struct graph_operand *out)
{
    struct joining joining = { .rows = rows, .count = merging->count, .columns = merging->columns };
    uint32_t values[MERGED_MAX + 1];
    for (uint32_t i = 0; i < merging->count; i++) {
        values[i] = merging->ops[i]->value[t];
        joining.views[i] = merging->ops[i]->k.tensors[t];
        joining.widths[i] = last_size(result_of(merging->ops[i]));
    }
    values[merging->count] = out->value;
    return graph_derive(merging->graph, &(struct graph_derivation){ "merge_products", run, &joining, sizeof(joining),
                                                                    merging->count, 1, values });
}

static bool join_panels(const struct merging *merging, uint32_t t, struct graph_op *out)
{
    const struct kern_view view = out->k.tensors[t];
    struct graph_operand made = graph_temp(merging->graph, view.type, view.rank, view.sizes);
    out->value[t] = made.value;
    out->k.tensors[t] = made.view;
    return join(merging, t, 0, run_join_panels, &made);
}

static bool join_constants(const struct merging *merging, uint32_t t, struct graph_op *out)
{
    const struct kern_view *view = &merging->ops[0]->k.tensors[t];
    uint32_t sizes[KERN_RANK_MAX], rows = t < matrix_end(out) ? view->sizes[view->rank - 2] : 1;
    for (uint32_t d = 0; d < view->rank; d++)
        sizes[d] = 1;
    sizes[view->rank - 2] = rows;
    sizes[view->rank - 1] = (uint32_t)merging->columns;
    struct graph_operand made = graph_temp(merging->graph, view->type, view->rank, sizes);
    memcpy(sizes, view->sizes, sizeof(sizes));
    sizes[view->rank - 1] = (uint32_t)merging->columns;
    out->value[t] = made.value;
    out->k.tensors[t] = graph_view_broadcast(&made.view, view->rank, sizes);
    return join(merging, t, rows, run_join_columns, &made);
}

/* The wide GEMM, still with narrow constants: sufficient to query its kernel. */
static void widen(const struct merging *merging, struct graph_op *out)
{
    *out = *merging->ops[0];
    for (uint32_t t = 1; t <= out->k.input_count; t++) {
        struct kern_view *view = &out->k.tensors[t];
        bool panels = out->k.kind == KERN_QGEMM && t < matrix_end(out);
        view->sizes[wide_dim(out, t)] =
            (uint32_t)(panels ? (merging->columns + KERN_QGEMM_COLUMNS - 1) / KERN_QGEMM_COLUMNS : merging->columns);
    }
    struct kern_view *y = &out->k.tensors[out->k.input_count], narrow = *y;
    kern_view_set_packed(y, narrow.type, narrow.rank, narrow.sizes);
}

/* Removes the narrow constants unless they have other readers. */
static void drop_constants(const struct merging *merging, const struct graph_op *first)
{
    for (uint32_t i = 0; i < merging->count; i++)
        for (uint32_t t = 1; t < first->k.input_count; t++)
            graph_constant_drop_unread(merging->graph, &merging->uses, i ? merging->ops[i]->value[t] : first->value[t]);
}

static bool merge(struct merging *merging)
{
    struct graph *graph = merging->graph;
    struct graph_op *first = merging->ops[0], old = *first, made;
    uint32_t y = first->k.input_count;
    widen(merging, &made);
    if (!graph_op_no_worse(graph, merging->options, first, &made) ||
        !redirect_all(merging, &made.k.tensors[y], first->value[y], false))
        return false;
    for (uint32_t t = 1; t < y; t++)
        if (!(made.k.kind == KERN_QGEMM && t < matrix_end(&made) ? join_panels : join_constants)(merging, t, &made))
            return false;
    struct graph_operand wide =
        graph_temp(graph, made.k.tensors[y].type, made.k.tensors[y].rank, made.k.tensors[y].sizes);
    if (wide.value == GRAPH_NONE)
        return false;
    redirect_all(merging, &wide.view, wide.value, true);
    made.value[y] = wide.value;
    made.k.tensors[y] = wide.view;
    for (uint32_t i = 1; i < merging->count; i++) {
        merging->ops[i]->dead = true;
        graph_op_join(&made, merging->ops[i]);
    }
    *first = made;
    graph->failed |= !graph_uses_refresh(&merging->uses, merging->at[0]);
    drop_constants(merging, &old);
    return true;
}

static bool link_products(struct merging *merging)
{
    const struct graph *graph = merging->graph;
    uint32_t *later = malloc((graph->value_count + (size_t)1) * sizeof(*later)); /* [value]: its first GEMM */
    merging->next = malloc((graph->op_count + (size_t)1) * sizeof(*merging->next));
    if (later)
        memset(later, 0xff, graph->value_count * sizeof(*later));
    for (uint32_t i = graph->op_count; later && merging->next && i--;) {
        const struct graph_op *op = graph->ops[i];
        if (op->k.kind != KERN_GEMM && op->k.kind != KERN_QGEMM)
            continue;
        merging->next[i] = later[op->value[0]];
        later[op->value[0]] = i;
    }
    free(later);
    return later && merging->next;
}

HRESULT graph_pass_merge_products(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct merging merging = { .graph = graph, .options = options };
    bool ok = graph_uses_init(&merging.uses, graph) && link_products(&merging);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= find(&merging, i) && merge(&merging);
    free(merging.next);
    graph_uses_finish(&merging.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
