/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the whole way: operators and graphs described from bytes are created, compiled, bound and run, on the
 * adapter that ANYDML_TEST_ADAPTER names. A caller's mistake must be refused; nothing may crash, leak, hang, or touch
 * memory outside what is bound.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz); without, a program that runs the files and folders
 * it is given, which is how the kept corpus is a test, or with --random SEED COUNT makes inputs of its own; in builds
 * for fuzzing --keep FOLDER copies there those files that reach code that the files before did not; with --every N it
 * runs one of N files. Under AddressSanitizer everything of the arena that is not bound is poisoned, so that kernels
 * are caught reading or writing outside their tensors. */
#include "api/dml_test.h"

#include "files.h"
#include "mutate.h"

#include <inttypes.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size)   ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

enum {
    NODES_MAX = 4,
    SLOTS_MAX = BOUND_MAX,
    CONSTANTS_MAX = 8,
    GAP = 256,
    GAP_BYTE = 0xe5,
    TAKEN_MAX = 2 * SLOTS_MAX + 4,
};
#define ARENA_BYTES (64u << 20)
/* A temporary or persistent buffer beyond this is not run: inputs are small, but windows may be large. */
#define RUN_BYTES_MAX (16u << 20)

struct arena {
    ID3D12Resource *buffer;
    uint8_t *host; /* on the cpu adapter an address of the device is one of the host; on others a copy */
    uint64_t used;
    struct bound taken[TAKEN_MAX];
    uint32_t taken_count;
};

static struct rig rig;
static bool copies;        /* arenas are copied to the device and back */
static uint32_t runs[512]; /* of each row of the schema, alone or in a graph */
/* A persistent buffer lies in its own: owned inputs and what is made of them may not share a resource. */
static struct arena arena, kept;

static struct arena arena_create(void)
{
    struct arena out = { .buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, ARENA_BYTES) };
    out.host = copies ? malloc(ARENA_BYTES) : (uint8_t *)(uintptr_t)ID3D12Resource_GetGPUVirtualAddress(out.buffer);
    need(out.host);
    memset(out.host, GAP_BYTE, ARENA_BYTES);
    return out;
}

/* Before something is recorded. */
static void arena_upload(struct arena *in)
{
    if (!copies)
        return;
    ASAN_UNPOISON_MEMORY_REGION(in->host, in->used);
    api_write(&rig.q, in->buffer, 0, in->host, in->used);
    rig_set_heap(&rig);
}

static void arena_download(struct arena *in)
{
    if (!copies)
        return;
    api_read(&rig.q, in->buffer, 0, in->host, in->used);
    rig_set_heap(&rig);
}

static void run_recorded(void)
{
    rig_run(&rig);
    arena_download(&arena);
    arena_download(&kept);
}

/* The gaps are checked too: the sanitizer does not see what assembly and code made at run time write. */
static void arena_empty(struct arena *in)
{
    uint64_t end = 0;
    ASAN_UNPOISON_MEMORY_REGION(in->host, in->used);
    for (uint32_t i = 0; i <= in->taken_count; i++) {
        uint64_t start = i < in->taken_count ? in->taken[i].offset : in->used;
        uint64_t at = end;
        while (at < start && in->host[at] == GAP_BYTE)
            at++;
        ok(at == start, "byte %" PRIu64 " past buffer %" PRIu32 " was written", at - end, i);
        end = i < in->taken_count ? start + in->taken[i].bytes : start;
    }
    memset(in->host, GAP_BYTE, in->used);
    in->used = GAP;
    in->taken_count = 0;
    ASAN_POISON_MEMORY_REGION(in->host, ARENA_BYTES);
}

static void fuzz_begin(void)
{
    api_begin();
    setenv("ANYDML_THREADS", "2", 0);
    rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    copies = !api_is("cpu");
    arena = arena_create();
    kept = arena_create();
    arena_empty(&arena);
    arena_empty(&kept);
}

/* Bytes of the arena that nothing else uses, `shift` past a multiple of GAP. */
static struct bound take(struct arena *in, uint64_t bytes, uint64_t shift, uint8_t fill)
{
    struct bound bound = { in->buffer, in->used + shift, bytes };
    if (!bytes)
        return (struct bound){ NULL, 0, 0 };
    need(bound.offset + bytes + 2 * GAP <= ARENA_BYTES && in->taken_count < TAKEN_MAX);
    in->used = (bound.offset + bytes + 2 * GAP - 1) / GAP * GAP;
    in->taken[in->taken_count++] = bound;
    ASAN_UNPOISON_MEMORY_REGION(in->host + bound.offset, bytes);
    fuzz_fill(in->host + bound.offset, bytes, fill);
    return bound;
}

