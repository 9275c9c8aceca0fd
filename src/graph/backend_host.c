/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend: kernels of kernels.def, which pack on the host. */
#include "graph/backend.h"

#include "graph/ir/cost.h"
#include "graph/ir/program.h"
#include "graph/plan/plan.h"

#include "base/cpu.h"

static bool host_supports(const struct graph_options *options, const struct kern_op *op, const char **out_reason)
{
    *out_reason = "no kernel supports it";
    return kern_find(op, options->cpu) != NULL;
}

static uint32_t host_priority(const struct graph_options *options, const struct kern_op *op)
{
    uint32_t count;
    const struct kern_row *row = kern_find(op, options->cpu);
    return row ? (uint32_t)(row - kern_rows(&count)) : GRAPH_PRIORITY_NONE;
}

static bool host_portable(uint32_t priority)
{
    uint32_t count;
    return !kern_rows(&count)[priority].cpu;
}

static bool host_multiplies(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    const bool bfloat = (uint32_t)type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    return options->cpu &
           (bfloat ? BASE_CPU_AMX_BF16 | BASE_CPU_BF16 : BASE_CPU_AVX2 | BASE_CPU_AVX512 | BASE_CPU_NEON);
}

static bool host_in_place(const struct kern_op *op)
{
    return op->kind == KERN_SCAN || graph_map_in_place(op);
}

/* ---- kernels ---- */

/* Looks for a kernel that packs input `packable` - 1; without one, for a kernel that packs nothing. */
static bool find_row(const struct graph_options *options, struct graph_step *step, uint32_t packable,
                     uint64_t *out_packed_bytes)
{
    uint32_t input = GRAPH_NONE;
    *out_packed_bytes = 0;
    step->op.packed_input = packable;
    step->op.tuning = options->tuning;
    const struct kern_row *row = kern_find(&step->op, options->cpu);
    step->u.host.row = row;
    if (!packable)
        return row != NULL;
    if (row && row->pack_plan && row->pack_plan(&step->op, &input, out_packed_bytes) && input + 1 == packable)
        return true;
    return find_row(options, step, 0, out_packed_bytes);
}

/* Ranges and threads of a step. Recurrent networks share out their steps themselves. */
static void limit_workers(struct graph_step *step, uint32_t threads)
{
    const struct kern_work *work = &step->u.host.work;
    uint64_t ranges = work->units / BASE_MAX(work->grain, 1);
    step->ranges = (uint32_t)BASE_MIN(BASE_MAX(ranges, 1), threads);
    /* One unit with memory for all workers shares out its work itself, as recurrent ones do. */
    const bool shares = work->units == 1 && work->scratch_bytes && !work->worker_scratch_bytes;
    step->threads = shares || step->u.host.row->kind == KERN_RECURRENT ? threads : step->ranges;
}

static HRESULT host_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                           uint32_t packable, uint64_t *out_packed_bytes)
{
    (void)arena;
    struct kern_work *work = &step->u.host.work;
    uint32_t threads = graph_op_threads(&step->op, options->threads);
    step->target = GRAPH_TARGET_HOST;
    step->op.cut = 0;
    step->op.threads = (uint16_t)BASE_MIN(threads, UINT16_MAX);
    if (!find_row(options, step, packable, out_packed_bytes))
        return DXGI_ERROR_UNSUPPORTED;
    step->u.host.row->plan(&step->op, threads, work);
    step->op.cut = work->cut;
    limit_workers(step, threads);
    step->kernel = step->u.host.row->name;
    step->scratch_bytes = work->scratch_bytes;
    if (work->worker_scratch_bytes > INT64_MAX - 64)
        return E_OUTOFMEMORY;
    if (work->worker_scratch_bytes > GRAPH_STACK_SCRATCH_BYTES)
        step->worker_scratch_stride = base_align_up(work->worker_scratch_bytes, 64);
    return S_OK;
}

/* ---- packing ---- */

static void host_pack(const struct graph_step *step, const void *source, void *packed)
{
    step->u.host.row->pack(&step->op, source, packed);
}

/* Zeroed before it is filled, since it is hashed whole. */
struct layout {
    const struct kern_row *row;
    uint32_t flags, packed_input, kind;
    struct kern_view view;
    DML_TENSOR_DATA_TYPE types[KERN_TENSORS_MAX];
    char parameters[sizeof(((struct kern_op *)NULL)->u)];
};

static struct base_hash host_pack_layout(const struct graph_step *step)
{
    const struct kern_op *op = &step->op;
    const struct kern_view *view = &op->tensors[op->packed_input - 1];
    struct layout layout;
    memset(&layout, 0, sizeof(layout));
    layout.row = step->u.host.row;
    layout.flags = op->flags;
    layout.kind = op->kind;
    layout.packed_input = op->packed_input;
    layout.view.type = view->type;
    layout.view.rank = view->rank;
    layout.view.offset = view->offset;
    /* Broadcast matrices are packed once, regardless of the number of repetitions. */
    for (uint32_t i = 0; i < view->rank; i++) {
        bool batch = op->kind == KERN_GEMM && i + 2 < view->rank;
        layout.view.sizes[i] = batch && !view->strides[i] ? 1 : view->sizes[i];
        layout.view.strides[i] = view->sizes[i] > 1 ? view->strides[i] : 0;
    }
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        layout.types[t] = op->tensors[t].type;
    memcpy(layout.parameters, &op->u, sizeof(op->u));
    return base_hash(&layout, sizeof(layout));
}

const struct graph_backend graph_backend_host = {
    .name = "host",
    .passes =
        GRAPH_PASSES_ALL & ~(GRAPH_PASS_BIT(filters) | /* kernels pack filters */
                             GRAPH_PASS_BIT(transposed) | GRAPH_PASS_BIT(fuse_upsampling) | GRAPH_PASS_BIT(levels)),
    .alignment = 256,
    .layout_work = 100, /* a copy of an element takes 1 ns, a multiplication 30 ps, of which a third may be gained */
    .merged_rows = 64,
    .derives = true,
    .supports = host_supports,
    .priority = host_priority,
    .portable = host_portable,
    .multiplies = host_multiplies,
    .in_place = host_in_place,
    .choose = host_choose,
    .pack = host_pack,
    .pack_layout = host_pack_layout,
};
