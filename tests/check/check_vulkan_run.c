/* SPDX-License-Identifier: Apache-2.0 */
/* One op on the device and with the reference kernel. Programs are made of graphs as libdirectml does, and run by a
 * command list. */
#include "check_vulkan.h"

#include "base/hash.h"
#include "graph/ir/constant.h"
#include "graph/plan/store.h"
#include "kernels/core/number.h"
#include "shaders/core/shader_block.h"
#include "shaders/conv/shader_conv.h"
#include "shaders/gemm/shader_tile.h"
#include "shaders/meta/shader_meta.h"

#include <math.h>

#define SLOT_ALIGN   256
#define ELEMENTS_MAX 500000 /* software adapters take minutes for the largest cases of some generators */

/* ---- the dispatch that runs one program ---- */

struct dispatch {
    struct adapter_dispatch base;
    const struct dml_spirv *program;
    uint32_t input_count, output_count; /* then comes the temporary buffer, if there is one */
};

static void dispatch_ref(struct adapter_dispatch *base)
{
    (void)base; /* it outlives the list */
}

static HRESULT dispatch_check(struct adapter_dispatch *base, const struct adapter_binding *bindings, uint32_t count,
                              enum adapter_moment moment, char *message)
{
    (void)base;
    (void)bindings;
    (void)count;
    (void)moment;
    (void)message;
    return S_OK;
}

static HRESULT dispatch_encode(struct adapter_dispatch *base, const struct adapter_binding *bindings, uint32_t count,
                               struct adapter_encoder *encoder)
{
    const struct dispatch *dispatch = container_of(base, struct dispatch, base);
    const uint32_t slots = dispatch->input_count + dispatch->output_count;
    struct dml_spirv_buffers buffers = { .inputs = bindings, .outputs = bindings + dispatch->input_count };
    if (count > slots)
        buffers.temp = bindings[slots];
    return dml_spirv_encode(dispatch->program, &buffers, NULL, encoder);
}

static const struct adapter_dispatch_ops dispatch_ops = {
    .ref = dispatch_ref,
    .unref = dispatch_ref,
    .check = dispatch_check,
    .encode = dispatch_encode,
};

/* ---- a backend of one row ---- */

static const struct shader_row *only_row; /* NULL: any */

static HRESULT only_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                           uint32_t packable, uint64_t *out_packed_bytes)
{
    const char *reason;
    struct shader_work *work = base_arena_alloc(arena, sizeof(*work));
    need(work);
    step->op.packed_input = packable;
    step->op.multiprocessors = (uint16_t)options->multiprocessors;
    if (!shader_row_find(only_row, &step->op, options->shader_capabilities, work, &reason))
        return DXGI_ERROR_UNSUPPORTED;
    *out_packed_bytes = work->packed_bytes;
    if (!work->packed_bytes)
        step->op.packed_input = 0;
    step->target = GRAPH_TARGET_SPIRV;
    step->u.spirv.work = work;
    step->kernel = only_row->name;
    step->scratch_bytes = work->scratch_bytes;
    return S_OK;
}

void bench_use_row(struct bench *bench, const struct shader_row *row)
{
    static struct graph_backend backend;
    backend = graph_backend_spirv;
    backend.choose = only_choose;
    backend.passes = 0;
    only_row = row;
    bench->backend = row ? &backend : &graph_backend_spirv;
}

uint32_t bench_capabilities(const struct bench *bench)
{
    return dml_shader_capabilities((struct dml_device *)&bench->dml); /* which notes what it finds */
}

/* ---- pipelines that were made ---- */

static uint64_t hash_of(const struct shader_dispatch *dispatch)
{
    uint32_t words[3 + SHADER_CONSTANTS_MAX] = { dispatch->shader.form, dispatch->shader.number,
                                                 dispatch->constant_count };
    memcpy(words + 3, dispatch->constants, dispatch->constant_count * sizeof(*words));
    return base_hash(words, sizeof(words)).low;
}