/* Of a tensor, anywhere that the alignment of one allows. */
static struct bound take_tensor(struct arena *in, uint64_t bytes, uint8_t fill)
{
    return take(in, bytes, DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT * (fill % 16), fill);
}

static uint64_t sum(const struct bound *bound)
{
    uint64_t out = 0;
    for (uint64_t i = 0; i < bound->bytes; i++)
        out = out * 31 + arena.host[bound->offset + i];
    return out;
}

/* ---- what runs ---- */

struct program {
    IDMLCompiledOperator *op;
    uint64_t input_bytes[SLOTS_MAX], output_bytes[SLOTS_MAX]; /* 0: absent */
    bool owned[SLOTS_MAX];
    uint32_t input_count, output_count;
    bool late; /* bindings are made after the dispatch is recorded */
};

static void initialize(const struct program *program, const struct bound *inputs, struct bound persistent)
{
    IDMLCompiledOperator *op = program->op;
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    uint64_t temporary = properties(initializer).TemporaryResourceSize;
    struct bound owned[SLOTS_MAX] = { { 0 } };
    bool any = false;
    for (uint32_t i = 0; i < program->input_count; i++) {
        any |= program->owned[i];
        if (program->owned[i])
            owned[i] = inputs[i];
    }
    if (any)
        bind_owned(table, program->input_count, owned);
    if (persistent.buffer)
        bind_outputs(table, 1, &persistent);
    if (temporary) {
        struct bound bound = take(&arena, temporary, 0, 3);
        bind_temporary(table, bound.buffer, bound.offset, bound.bytes);
    }
    arena_upload(&arena);
    arena_upload(&kept);
    record(&rig, initializer, table);
    run_recorded();
    api_release(table);
    api_release(initializer);
}

static void execute(const struct program *program, const struct bound *inputs, const struct bound *outputs,
                    struct bound persistent)
{
    IDMLBindingTable *table = table_at(&rig, program->op, 0);
    struct bound bindable[SLOTS_MAX];
    for (uint32_t i = 0; i < program->input_count; i++)
        bindable[i] = program->owned[i] ? (struct bound){ NULL, 0, 0 } : inputs[i];
    struct bound temporary = take(&arena, properties(program->op).TemporaryResourceSize, 0, 5);
    arena_upload(&arena);
    if (program->late)
        record(&rig, program->op, table);
    bind_inputs(table, program->input_count, bindable);
    bind_outputs(table, program->output_count, outputs);
    if (temporary.buffer)
        bind_temporary(table, temporary.buffer, temporary.offset, temporary.bytes);
    if (persistent.buffer)
        bind_persistent(table, persistent.buffer, persistent.offset, persistent.bytes);
    if (!program->late)
        record(&rig, program->op, table);
    run_recorded();
    api_release(table);
}

/* false: too large. */
static bool run(const struct program *program, struct fuzz_bytes *bytes)
{
    struct bound inputs[SLOTS_MAX], outputs[SLOTS_MAX];
    uint64_t sums[SLOTS_MAX];
    DML_BINDING_PROPERTIES props = properties(program->op);
    if (props.TemporaryResourceSize > RUN_BYTES_MAX || props.PersistentResourceSize > RUN_BYTES_MAX ||
        props.RequiredDescriptorCount > DML_TEST_DESCRIPTORS)
        return false;
    for (uint32_t i = 0; i < program->input_count; i++) {
        inputs[i] = take_tensor(&arena, program->input_bytes[i], fuzz_byte(bytes));
        sums[i] = sum(&inputs[i]);
    }
    for (uint32_t i = 0; i < program->output_count; i++)
        outputs[i] = take_tensor(&arena, program->output_bytes[i], fuzz_byte(bytes));
    struct bound persistent = take(&kept, props.PersistentResourceSize, 0, 0xff);
    initialize(program, inputs, persistent);
    execute(program, inputs, outputs, persistent);
    for (uint32_t i = 0; i < program->input_count; i++)
        ok(sum(&inputs[i]) == sums[i], "input %" PRIu32 " was written", i);
    arena_empty(&arena);
    arena_empty(&kept);
    ok(dml_reason(&rig) == S_OK, "the device was removed");
    return true;
}

/* ---- one operator ---- */

