/* SPDX-License-Identifier: Apache-2.0 */
/* The objects behind DirectML's interfaces and their internal functions. Fields without a remark never change after
 * creation. Objects keep each other through com_ref, which is not visible in applications' reference counts. */
#ifndef DML_DML_H
#define DML_DML_H

#include "com/com.h"
#include "d3d12/private.h"
#include "graph/compile.h"
#include "graph/exec.h"
#include "graph/plan/alias.h"
#include "graph/plan/store.h"
#include "shaders/choices.h"

#include <DirectML.h>
#include <anydml.h>

#define DML_HIGHEST_LEVEL DML_FEATURE_LEVEL_6_4
#define DML_ERROR_BYTES   512  /* for reasons that lower layers write */
#define DML_TAG_BYTES     256u /* at the end of a persistent buffer on the host: the operator's id */

/* ---- device.c ---- */

/* IDMLDebugDevice, with its own pointer; shares the device's reference count. */
struct dml_debug_tear_off {
    const void *lpVtbl;
    struct dml_device *device;
};

/* The listener for compiled and executed work (trace.c). */
struct dml_trace {
    atomic_bool on;
    bool file; /* ANYDML_TRACE, the process's */
    struct anydml_trace client;
};

struct dml_device {
    struct com_object base; /* IDMLDevice1 */
    struct dml_debug_tear_off debug_tear_off;
    bool debug;           /* created with DML_CREATE_DEVICE_FLAG_DEBUG */
    atomic_bool muted;    /* SetMuteDebugOutput */
    ID3D12Device *parent; /* referenced */
    AnydmlDevice *d3d12;  /* the same object's private interface, referenced */
    const struct adapter_info *adapter;
    atomic_int metacommands; /* whether the device runs them (metacommands.c) */
    uint32_t threads;
    struct graph_store *store;     /* shared by compiled operators, also those of other devices */
    struct shader_choices choices; /* tuning results of the device (rows.c) */
    bool records_at_once;          /* AnydmlDevice's RecordsAtOnce */
    _Atomic(HRESULT) reason;       /* S_OK, or the reason of removal; set once */
    struct dml_trace trace;
};

extern const IDMLDevice1Vtbl dml_device_vtbl;
extern const IDMLDebugDeviceVtbl dml_debug_device_vtbl;

#define DML_DEVICE IDMLDevice1 *iface

static inline struct dml_device *dml_device_from(void *iface)
{
    return iface;
}

/* The device of an interface that a program passes; NULL: it is NULL or an object of another library. */
static inline struct dml_device *dml_device_own(IDMLDevice *iface)
{
    return iface && (const void *)iface->lpVtbl == &dml_device_vtbl ? dml_device_from(iface) : NULL;
}

static inline struct dml_device *dml_parent(void *object)
{
    return (struct dml_device *)((struct com_object *)object)->parent;
}

HRESULT dml_device_create(ID3D12Device *parent, AnydmlDevice *d3d12, bool debug, struct dml_device **out);

/* ---- message.c ---- */

/* Texts start with the name of `object` (NULL: the device). Without the debug flag errors still go to stderr; warnings
 * and remarks are for the debug layer alone. */

/* Returns hr. */
HRESULT dml_fail(struct dml_device *device, void *object, HRESULT hr, const char *format, ...) BASE_PRINTF(4, 5);
void dml_error(struct dml_device *device, void *object, const char *format, ...) BASE_PRINTF(3, 4);
void dml_warn(struct dml_device *device, void *object, const char *format, ...) BASE_PRINTF(3, 4);
void dml_info(struct dml_device *device, void *object, const char *format, ...) BASE_PRINTF(3, 4);

/* ---- removal.c ---- */

/* S_OK, or the reason of removal; also checks the Direct3D device. */
HRESULT dml_device_reason(struct dml_device *device);
static inline bool dml_device_removed(struct dml_device *device)
{
    return dml_device_reason(device) != S_OK;
}
/* The first reason wins and is printed even without the debug flag. */
void dml_device_remove(struct dml_device *device, void *object, HRESULT reason, const char *format, ...)
    BASE_PRINTF(4, 5);