static bool is_made(const struct bench *bench, uint64_t hash)
{
    uint32_t i = 0;
    while (i < bench->pipeline_count && bench->pipelines[i] != hash)
        i++;
    return i < bench->pipeline_count;
}

bool bench_is_made(const struct bench *bench, const struct kern_op *op)
{
    struct shader_work work;
    const char *reason;
    bool made = shader_row_find(only_row, op, bench_capabilities(bench), &work, &reason);
    for (uint32_t i = 0; made && i < work.dispatch_count; i++)
        made = is_made(bench, hash_of(&work.dispatches[i]));
    return made;
}

static void note_pipelines(struct bench *bench, const struct shader_work *work)
{
    for (uint32_t i = 0; i < work->dispatch_count; i++) {
        const uint64_t hash = hash_of(&work->dispatches[i]);
        if (is_made(bench, hash))
            continue;
        bench->pipelines = realloc(bench->pipelines, (bench->pipeline_count + 1) * sizeof(hash));
        need(bench->pipelines);
        bench->pipelines[bench->pipeline_count++] = hash;
    }
}

/* ---- one case ---- */

static uint32_t tensor_count(const struct kern_op *op)
{
    return op->input_count + op->output_count;
}

/* Tensor t of the test's data. Second factors are constants where the row may pack them. */
static uint32_t value_of(const struct bench *bench, struct graph *graph, const struct kern_op *op,
                         const struct check_buffer *buffer, uint32_t t)
{
    const bool input = t < op->input_count;
    if (t == 1 && only_row && only_row->pack && bench->constants)
        return graph_constant_add(graph, buffer->block, buffer->size);
    return graph_value_add(graph, input ? GRAPH_INPUT : GRAPH_OUTPUT, input ? t : t - op->input_count, buffer->size);
}

/* The op on values that are the test's buffers; every tensor is a slot of its own. */
static HRESULT make_program(struct bench *bench, const struct kern_op *op, const struct check_set *set,
                            struct dml_spirv **out, char *error)
{
    struct graph_operand operands[KERN_TENSORS_MAX];
    struct graph_options options;
    struct graph_plan *plan = NULL;
    struct graph graph;
    graph_options_init(&options, bench->backend, 1);
    options.store = graph_store_create();
    need(options.store);
    options.shader_capabilities = bench_capabilities(bench);
    options.multiprocessors = bench->dml.adapter->multiprocessors;
    graph_init(&graph, op->input_count, op->output_count, 0);
    for (uint32_t t = 0; t < tensor_count(op); t++) {
        int64_t start = set->buffers[t].data - set->buffers[t].block;
        uint32_t bits = kern_type_bits(op->tensors[t].type);
        operands[t].value = value_of(bench, &graph, op, &set->buffers[t], t);
        operands[t].view = op->tensors[t];
        operands[t].view.offset = start * 8 / bits;
    }
    struct graph_op *node =
        graph_op_add(&graph, op->kind, operands, op->input_count, operands + op->input_count, op->output_count);
    HRESULT hr = node ? S_OK : E_OUTOFMEMORY;
    if (node) {
        node->k.u = op->u;
        node->k.epilogue = op->epilogue;
        node->k.epilogue_input = op->epilogue_input;
        node->origin = "case";
        hr = graph_plan_create(&graph, &options, &plan, error);
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->step_count; i++)
        note_pipelines(bench, plan->steps[i].u.spirv.work);
    if (SUCCEEDED(hr)) {
        struct dml_constants *none = dml_constants_create(&bench->dml);
        need(none);
        hr = dml_spirv_create(&bench->dml, plan, none, out, error);
    }
    graph_plan_destroy(plan);
    graph_finish(&graph);
    graph_store_destroy(options.store);
    return hr;
}

static void need_room(struct bench *bench, uint64_t bytes)
{
    if (bench->room >= bytes)
        return;
    if (bench->buffer)
        api_release(bench->buffer);
    bench->room = bytes * 2;
    bench->buffer = api_buffer(bench->d3d, D3D12_HEAP_TYPE_DEFAULT, bench->room);
}