static IDMLOperator *create(const DML_OPERATOR_DESC *desc)
{
    void *op = NULL;
    HRESULT hr = IDMLDevice1_CreateOperator(rig.dml, desc, &IID_IDMLOperator, &op);
    ok((hr == S_OK) == (op != NULL), "CreateOperator: 0x%08x and %p", (unsigned)hr, op);
    ok(hr == S_OK || hr == E_INVALIDARG, "CreateOperator: 0x%08x", (unsigned)hr);
    return op;
}

/* Shaders count in 32 bits: they take no windows beyond. */
static bool refused(HRESULT hr)
{
    return hr == DXGI_ERROR_UNSUPPORTED && !api_is("cpu");
}

static uint32_t slots(const struct schema_desc *desc, struct program *out)
{
    if (desc->input_count > SLOTS_MAX || desc->output_count > SLOTS_MAX)
        return 0;
    out->input_count = desc->input_count;
    out->output_count = desc->output_count;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        out->input_bytes[i] = desc->inputs[i] ? desc->inputs[i]->TotalTensorSizeInBytes : 0;
        out->owned[i] = desc->inputs[i] && (desc->inputs[i]->Flags & DML_TENSOR_FLAG_OWNED_BY_DML);
    }
    for (uint32_t i = 0; i < desc->output_count; i++)
        out->output_bytes[i] = desc->outputs[i] ? desc->outputs[i]->TotalTensorSizeInBytes : 0;
    return 1;
}

/* Every combination, and for DESCRIPTORS_VOLATILE bindings that come late. */
static DML_EXECUTION_FLAGS execution_flags(struct program *program, struct fuzz_bytes *bytes)
{
    uint8_t byte = fuzz_byte(bytes);
    program->late = (byte & DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE) && (byte & 8);
    return (DML_EXECUTION_FLAGS)(byte & 7);
}

static void count_run(const struct schema_desc *desc)
{
    uint32_t i = 0;
    while (schema_op_at(i) != desc->op)
        i++;
    runs[i]++;
}

static void fuzz_single(struct fuzz_bytes *bytes)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    struct program program = { 0 };
    DML_EXECUTION_FLAGS flags = execution_flags(&program, bytes);
    struct schema_desc *copy = NULL;
    if (!fuzz_operator(bytes, &storage, &desc))
        return;
    IDMLOperator *op = create(&desc);
    if (!op)
        return;
    need(schema_desc_create(&desc, &copy) == S_OK);
    HRESULT hr = IDMLDevice1_CompileOperator(rig.dml, op, flags, &IID_IDMLCompiledOperator, (void **)&program.op);
    ok(hr == S_OK || refused(hr), "%s: CompileOperator 0x%08x", copy->op->name, (unsigned)hr);
    if (program.op && slots(copy, &program) && run(&program, bytes))
        count_run(copy);
    if (program.op)
        api_release(program.op);
    schema_desc_destroy(copy);
    api_release(op);
}

/* ---- graphs ---- */

struct graph {
    struct schema_sample_storage storage[NODES_MAX];
    IDMLOperator *ops[NODES_MAX];
    struct schema_desc *descs[NODES_MAX];
    uint32_t node_count;
    DML_OPERATOR_GRAPH_NODE_DESC operator_nodes[NODES_MAX];
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constants[CONSTANTS_MAX];
    uint32_t constant_count;
    DML_GRAPH_NODE_DESC nodes[NODES_MAX + CONSTANTS_MAX]; /* operators, then constants */
    DML_INPUT_GRAPH_EDGE_DESC input_edges[SLOTS_MAX];
    DML_OUTPUT_GRAPH_EDGE_DESC output_edges[SLOTS_MAX];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC inner_edges[SLOTS_MAX];
    DML_GRAPH_EDGE_DESC edges[3][SLOTS_MAX];
    uint32_t inner_count;
};

/* The constant's index is not known yet: it counts from NODES_MAX until all operators are there. */
static void connect_constant(struct graph *graph, uint32_t node, uint32_t slot, uint8_t fill)
{
    size_t bytes = (size_t)graph->descs[node]->inputs[slot]->TotalTensorSizeInBytes;
    uint8_t *data = malloc(bytes);
    need(data);
    fuzz_fill(data, bytes, fill);
    graph->inner_edges[graph->inner_count++] =
        (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ NODES_MAX + graph->constant_count, 0, node, slot, NULL };
    graph->constants[graph->constant_count++] = (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ data, bytes, NULL };
}

static void add_constants(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->inner_count; i++)
        if (graph->inner_edges[i].FromNodeIndex >= NODES_MAX)
            graph->inner_edges[i].FromNodeIndex += graph->node_count - NODES_MAX;
    for (uint32_t i = 0; i < graph->constant_count; i++)
        graph->nodes[graph->node_count + i] =
            (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &graph->constants[i] };
}