/* An error found while a list executes: removes the Direct3D device, and thereby every DirectML device over it. */
void dml_device_remove_parent(struct dml_device *device, void *object, HRESULT reason, const char *format, ...)
    BASE_PRINTF(4, 5);

/* The first lines of creating methods: *out = NULL, then DXGI_ERROR_DEVICE_REMOVED or S_OK. */
HRESULT dml_create_begin(struct dml_device *device, void **out);
/* The same if out may not be NULL. */
HRESULT dml_create_begin_strict(struct dml_device *device, const char *method, void **out);

/* ---- device_methods: one file each ---- */

HRESULT dml_device_CheckFeatureSupport(DML_DEVICE, DML_FEATURE feature, UINT query_size, const void *query,
                                       UINT data_size, void *data);
HRESULT dml_device_CreateOperator(DML_DEVICE, const DML_OPERATOR_DESC *desc, REFIID riid, void **out);
HRESULT dml_device_CompileOperator(DML_DEVICE, IDMLOperator *op, DML_EXECUTION_FLAGS flags, REFIID riid, void **out);
HRESULT dml_device_CompileGraph(DML_DEVICE, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags, REFIID riid,
                                void **out);
HRESULT dml_device_CreateOperatorInitializer(DML_DEVICE, UINT count, IDMLCompiledOperator *const *operators,
                                             REFIID riid, void **out);
HRESULT dml_device_CreateCommandRecorder(DML_DEVICE, REFIID riid, void **out);
HRESULT dml_device_CreateBindingTable(DML_DEVICE, const DML_BINDING_TABLE_DESC *desc, REFIID riid, void **out);
HRESULT dml_device_Evict(DML_DEVICE, UINT count, IDMLPageable *const *objects);
HRESULT dml_device_MakeResident(DML_DEVICE, UINT count, IDMLPageable *const *objects);

/* ---- operator.c ---- */

struct dml_operator {
    struct com_object base; /* IDMLOperator */
    struct schema_desc *desc;
};

extern const IDMLOperatorVtbl dml_operator_vtbl;

/* ---- compiled_operator.c ---- */

/* Counted by MakeResident and Evict: compiled operators and initializers. */
struct dml_pageable {
    struct com_object base;
    atomic_int residency;
};

enum dml_expect {
    DML_EXPECT_NOTHING, /* an absent optional tensor, or an input that a graph does not use */
    DML_EXPECT_BUFFER,
    DML_EXPECT_OWNED, /* a buffer, but at initialisation */
};

/* One input or output. */
struct dml_slot {
    enum dml_expect expect;
    uint32_t alignment;  /* of the offset */
    uint64_t bytes;      /* minimum size */
    uint64_t used_bytes; /* BUFFER: the leading bytes that a run reads of an input or writes of an output */
    uint32_t descriptor; /* BUFFER: in the operator's range; OWNED: among the owned inputs */
    bool unused;         /* of a graph: a buffer bound here is ignored with a warning */
};

/* The executable form of a compiled operator: a plan or pipelines, by the adapter's kind. */
struct dml_program {
    struct graph_plan *plan;
    struct dml_spirv *spirv; /* executed on devices; the plan then has no constants. NULL: the host executes the plan */
    struct graph_aliases *aliases; /* of its inputs and outputs */
    uint64_t temp_bytes, persistent_bytes;
};

/* Optimises the graph and creates a program of it in *out, which is all zero. `name` is used in traces; NULL: the
 * program is not run, only checked for support. `late`: its addresses change after it was recorded.
 * DXGI_ERROR_UNSUPPORTED: the adapter cannot run it. `error` has room for DML_ERROR_BYTES. */
HRESULT dml_program_create(struct dml_device *device, struct graph *graph, const char *what, uint64_t id, bool late,
                           struct dml_program *out, char *error);
void dml_program_destroy(struct dml_device *device, struct dml_program *program);

/* The types of a set in which the operator runs, and whether the device supports a type: ADD runs in it, or, if ADD
 * does not take it, any operator does; all of them can copy. Decided by compiling a small description for each type
 * group of tensors that may have the type. */