/* The address of element 0 must keep its alignment on the device: whole blocks start at multiples of 64 plus a little.
 */
static uint64_t skew(const struct check_buffer *buffer)
{
    return (uintptr_t)buffer->block % 64;
}

static void copy_back(struct bench *bench, const struct kern_op *op, struct check_set *set, const uint64_t *at)
{
    for (uint32_t t = op->input_count; t < tensor_count(op); t++)
        api_read(&bench->q, bench->buffer, at[t], set->buffers[t].block, set->buffers[t].size);
}

static void run_program(struct bench *bench, const struct kern_op *op, struct check_set *set,
                        const struct dml_spirv *program)
{
    struct dispatch dispatch = { { &dispatch_ops }, program, op->input_count, op->output_count };
    struct anydml_buffer slots[KERN_TENSORS_MAX + 1];
    struct anydml_resource_info info;
    uint64_t at[KERN_TENSORS_MAX], bytes = 0, temp_bytes, persistent_bytes;
    uint32_t count = tensor_count(op);
    struct anydml_recording recording = { 0 };
    char message[ADAPTER_MESSAGE_BYTES];
    dml_spirv_sizes(program, &temp_bytes, &persistent_bytes);
    for (uint32_t t = 0; t < tensor_count(op); t++) {
        at[t] = bytes + skew(&set->buffers[t]);
        bytes = base_align_up(at[t] + set->buffers[t].size + 4, SLOT_ALIGN);
    }
    need_room(bench, bytes + temp_bytes);
    need(bench->anydml->lpVtbl->GetResourceInfo(bench->anydml, bench->buffer, &info));
    for (uint32_t t = 0; t < tensor_count(op); t++) {
        api_write(&bench->q, bench->buffer, at[t], set->buffers[t].block, set->buffers[t].size);
        slots[t] = (struct anydml_buffer){ info.resource_id, at[t], set->buffers[t].size };
    }
    if (temp_bytes)
        slots[count++] = (struct anydml_buffer){ info.resource_id, bytes, temp_bytes };
    ID3D12GraphicsCommandList_SetDescriptorHeaps(bench->q.list, 1, &bench->heap);
    const struct anydml_descriptors range = { ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(bench->heap),
                                              ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(bench->heap),
                                              count, NULL };
    need(SUCCEEDED(bench->anydml->lpVtbl->WriteDescriptors(bench->anydml, &range, 0, count, slots, message)));
    HRESULT hr = bench->anydml->lpVtbl->RecordDispatch(bench->anydml, (ID3D12CommandList *)bench->q.list,
                                                       &dispatch.base, &range, NULL, &recording);
    bench_ok(bench, hr == S_OK, "0x%08x", (unsigned)hr);
    api_queue_run(&bench->q);
    copy_back(bench, op, set, at);
}

/* ---- what may differ ---- */

/* Devices may take subnormal numbers for zeros: data has none, and results that are one count as zero. Data beyond
 * `most`, from which intermediate results overflow that the reference computes in double, is cut. */