/* An earlier output of the same size, else a constant or a new input of the graph. */
static void connect_input(struct graph *graph, struct program *program, uint32_t node, uint32_t slot, uint8_t choice)
{
    const DML_BUFFER_TENSOR_DESC *tensor = graph->descs[node]->inputs[slot];
    if (choice % 8 == 4 && graph->constant_count < CONSTANTS_MAX && graph->inner_count < SLOTS_MAX) {
        connect_constant(graph, node, slot, choice);
        return;
    }
    for (uint32_t from = choice % 4 ? node : 0; from-- > 0;) {
        const struct schema_desc *desc = graph->descs[from];
        uint32_t output = desc->output_count ? choice / 4 % desc->output_count : 0;
        if (!desc->output_count || !desc->outputs[output] || graph->inner_count == SLOTS_MAX ||
            desc->outputs[output]->TotalTensorSizeInBytes < tensor->TotalTensorSizeInBytes)
            continue;
        graph->inner_edges[graph->inner_count++] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, output, node, slot, NULL };
        return;
    }
    if (program->input_count == SLOTS_MAX)
        return;
    program->input_bytes[program->input_count] = tensor->TotalTensorSizeInBytes;
    program->owned[program->input_count] = tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML;
    graph->input_edges[program->input_count] = (DML_INPUT_GRAPH_EDGE_DESC){ program->input_count, node, slot, NULL };
    program->input_count++;
}

static void connect_node(struct graph *graph, struct program *program, uint32_t node, struct fuzz_bytes *bytes)
{
    const struct schema_desc *desc = graph->descs[node];
    for (uint32_t i = 0; i < desc->input_count; i++)
        if (desc->inputs[i])
            connect_input(graph, program, node, i, fuzz_byte(bytes));
    for (uint32_t i = 0; i < desc->output_count && program->output_count < SLOTS_MAX; i++) {
        if (!desc->outputs[i])
            continue;
        program->output_bytes[program->output_count] = desc->outputs[i]->TotalTensorSizeInBytes;
        graph->output_edges[program->output_count] =
            (DML_OUTPUT_GRAPH_EDGE_DESC){ node, i, program->output_count, NULL };
        program->output_count++;
    }
}

static void add_nodes(struct graph *graph, struct program *program, struct fuzz_bytes *bytes)
{
    uint32_t wanted = 2 + fuzz_byte(bytes) % (NODES_MAX - 1);
    for (uint32_t i = 0; i < wanted; i++) {
        DML_OPERATOR_DESC desc;
        uint32_t n = graph->node_count;
        if (!fuzz_operator(bytes, &graph->storage[n], &desc) || !(graph->ops[n] = create(&desc)))
            continue;
        need(schema_desc_create(&desc, &graph->descs[n]) == S_OK);
        graph->operator_nodes[n] = (DML_OPERATOR_GRAPH_NODE_DESC){ graph->ops[n], NULL };
        graph->nodes[n] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &graph->operator_nodes[n] };
        graph->node_count++;
        connect_node(graph, program, n, bytes);
    }
}

static void compile_graph(struct graph *graph, struct program *program, DML_EXECUTION_FLAGS flags)
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        graph->edges[0][i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &graph->input_edges[i] };
        graph->edges[1][i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &graph->output_edges[i] };
        graph->edges[2][i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &graph->inner_edges[i] };
    }
    DML_GRAPH_DESC desc = {
        .InputCount = program->input_count,
        .OutputCount = program->output_count,
        .NodeCount = graph->node_count + graph->constant_count,
        .Nodes = graph->nodes,
        .InputEdgeCount = program->input_count,
        .InputEdges = graph->edges[0],
        .OutputEdgeCount = program->output_count,
        .OutputEdges = graph->edges[1],
        .IntermediateEdgeCount = graph->inner_count,
        .IntermediateEdges = graph->edges[2],
    };
    HRESULT hr = IDMLDevice1_CompileGraph(rig.dml, &desc, flags, &IID_IDMLCompiledOperator, (void **)&program->op);
    ok(hr == S_OK || hr == E_INVALIDARG || refused(hr), "CompileGraph: 0x%08x", (unsigned)hr);
    ok((hr == S_OK) == (program->op != NULL), "CompileGraph: 0x%08x and %p", (unsigned)hr, (void *)program->op);
}