uint32_t dml_operator_types(struct dml_device *device, const struct schema_op *op, uint32_t types);
bool dml_type_runs(struct dml_device *device, DML_TENSOR_DATA_TYPE type);

/* Its descriptors, in this order: inputs and outputs that expect a buffer, the temporary one if it has bytes, the
 * persistent one if it has bytes. Slots that are always empty have no descriptor, since a stale one would be resolved
 * at submission. */
struct dml_compiled_operator {
    struct dml_pageable pageable; /* IDMLCompiledOperator */
    uint64_t id;                  /* unique in this process; marks the persistent buffer */
    struct dml_operator *op;      /* kept; NULL for graphs */
    const char *what;             /* "DML_OPERATOR_GEMM" or "graph": static */
    uint32_t flags;               /* DML_EXECUTION_FLAGS */
    uint32_t input_count, output_count;
    struct dml_slot *inputs, *outputs;
    uint32_t bound_inputs, bound_outputs; /* those that expect a buffer */
    uint32_t owned_count;
    uint32_t temp_descriptor, persistent_descriptor; /* GRAPH_NONE: no bytes */
    uint32_t descriptor_count;
    bool needs_initialization; /* it has state */
    struct dml_program program;
    atomic_uint initialized;        /* initialisations executed so far */
    atomic_bool warned;             /* that it runs without one */
    atomic_bool warned_released;    /* that it runs after its release */
    _Atomic(void *) run_persistent; /* AnydmlRunOperator's persistent resource; NULL: not yet */
    struct adapter_dispatch run;    /* of AnydmlRunOperator on devices: lives as long as the operator does */
};

extern const IDMLCompiledOperatorVtbl dml_compiled_operator_vtbl;

/* The application has released a dispatchable. */
void dml_pageable_released(struct com_object *object);

static inline bool dml_compiled_volatile(const struct dml_compiled_operator *op)
{
    return op->flags & DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE;
}

/* Callbacks invoked after the last read of a constant node, or of a part of it; may be NULL. */
struct dml_listener {
    graph_constant_done_fn *constant_done;
    graph_constant_part_fn *constant_part;
    void *context;
};
/* dml_device_CompileGraph. */
HRESULT dml_compile_graph(struct dml_device *device, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                          const struct dml_listener *listener, REFIID riid, void **out);

/* ---- graph_check.c ---- */

/* The checked parts of a DML_GRAPH_DESC, allocated from the arena. */
struct dml_graph {
    struct base_arena arena;
    const struct schema_desc **nodes; /* NULL for constants; owned by the operators */
    struct dml_slot *inputs, *outputs;
};

/* E_INVALIDARG with a message, or E_OUTOFMEMORY, or S_OK; dml_graph_finish afterwards in any case. */
HRESULT dml_graph_check(struct dml_device *device, const DML_GRAPH_DESC *desc, struct dml_graph *out);
void dml_graph_finish(struct dml_graph *graph);

/* ---- run.c ---- */

extern const struct adapter_dispatch_ops dml_run_ops;

/* ---- initializer.c ---- */

struct dml_target {
    struct dml_compiled_operator *op; /* kept */
    uint32_t first; /* descriptor of its first owned input; its persistent buffer's follows the last one's */
};

struct dml_initializer {
    struct dml_pageable pageable; /* IDMLOperatorInitializer */
    atomic_uint generation;       /* counts Resets: tables created before one are stale */
    atomic_uint waiting;          /* recorded dispatches that have not run yet */
    struct dml_target *targets;   /* replaced by Reset */
    uint32_t target_count;
    uint32_t descriptor_count; /* those that are not empty */
};

/* The descriptor of a target's persistent buffer, GRAPH_NONE if it does not have one. */
static inline uint32_t dml_target_persistent(const struct dml_target *target)
{
    return target->op->program.persistent_bytes ? target->first + target->op->owned_count : GRAPH_NONE;
}

extern const IDMLOperatorInitializerVtbl dml_initializer_vtbl;

/* ---- binding_table.c ---- */

/* The location of a bound buffer, to detect overlaps. */
struct dml_place {
    uint64_t memory, offset; /* equal memory: placed in one heap */
};