static void tame(const struct kern_view *view, const struct check_buffer *buffer, double most)
{
    uint32_t index[KERN_RANK_MAX] = { 0 };
    double least = 1e-35; /* intermediate results may be a thousandth of that */
    if (view->type != DML_TENSOR_DATA_TYPE_FLOAT32 && view->type != DML_TENSOR_DATA_TYPE_FLOAT64 &&
        view->type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return;
    do {
        double value = kern_read_double(view->type, buffer->data, kern_offset(view, index));
        if (fabs(value) < least)
            kern_write_double(view->type, buffer->data, kern_offset(view, index), 0);
        else if (fabs(value) > most && !isinf(value))
            kern_write_double(view->type, buffer->data, kern_offset(view, index), copysign(most, value));
    } while (kern_advance(view->rank, view->sizes, index));
}

/* Of rows that are not element-wise: as check.c allows it to kernels. In FLOAT64 the reference is not exact, either: it
 * adds up one after the other. */
static double row_tolerance(const struct kern_op *op, const struct kern_view *view)
{
    if (view->type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return only_row->max_ulp ? only_row->max_ulp + sqrt((double)kern_view_elements(&op->tensors[0])) : 0;
    if (view->type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return only_row->max_ulp ? 1 + BASE_MIN(only_row->max_ulp / 512.0, 1 + only_row->max_ulp / 8192.0) : 0;
    if (view->type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return only_row->max_ulp ? 1 + floor(only_row->max_ulp / 65536.0) : 0;
    return kern_type_class(view->type) == KERN_CLASS_FLOAT ? only_row->max_ulp : 0;
}

/* Units in the last place: exact where the reference rounds once and the device must. */
static double tolerance(const struct kern_op *op, const struct kern_view *view)
{
    double most = 0;
    if (op->kind != KERN_MAP)
        return only_row ? row_tolerance(op, view) : 0;
    for (uint32_t i = 0; i < op->u.map.inst_count; i++) {
        const struct kern_map_inst *inst = &op->u.map.inst[i];
        if (kern_type_class(inst->type) != KERN_CLASS_FLOAT)
            continue;
        /* the error of the exponent or square that it is computed from counts many times */
        bool steep = inst->code == KERN_MAP_POW || inst->code == KERN_MAP_GELU;
        most = BASE_MAX(most, steep ? 100 : inst->code < KERN_MAP_DIV ? 1 : 12);
    }
    return most;
}

/* Devices need not fuse a multiplication with an addition, and errors of squares grow: where results nearly cancel or
 * vanish, errors are measured against the largest one, over tame data. */
static bool cancels(const struct kern_op *op)
{
    for (uint32_t i = 0; op->kind == KERN_MAP && i < op->u.map.inst_count; i++)
        switch (op->u.map.inst[i].code) {
        case KERN_MAP_MULADD:
        case KERN_MAP_FMA:
        case KERN_MAP_HARD_SIGMOID:
        case KERN_MAP_HARD_SWISH:
        case KERN_MAP_GELU:
            return true;
        default:
            break;
        }
    return false;
}

void bench_tame_case(struct check_case *c)
{
    for (uint32_t t = 0; t < c->op.input_count && cancels(&c->op); t++)
        c->data[t] = CHECK_DATA_NORMAL;
}

static void explain(const struct kern_op *op, const struct check_error *error)
{
    static const char *const names[] = {
#define MAPOP(name, arity, types, formula) #name,
#include "kernels/core/mapops.def"
    };
    const char *name = only_row ? only_row->name : op->kind == KERN_MAP ? "map" : "move";
    fprintf(stderr, "failed: got %.9g, want %.9g, %.1f units apart at", error->got, error->want, error->worst);
    for (uint32_t d = 0; d < op->tensors[op->input_count].rank; d++)
        fprintf(stderr, " %u", error->index[d]);
    fprintf(stderr, "; %s", name);
    for (uint32_t i = 0; op->kind == KERN_MAP && i < op->u.map.inst_count && i < 8; i++)
        fprintf(stderr, " %s:%u->%u", names[op->u.map.inst[i].code], op->u.map.inst[i].type, op->u.map.inst[i].to_type);
    for (uint32_t t = 0; op->kind == KERN_MAP && t < op->input_count; t++)
        fprintf(stderr, "%s%u", t ? " " : ", loaded as ", op->u.map.load_type[t]);
    if (op->kind == KERN_MAP)
        fprintf(stderr, ", stores %u", op->u.map.store[0]);
    fprintf(stderr, ", tensors");
    for (uint32_t t = 0; t < tensor_count(op); t++) {
        fprintf(stderr, " %u [", op->tensors[t].type);
        for (uint32_t d = 0; d < op->tensors[t].rank; d++)
            fprintf(stderr, " %u:%lld", op->tensors[t].sizes[d], (long long)op->tensors[t].strides[d]);
        fprintf(stderr, " ]");
    }
    fputc('\n', stderr);
}

/* The reference kernel, which is the last of its kind; NULL: it does not take the op. */
static const struct kern_row *reference_row(const struct kern_op *op)
{
    const struct kern_row *row = check_reference(op->kind);
    return row && row->accepts(op) ? row : NULL;
}

static void run_reference(const struct kern_op *op, const struct check_set *set)
{
    void *data[KERN_TENSORS_MAX];
    struct kern_op portable = *op;
    const struct kern_row *row = reference_row(op);
    need(row);
    for (uint32_t t = 0; t < tensor_count(op); t++)
        data[t] = set->buffers[t].data;
    struct kern_work work;
    row->plan(&portable, 1, &work);
    void *scratch = calloc(1, work.scratch_bytes + work.worker_scratch_bytes + 64);
    need(scratch);
    struct kern_call call = { &portable, data, scratch, (char *)scratch + work.scratch_bytes };
    row->run(&call, 0, work.units);
    free(scratch);
}

/* Rows of arithmetic in floating point; others keep every bit. */
static bool inexact(const struct kern_op *op)
{
    return op->kind == KERN_MAP || (only_row && only_row->max_ulp > 0);
}

static void compare(struct bench *bench, const struct kern_op *op, struct check_set *got, struct check_set *want)
{
    const struct check_case how = { .norm_wise = op->kind == KERN_MAP ? cancels(op) : bench->norm_wise };
    struct check_error error;
    for (uint32_t t = op->input_count; t < tensor_count(op); t++) {
        const struct kern_view *view = &op->tensors[t];
        if (inexact(op)) {
            tame(view, &got->buffers[t], INFINITY);
            tame(view, &want->buffers[t], INFINITY);
        }
        double most = bench->max_ulp < 0 ? tolerance(op, view) : bench->max_ulp;
        bool same = check_compare(&how, view, &got->buffers[t], &want->buffers[t], most, &error);
        if (!same)
            explain(op, &error);
        bool guarded = check_buffer_guarded(&got->buffers[t], view);
        if (!guarded)
            fprintf(stderr, "failed: wrote beside output %u, type %u\n", t - op->input_count, view->type);
        bench->failed += !same || !guarded;
    }
}

/* The second step of NONZERO needs the counts of the first. */
static void fill_counts(const struct kern_op *op, const struct check_set *set)
{
    struct kern_op count = *op;
    if (op->kind != KERN_NONZERO || !op->u.nonzero.write)
        return;
    count.u.nonzero.write = false;
    count.input_count = count.output_count = 1;
    run_reference(&count, set);
}

void bench_run_case(struct bench *bench, const struct check_case *c, struct check_rng *rng)
{
    struct check_set device, host;
    struct check_rng again = *rng;
    struct dml_spirv *program = NULL;
    char error[DML_ERROR_BYTES] = "";
    need(check_set_create(&device, c, rng));
    need(check_set_create(&host, c, &again));
    for (uint32_t t = 0; t < c->op.input_count && inexact(&c->op) && !bench->wild; t++) {
        tame(&c->op.tensors[t], &device.buffers[t], 1e18);
        tame(&c->op.tensors[t], &host.buffers[t], 1e18);
    }
    fill_counts(&c->op, &device);
    fill_counts(&c->op, &host);
    HRESULT hr = make_program(bench, &c->op, &device, &program, error);
    if (hr == DXGI_ERROR_UNSUPPORTED) {
        bench->unsupported++;
    } else {
        bench_ok(bench, hr == S_OK, "0x%08x %s", (unsigned)hr, error);
        need(program);
        if (!bench->compiles) {
            run_program(bench, &c->op, &device, program);
            run_reference(&c->op, &host);
            compare(bench, &c->op, &device, &host);
        }
        bench->ran++;
        for (uint32_t i = 0; c->op.kind == KERN_MAP && i < c->op.u.map.inst_count; i++)
            bench->seen[c->op.u.map.inst[i].code] = true;
    }
    dml_spirv_destroy(&bench->dml, program);
    check_set_destroy(&device);
    check_set_destroy(&host);
}

/* ---- a random case of a row ---- */

uint64_t bench_elements(const struct kern_op *op)
{
    uint64_t most = 0;
    for (uint32_t t = 0; t < tensor_count(op); t++)
        most = BASE_MAX(most, kern_view_elements(&op->tensors[t]));
    return most;
}

/* The generator writes with one block: counts that are right are known here only. */
static void split_nonzero(struct kern_op *op, uint32_t into)
{
    const uint32_t elements = (uint32_t)kern_view_elements(&op->tensors[0]);
    if (op->kind != KERN_NONZERO || !op->u.nonzero.write)
        return;
    op->u.nonzero.block = 1 + elements / into;
    const uint32_t blocks = (elements + op->u.nonzero.block - 1) / op->u.nonzero.block;
    kern_view_set_packed(&op->tensors[1], DML_TENSOR_DATA_TYPE_UINT32, 1, &blocks);
}

static bool takes(const struct bench_search *search, const struct kern_op *op)
{
    const char *reason;
    struct shader_work work;
    if (!shader_row_find(search->row, op, search->capabilities, &work, &reason))
        return false;
    /* This row has a workgroup with many passes for each line; thousands of them took minutes. */
    return strcmp(search->row->name, "sort_group") != 0 || work.dispatches[0].groups[0] <= 64;
}

static bool find(const struct bench_search *search, struct check_rng *rng, struct check_case *c)
{
    static check_gen_fn *const generators[KERN_KIND_COUNT] = {
#define KIND(NAME, name) check_gen_##name,
#include "kernels/core/kinds.def"
#undef KIND
    };
    for (uint32_t tries = 0; tries < search->tries; tries++) {
        memset(c, 0, sizeof(*c));
        generators[search->row->kind](rng, c);
        if (c->op.epilogue && !takes(search, &c->op)) {
            c->op.tensors[c->op.epilogue_input] = c->op.tensors[c->op.input_count];
            c->op.input_count = c->op.epilogue_input;
            c->op.epilogue = NULL;
        }
        if (c->op.kind == search->row->kind && reference_row(&c->op) && bench_elements(&c->op) < ELEMENTS_MAX &&
            takes(search, &c->op) && (!search->suits || search->suits(search, &c->op)))
            return true;
    }
    return false;
}

bool bench_find_case(struct bench *bench, const struct bench_search *search, struct check_rng *rng,
                     struct check_case *out)
{
    const uint32_t i = search->index;
    *rng = (struct check_rng){ (search->seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1 };
    check_next(rng);
    /* Pipelines for known types take long to make; some rows have no others. */
    const char *name = search->row->name;
    const bool always = strstr(name, "_line") || strstr(name, "_subgroup") || strstr(name, "_flat") ||
                        strstr(name, "_plane") || strstr(name, "_two") || strstr(name, "_radix") ||
                        strstr(name, "_select") || !strcmp(name, "sort_group") || strstr(name, "_wide") ||
                        !strcmp(name, "move_tile") || !strcmp(name, "norm_rows"),
               often = strstr(name, "_direct") || !strcmp(name, "pad_any");
    shader_specialize_from(i % 16 == 7 || (i % 2 && often) || always ? 1 : UINT64_MAX);
    check_buffer_past(i % 2 ? 16 : 8);
    shader_tile_force((enum shader_tile_kind)(i % 8 % 3));
    shader_gemm_meta_force(i % 3 ? i / 3 % 32 : 0);
    bench->constants = i % 5 > 1;
    shader_coop_force(i % 8 == 5 ? 1 + (uint32_t)search->seed + i / 8 : 0, 1 + i / 8 % 2);
    shader_conv_window_force(1 + i);
    shader_conv_depth_force(1 + i % 3);
    shader_conv_force_small(true);
    shader_block_force(i % 8 == 5 ? 1 + (uint32_t)search->seed + i / 8 : 0, 1 + i / 8 % 2);
    if (!find(search, rng, out))
        return false;
    split_nonzero(&out->op, 1 + i % 9);
    bench_tame_case(out);
    bench->norm_wise = out->norm_wise;
    return true;
}