static void fuzz_graph(struct fuzz_bytes *bytes)
{
    static struct graph graph;
    struct program program = { 0 };
    DML_EXECUTION_FLAGS flags = execution_flags(&program, bytes);
    memset(&graph, 0, sizeof(graph));
    add_nodes(&graph, &program, bytes);
    add_constants(&graph);
    if (graph.node_count)
        compile_graph(&graph, &program, flags);
    for (uint32_t i = 0; i < graph.constant_count; i++)
        free((void *)(uintptr_t)graph.constants[i].Data);
    bool ran = program.op && run(&program, bytes);
    if (program.op)
        api_release(program.op);
    for (uint32_t i = 0; i < graph.node_count; i++) {
        if (ran)
            count_run(graph.descs[i]);
        schema_desc_destroy(graph.descs[i]);
        api_release(graph.ops[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = { data, size };
    if (!arena.buffer)
        fuzz_begin();
    if (fuzz_byte(&bytes) & 1)
        fuzz_graph(&bytes);
    else
        fuzz_single(&bytes);
    if (api_failures)
        abort();
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static void arena_destroy(struct arena *in)
{
    ASAN_UNPOISON_MEMORY_REGION(in->host, ARENA_BYTES);
    api_release(in->buffer);
    if (copies)
        free(in->host);
}

static void fuzz_end(void)
{
    arena_destroy(&arena);
    arena_destroy(&kept);
    rig_destroy(&rig);
}

static uint32_t files_run, files_seen, every = 1;
static const char *keep_folder; /* where inputs go that reach new code, NULL: nowhere */

static void keep(const char *path, const uint8_t *data, size_t size)
{
#ifdef FUZZ_COVERAGE
    char name[4096];
    const char *base = strrchr(path, '/');
    if (!keep_folder || !fuzz_coverage_gain())
        return;
    snprintf(name, sizeof(name), "%s/%s", keep_folder, base ? base + 1 : path);
    FILE *file = fopen(name, "wb");
    need(file && fwrite(data, 1, size, file) == size && !fclose(file));
#else
    (void)path, (void)data, (void)size;
    need(!keep_folder);
#endif
}

static void run_file(const char *path)
{
    static uint8_t data[1 << 16];
    if (files_seen++ % every)
        return;
    FILE *file = fopen(path, "rb");
    need(file);
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    if (getenv("FUZZ_VERBOSE"))
        fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    keep(path, data, size);
    files_run++;
}

/* Every operator in turn, with few changes and many: what coverage alone does not ask for. The bytes lie in
 * fuzz-random-SEED while they run. */
static void run_random(uint32_t seed, uint32_t count)
{
    char name[64];
    uint8_t data[96];
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    snprintf(name, sizeof(name), "fuzz-random-%" PRIu32, seed);
    for (uint32_t n = 0; n < count && !api_failures; n++) {
        for (size_t i = 0; i < sizeof(data); i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            data[i] = (uint8_t)(state >> 32);
        }
        data[0] = n / schema_op_count() % 4 == 3; /* a graph */
        data[2] = data[0] ? data[2] : (uint8_t)(n % schema_op_count());
        data[3] %= 1 + data[4] % 8;
        FILE *file = fopen(name, "wb");
        need(file && fwrite(data, 1, sizeof(data), file) == sizeof(data));
        fclose(file);
        LLVMFuzzerTestOneInput(data, sizeof(data));
        files_run++;
    }
    if (!api_failures)
        remove(name);
}

static void print_runs(void)
{
    uint32_t reached = 0, least = UINT32_MAX, rarest = 0;
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        reached += runs[i] > 0;
        if (getenv("FUZZ_VERBOSE"))
            printf("%8" PRIu32 " %s\n", runs[i], schema_op_at(i)->name);
        if (runs[i] < least) {
            least = runs[i];
            rarest = i;
        }
    }
    printf("%" PRIu32 " inputs; %" PRIu32 " of %" PRIu32 " operators ran, %s least often: %" PRIu32 " times\n",
           files_run, reached, schema_op_count(), schema_op_at(rarest)->name, least);
}

int main(int argc, char **argv)
{
    const bool random = argc == 4 && !strcmp(argv[1], "--random"), some = argc > 3 && !strcmp(argv[1], "--every");
    if (random)
        run_random((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
    else if (argc > 3 && !strcmp(argv[1], "--keep"))
        keep_folder = argv[2];
    else if (some)
        need((every = (uint32_t)strtoul(argv[2], NULL, 10)));
    for (int i = keep_folder || some ? 3 : 1; i < argc && !random; i++)
        fuzz_each_file(argv[i], run_file);
    ok(files_run > 0, "nothing was run");
    print_runs();
    if (arena.buffer)
        fuzz_end();
    return api_end();
}
#endif