struct dml_binding_table {
    struct com_object base;            /* IDMLBindingTable */
    struct dml_pageable *dispatchable; /* kept; NULL = empty. The fields below belong to it */
    unsigned generation;               /* of an initializer */
    struct anydml_descriptors range;   /* those that the dispatchable needs; owner: it */
    struct anydml_buffer *buffers;     /* per descriptor, as last bound */
    struct dml_place *places;
    struct dml_recorded *recorded; /* objects for the application's command buffers */
};

extern const IDMLBindingTableVtbl dml_binding_table_vtbl;

static inline struct dml_compiled_operator *dml_as_compiled(struct dml_pageable *object)
{
    return object && object->base.lpVtbl == &dml_compiled_operator_vtbl ? (struct dml_compiled_operator *)object : NULL;
}

static inline struct dml_initializer *dml_as_initializer(struct dml_pageable *object)
{
    return object && object->base.lpVtbl == &dml_initializer_vtbl ? (struct dml_initializer *)object : NULL;
}

/* NULL, or why the table cannot be used: it is empty, or its initializer was reset since. */
const char *dml_binding_table_error(struct dml_binding_table *table);

/* ---- binding_check.c ---- */

/* Describes a binding; used in messages only, so that valid calls format nothing. */
struct dml_bind_site {
    struct dml_binding_table *table;
    const char *method; /* "IDMLBindingTable::BindInputs" */
    const char *op;     /* "DML_OPERATOR_GEMM" */
    const char *kind;   /* "input" */
    uint32_t index;     /* of the binding */
    uint32_t element;   /* of a buffer array; GRAPH_NONE = none */
};

struct dml_bind_rule {
    uint64_t bytes;     /* minimum size */
    uint32_t alignment; /* of the offset, a power of two */
    bool upload;        /* an UPLOAD heap is fine */
};

/* Removes the device: "<method>: <op>, <kind> <index>: <text>". */
void dml_bind_fail(const struct dml_bind_site *site, const char *format, ...) BASE_PRINTF(2, 3);
/* A binding with a buffer, checked and translated to descriptor `descriptor` of the table. */
bool dml_bind_buffer(const struct dml_bind_site *site, const DML_BUFFER_BINDING *binding,
                     const struct dml_bind_rule *rule, uint32_t descriptor);
void dml_bind_nothing(struct dml_binding_table *table, uint32_t descriptor);

/* ---- hazard.c ---- */

/* A byte range of a resource and its location: several resources may be placed in one memory. object 0: nothing
 * bound. */
struct dml_range {
    uint64_t object, offset;
    uint64_t memory, place;
};
typedef struct dml_range dml_range_fn(const void *context, uint32_t descriptor);

/* Finds bindings that exclude each other; `message` (DML_ERROR_BYTES) names the two. Otherwise *out_copies: an output
 * overlaps an input in a way in which the program cannot be executed; dml_hazard_copy: whether it overlaps this one. */
bool dml_hazard_execution(const struct dml_compiled_operator *op, dml_range_fn *range, const void *context,
                          bool *out_copies, char *message);
bool dml_hazard_copy(const struct dml_compiled_operator *op, dml_range_fn *range, const void *context, uint32_t input);
bool dml_hazard_initialization(const struct dml_target *targets, uint32_t count, dml_range_fn *range,
                               const void *context, char *message);

/* ---- staging.c: copies of inputs that outputs overlap. A dispatch allocates them once its bindings need them. ---- */

struct dml_staging;

/* Memory for copies of all inputs that these bindings need, and of those that earlier ones needed, which submissions
 * may still use. E_OUTOFMEMORY. */
HRESULT dml_staging_extend(_Atomic(struct dml_staging *) *staging, struct dml_compiled_operator *op,
                           dml_range_fn *range, const void *context);
/* Whether all inputs that these bindings need are among those that are copied. */
bool dml_staging_covers(const struct dml_staging *staging, const struct dml_compiled_operator *op, dml_range_fn *range,
                        const void *context);
void dml_staging_destroy(struct dml_device *device, struct dml_staging *staging);
/* Copies the inputs and replaces their addresses by those of the copies. */
void dml_staging_copy(const struct dml_staging *staging, void **inputs);
HRESULT dml_staging_encode(const struct dml_staging *staging, struct adapter_binding *inputs,
                           struct adapter_encoder *encoder);

/* ---- command_recorder.c, dispatch.c ---- */

extern const IDMLCommandRecorderVtbl dml_command_recorder_vtbl;

/* A dispatch that is to be recorded. */
struct dml_record {
    struct dml_device *device;
    struct dml_pageable *dispatchable;
    struct dml_binding_table *table;
    bool copies; /* an input must be copied before an output overwrites it */
};

/* Checks a dispatch's objects and bindings: NULL, or an error message, possibly in `message` (DML_ERROR_BYTES). */
const char *dml_record_begin(struct dml_record *record, IDMLDispatchable *dispatchable, IDMLBindingTable *table,
                             char *message);
/* Its dispatch with one reference, ready for the table's bindings. E_OUTOFMEMORY. */
HRESULT dml_record_dispatch(const struct dml_record *record, struct adapter_dispatch **out);

/* ---- interop.c ---- */

void dml_recorded_destroy(struct dml_binding_table *table);

/* A snapshot of the work, with one reference. NULL: out of memory. */
struct adapter_dispatch *dml_dispatch_create(struct dml_pageable *dispatchable);
/* For messages: the operator and its kernels. */
void dml_dispatch_describe(struct dml_compiled_operator *op, char *out, size_t size);
/* For bindings with copies, known when an operator's dispatch is recorded. E_OUTOFMEMORY. */
HRESULT dml_dispatch_stage(struct adapter_dispatch *base, dml_range_fn *range, const void *context);

/* The first required binding of the dispatchable that is missing in `bound`; false: nothing is missing. */
struct dml_missing {
    const char *op, *kind; /* "DML_OPERATOR_GEMM", "input" */
    uint32_t index;        /* GRAPH_NONE: there is one only */
    uint32_t target;       /* of an initializer, else GRAPH_NONE */
    uint32_t descriptor;
    uint64_t bytes, bound; /* required; bound bytes, 0 = nothing */
};
typedef uint64_t dml_bound_fn(const void *context, uint32_t descriptor);
bool dml_missing_execution(const struct dml_compiled_operator *op, dml_bound_fn *bound, const void *context,
                           struct dml_missing *out);
bool dml_missing_initialization(const struct dml_target *targets, uint32_t count, dml_bound_fn *bound,
                                const void *context, struct dml_missing *out);
void dml_missing_print(const struct dml_missing *missing, char *out);

/* ---- rows.c ---- */

/* Kernel selection for one compilation. The pointer remains valid. */
struct dml_rows {
    struct shader_choices choices;
    struct shader_choice forced;
};

void dml_rows_open(struct dml_device *device);
void dml_rows_close(struct dml_device *device);
void dml_rows_choose(const struct dml_device *device, struct dml_rows *out);
/* The value of ANYDML_KERNELS or, if that is not set, of ANYDML_ROWS, its old name; NULL: neither is set. */
const char *dml_rows_wanted(const char **out_variable);

/* ---- trace.c: ANYDML_TRACE=FILE and AnydmlSetTrace ---- */

void dml_trace_open(struct dml_trace *trace);
void dml_trace_close(struct dml_trace *trace);
/* The tracer for graph_plan_run or dml_spirv_encode, in *storage, or NULL: no listener. */
const struct graph_tracer *dml_trace_tracer(struct dml_compiled_operator *op, struct graph_tracer *storage);
const struct adapter_tracer *dml_trace_device_tracer(struct dml_compiled_operator *op, struct adapter_tracer *storage);
/* If there is a listener, reports a compiled operator's graph "before passes" or "after passes", and its "plan". */
void dml_trace_graph(struct dml_trace *trace, const char *what, uint64_t id, const char *when,
                     const struct graph *graph);
void dml_trace_plan(struct dml_trace *trace, const char *what, uint64_t id, const struct graph_plan *plan);

#endif
