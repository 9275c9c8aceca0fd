/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the Direct3D 12 front end (d3d12/) and the adapters (adapter/cpu, adapter/vulkan,
 * adapter/null).
 *
 * The front end checks every argument and implements COM objects, fences, descriptors and one thread per queue; an
 * adapter allocates memory and executes API-neutral commands. All functions may be called from any thread; calls on one
 * adapter_queue come from that queue's thread only. */
#ifndef D3D12_ADAPTER_H
#define D3D12_ADAPTER_H

#include "base/base.h"

#include <anydml_d3d12.h>

enum adapter_kind {
    ADAPTER_HOST,  /* dispatches are host functions */
    ADAPTER_SPIRV, /* dispatches are compute pipelines */
};

struct adapter_info {
    const struct adapter_ops *ops;
    uint32_t index; /* of this adapter within its ops */
    enum adapter_kind kind;
    char name[256]; /* UTF-8 */
    LUID luid;      /* unique in the process, not 0 */
    uint32_t vendor_id, device_id, subsystem_id, revision;
    uint64_t driver_version; /* four 16-bit words */
    uint8_t driver_uuid[16]; /* of this driver build; zeros: none */
    uint64_t dedicated_memory, shared_memory;
    bool integrated, uma, cache_coherent_uma;
    bool hardware; /* the value of DXCore's IsHardware */
    bool idle;     /* executes nothing (the null adapter) */
    bool is_gpu;
    uint32_t shader_capabilities;  /* ADAPTER_SPIRV: enum shader_capability of shaders/shader.h */
    uint32_t multiprocessors;      /* of NVIDIA's devices; 0: not known */
    uint64_t allocation_bytes_max; /* ADAPTER_SPIRV: of memory that the driver allocates in one piece */
    uint64_t memory_bytes_max;     /* and of one memory, by the driver's limits */
    bool reserved;                 /* reserved_create and tiles_map work */
    uint64_t timestamp_frequency;  /* ticks per second */
};

/* Of messages that adapters and dispatches write. */
#define ADAPTER_MESSAGE_BYTES 512

struct adapter_device;
struct adapter_queue;
struct adapter_queries;
struct adapter_pipeline;
struct adapter_sequence;
struct adapter_recorded;

enum adapter_memory_kind { ADAPTER_MEMORY_DEVICE, ADAPTER_MEMORY_UPLOAD, ADAPTER_MEMORY_READBACK };

/* One allocation: a heap, or the memory of a committed resource. The adapter embeds this at the start of its own
 * struct. */
struct adapter_memory {
    uint64_t size;    /* multiple of 65536 */
    uint64_t address; /* GPU virtual address of byte 0: not 0, multiple of 65536, unique among living memory */
    void *host; /* CPU address of byte 0 for UPLOAD and READBACK (DEVICE: host adapter only); NULL = not mappable */
};

/* Bytes of the host for [offset, +bytes) of some memory. */
struct adapter_write {
    uint64_t offset, bytes;
    const void *data;
};

struct adapter_writing {
    void (*copy)(void *to, const void *from, size_t bytes); /* as memcpy: by several threads */
    bool unfinished; /* the data is not needed any more, but the memory is written when a call without this returns */
};

/* A checked, resolved buffer range of a dispatch. memory NULL = nothing is bound. */
struct adapter_binding {
    struct adapter_memory *memory;
    uint64_t offset, size; /* bytes */
    uint64_t resource_id;  /* of the buffer: several may be placed in one memory */
};

/* A point on a queue's timeline. */
struct adapter_point {
    struct adapter_timeline *timeline; /* owned by the adapter; NULL: no point */
    uint64_t value;
};

/* One dispatch of a compute pipeline. Its push constants are two addresses (`parameters`, and the table of addresses
 * that the sequence's user fills) and groups[0]: the adapter may split the dispatch into ranges of workgroups, in any
 * order. */
struct adapter_step {
    struct adapter_pipeline *pipeline;
    uint64_t parameters;
    uint32_t groups[3];
    uint64_t work; /* bytes moved plus operations, roughly */
    bool barrier;  /* depends on writes of previous steps, or writes what they use */
    /* For metacommand kernels, which are never split: `block` has block_bytes bytes of parameters that begin with
     * `addresses` 64-bit numbers. Each is 0, or encodes an address: its bits from ADAPTER_ADDRESS_BITS on are a table
     * index plus 1, its other bits an offset that is added to the table entry. The sequence copies the block. */
    const void *block;
    uint32_t block_bytes, addresses;
};

#define ADAPTER_ADDRESS_BITS 40

/* Called when a sequence is complete, before queue_finish returns for its batch: step i ran from times_ns[i] to
 * times_ns[i + 1] on the clock of base_now_ns(). Times within one batch are exact relative to each other; across
 * batches they are approximate. */
struct adapter_tracer {
    void (*run)(void *context, const uint64_t *times_ns);
    void *context; /* lives as long as the batch */
};

struct adapter_encoder;
typedef HRESULT adapter_sequence_run(struct adapter_encoder *encoder, struct adapter_sequence *sequence,
                                     const uint64_t *table, const struct adapter_tracer *tracer);

/* Operations that a SPIR-V dispatch may encode (on the queue's thread). Call barrier() between dependent operations; a
 * sequence contains its own barriers. */
struct adapter_encoder {
    /* Executes the sequence with this table, which is copied. A `tracer` that is not NULL receives the times of the
     * steps, which then run one after another; it is ignored if the device has no timestamps, and in the application's
     * command buffers. */
    adapter_sequence_run *run;
    void (*copy)(struct adapter_encoder *encoder, const struct adapter_binding *to, const struct adapter_binding *from,
                 uint64_t bytes);
    void (*barrier)(struct adapter_encoder *encoder);
    bool recorded; /* in commands that the application executes when it likes, possibly several times */
};

/* A dispatch created by libdirectml; opaque to libd3d12. Shared by command lists: ref/unref count its users. */
struct adapter_dispatch {
    const struct adapter_dispatch_ops *ops;
    uint32_t threads; /* of HOST adapters: the maximum that a run can use, at least 1 */
    uint64_t work;    /* of HOST adapters: bytes moved plus operations, roughly */
};

enum adapter_access { ADAPTER_ACCESS_NONE, ADAPTER_ACCESS_READ, ADAPTER_ACCESS_WRITE };

/* When bindings are checked: */
enum adapter_moment {
    ADAPTER_MOMENT_SUBMITTED, /* all of them are known; */
    ADAPTER_MOMENT_RECORDED,  /* before the commands are recorded: those of an operator for late binding may be missing;
                               */
    ADAPTER_MOMENT_REBOUND,   /* likewise, but the commands exist: copies that they do not make are not possible */
};

typedef HRESULT adapter_dispatch_check(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                                       uint32_t count, enum adapter_moment moment, char *message);
typedef HRESULT adapter_dispatch_encode(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                                        uint32_t count, struct adapter_encoder *encoder);

struct adapter_dispatch_ops {
    void (*ref)(struct adapter_dispatch *dispatch);
    void (*unref)(struct adapter_dispatch *dispatch);
    /* On the caller's thread: checks whether the bindings are complete and valid. At submission, a failure removes the
     * device; `message` (512 bytes) receives the reason. */
    adapter_dispatch_check *check;
    /* On the queue's thread. HOST adapters call run, SPIRV adapters encode. A failure removes the device. */
    HRESULT (*run)(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count);
    adapter_dispatch_encode *encode;
    /* For messages: the operator and its kernel; NULL: unknown. */
    void (*describe)(struct adapter_dispatch *dispatch, char *out, size_t size);
    /* For the debug layer: the kind of access to that binding, and its size in bytes; NULL: unknown. */
    enum adapter_access (*access)(struct adapter_dispatch *dispatch, uint32_t slot, uint64_t *out_bytes);
};

enum adapter_command_type {
    ADAPTER_COPY,
    ADAPTER_FILL,      /* repeats a 32-bit value */
    ADAPTER_TIMESTAMP, /* time at which all earlier commands are complete */
    ADAPTER_RESOLVE,   /* queries -> buffer, 8 bytes each; 0 for queries that were never written */
    ADAPTER_BARRIER,   /* all previous commands are complete and visible to all following ones */
    ADAPTER_DISPATCH,
};

struct adapter_command {
    enum adapter_command_type type;
    union {
        struct {
            struct adapter_binding to, from; /* sizes equal */
        } copy;
        struct {
            struct adapter_binding to;
            uint32_t value;
        } fill;
        struct {
            struct adapter_queries *queries;
            uint32_t index;
        } timestamp;
        struct {
            struct adapter_queries *queries;
            uint32_t start, count;
            struct adapter_binding to;
        } resolve;
        struct {
            struct adapter_dispatch *dispatch;
            const struct adapter_binding *bindings; /* resolved at submission */
            uint32_t binding_count;
        } dispatch;
    } u;
};

/* The commands and all that they name stay alive until queue_finish(ticket) or a later ticket's has returned. */
struct adapter_batch {
    const struct adapter_command *const *lists; /* executed in order, with full ordering between lists */
    const uint32_t *command_counts;
    uint32_t list_count;
};

typedef HRESULT adapter_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                                      struct adapter_memory **out);
typedef HRESULT adapter_memory_write(struct adapter_device *device, struct adapter_memory *memory,
                                     const struct adapter_write *writes, uint32_t count,
                                     const struct adapter_writing *how);
typedef void adapter_memory_explain(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                                    char *message);
typedef HRESULT adapter_tiles_map(struct adapter_device *device, struct adapter_memory *reserved, uint64_t offset,
                                  struct adapter_memory *heap, uint64_t heap_offset, uint64_t bytes);

enum adapter_code {
    ADAPTER_CODE_SPIRV,  /* a shader */
    ADAPTER_CODE_KERNEL, /* a binary for GPUs of one vendor (metacommand) */
};

struct adapter_pipeline_desc {
    enum adapter_code code;
    const char *name;      /* for the log */
    const uint8_t *packed; /* the code, as shaders/pack.c writes it */
    uint32_t packed_bytes;
    union {
        struct {
            uint32_t words; /* unpacked */
            uint32_t constant_count;
            const uint32_t *constants; /* specialization constants 0, 1, ... */
            bool large_table;          /* of a sequence with more than ADAPTER_TABLE_HEAD addresses */
        } spirv;
        struct {
            uint32_t bytes;        /* unpacked */
            uint32_t threads;      /* per workgroup */
            uint32_t shared_bytes; /* of shared memory that the kernel does not declare */
        } kernel;
    } u;
};

/* A kernel's test. The kernel is run once with one workgroup. Addresses 0, ..., count - 1 of its block are those of
 * `inputs`; the next one is that of the output, whose first `bytes` bytes must equal `expected`. */
struct adapter_kernel_test {
    struct adapter_pipeline *pipeline;
    const struct adapter_write *inputs; /* offsets are ignored */
    uint32_t count;
    void *block;
    uint32_t block_bytes;
    const void *expected;
    uint32_t bytes;
};
typedef HRESULT adapter_pipelines_create(struct adapter_device *device, const struct adapter_pipeline_desc *descs,
                                         uint32_t count, struct adapter_pipeline **out);
typedef HRESULT adapter_sequence_create(struct adapter_device *device, const struct adapter_step *steps, uint32_t count,
                                        struct adapter_memory *parameters, uint32_t table_count,
                                        struct adapter_sequence **out);

/* Parameters of a step start at a multiple of ADAPTER_PARAMETERS_ALIGN bytes. From each start, ADAPTER_PARAMETERS_BYTES
 * bytes of the memory are readable, which shaders access as uniform buffer 0 of set 0. Set 1 contains the first
 * ADAPTER_TABLE_HEAD addresses of the table. */
#define ADAPTER_PARAMETERS_ALIGN 256u
#define ADAPTER_PARAMETERS_BYTES 4096u
#define ADAPTER_TABLE_HEAD       512u

struct adapter_ops {
    const char *name; /* "cpu": the word of ANYDML_ADAPTERS */

    /* device.c */
    bool (*hardware)(void); /* whether to enumerate by default; NULL: yes; if false, only ANYDML_ADAPTERS lists it */
    uint32_t (*enumerate)(struct adapter_info *out, uint32_t capacity); /* how many there are; fills up to capacity */
    HRESULT (*device_create)(const struct adapter_info *info, struct adapter_device **out);
    void (*device_destroy)(struct adapter_device *device);
    /* Budget and usage of this process, over all devices of the adapter: of the adapter's own memory, or (not local) of
     * host memory that it can access in addition. Does not create a device. */
    void (*memory_budget)(const struct adapter_info *info, bool local, uint64_t *out_budget, uint64_t *out_usage);

    /* heap.c: zeroed memory; E_OUTOFMEMORY beyond the machine's real limits */
    adapter_memory_create *memory_create;
    void (*memory_destroy)(struct adapter_device *device, struct adapter_memory *memory);
    /* After memory_create's E_OUTOFMEMORY for these arguments: how much was asked for, and how much is free or the
     * limit that it exceeds; NULL: unknown. */
    adapter_memory_explain *memory_explain;
    /* SPIRV adapters: writes memory of any kind, and returns when that is done. */
    adapter_memory_write *memory_write;

    /* Reserved addresses for `size` bytes without memory, whose tiles of 64 KiB are mapped later; NULL: unsupported.
     * memory_destroy releases them as well. tiles_map: maps [offset, +bytes) of `reserved` to [heap_offset, +bytes) of
     * `heap`, which memory_create created and which must outlive the mapping; heap NULL unmaps: accesses are then
     * undefined but harmless. Called on the thread of the queue that executes the mapping; the tiles are not in use. */
    HRESULT (*reserved_create)(struct adapter_device *device, uint64_t size, struct adapter_memory **out);
    adapter_tiles_map *tiles_map;

    /* queue.c, list.c */
    HRESULT (*queue_create)(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out);
    void (*queue_destroy)(struct adapter_queue *queue);
    /* Starts a batch; may return before it is complete. Tickets of one queue grow. */
    HRESULT (*queue_submit)(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket);
    /* Returns when the batch of that ticket and all earlier ones are complete and visible to the host. */
    HRESULT (*queue_finish)(struct adapter_queue *queue, uint64_t ticket);
    /* For queues that wait for each other on the device; NULL: unsupported. queue_point: the timeline point at which
     * the last submitted batch is complete; released from any thread. queue_wait: batches that are submitted later
     * start when the point is reached; the caller may release it immediately. queue_settle returns when all points are
     * reached that no batch has waited for yet. */
    struct adapter_point (*queue_point)(struct adapter_queue *queue);
    void (*point_release)(const struct adapter_point *point);
    HRESULT (*queue_wait)(struct adapter_queue *queue, const struct adapter_point *point);
    HRESULT (*queue_settle)(struct adapter_queue *queue);
    HRESULT (*queries_create)(struct adapter_device *device, uint32_t count, struct adapter_queries **out);
    void (*queries_destroy)(struct adapter_device *device, struct adapter_queries *queries);

    /* pipeline.c: SPIRV adapters only, else NULL. out[i] is ready when this returns, lives as long as the device, and
     * is shared for equal code and constants. DXGI_ERROR_UNSUPPORTED: the driver rejects a kernel. */
    adapter_pipelines_create *pipelines_create;
    /* own.c: S_FALSE: the result of the kernel is wrong. */
    HRESULT (*kernel_test)(struct adapter_device *device, const struct adapter_kernel_test *test);
    /* sequence.c: SPIRV adapters only. Steps that are executed together, on any queue, possibly several times
     * concurrently. Their parameters are in the memory `parameters`, which outlives the sequence. table_count: number
     * of addresses in its table. Destroyed when no batch uses it any more. */
    adapter_sequence_create *sequence_create;
    void (*sequence_destroy)(struct adapter_device *device, struct adapter_sequence *sequence);
};

/* The adapters of this build (d3d12/adapters.c lists them). */
extern const struct adapter_ops adapter_cpu_ops;
extern const struct adapter_ops adapter_vulkan_ops;
extern const struct adapter_ops adapter_null_ops;

/* The adapters of this process: those that ANYDML_ADAPTERS names, in its order; without it, GPUs, then the CPU.
 * Within a kind the most capable is first. NULL past the last. Each kind is searched once, when an adapter of it or
 * of a later kind is requested: a program that requests only the CPU does not load the drivers of GPUs. Indices and
 * LUIDs are stable for the process. */
const struct adapter_info *adapter_at(uint32_t index);
/* The inverse; UINT32_MAX for an adapter that adapter_at has not returned. */
uint32_t adapter_position(const struct adapter_info *info);

/* The default adapter of every interface: the first. NULL: the list is empty. */
const struct adapter_info *adapter_default(void);

/* Higher is faster: software, CPU, integrated GPU, GPU with its own memory. */
uint32_t adapter_performance(const struct adapter_info *info);
/* Higher needs less power, by the rule of DXGI and DXCore, which select among GPUs: software, CPU, GPU with its own
 * memory, integrated GPU. */
uint32_t adapter_economy(const struct adapter_info *info);

/* A list of adapters. If libd3d12 is in the process, libdxcore and libdxgi use its list, because querying drivers takes
 * tenths of a second. */
struct adapter_registry {
    uint32_t version; /* ANYDML_VERSION */
    uint32_t info_bytes;
    const struct adapter_info *(*at)(uint32_t index);
    uint32_t (*position)(const struct adapter_info *info);
};
typedef const struct adapter_registry *adapter_registry_fn(void);

extern const struct adapter_registry adapter_own_registry; /* adapters.c */
/* registry_own.c or registry_shared.c: the one of this library. */
const struct adapter_registry *adapter_registry(void);

/* Logs once that there is no adapter; called by functions that list adapters. */
void adapter_check_any(const char *method);

/* ANYDML_THREADS, or the number of CPUs: the threads of one queue of a HOST adapter. */
#define ADAPTER_THREADS_MAX 4096
uint32_t adapter_thread_count(void);

/* Parsers of the variables: 0 means not a valid number of threads; `out` receives the first word that is not an
 * adapter's name. */
uint32_t adapter_threads_parse(const char *text);
bool adapter_names_known(const char *names, char *out, size_t size);
/* ANYDML_VULKAN_CAPS: the capabilities (enum shader_capability) that it names; false: an unknown name, copied to
 * `out`. */
bool adapter_capabilities_parse(const char *names, uint32_t *out_capabilities, char *out, size_t size);

/* ANYDML_VULKAN_WATCHDOG: milliseconds, optionally with a fraction; false: not a number. */
bool adapter_watchdog_parse(const char *text, uint64_t *out_ns);

/* environment.c: reports once on stderr which variables have invalid values. */
void adapter_check_environment(void);

/* thread_budget.c: queues' threads that run batches at a time, two for each CPU that this process may use. */

/* Acquires `count` threads, or all if that is more; blocks until they are free, in order of the calls. Returns the
 * number acquired, which the caller may release from any thread. A thread that holds some must not wait for another
 * queue. */
uint32_t adapter_thread_budget_acquire(uint32_t count);
void adapter_thread_budget_release(uint32_t count);
/* Reports that this many threads start or stop computing. */
void adapter_computing_begin(uint32_t threads);
void adapter_computing_end(uint32_t threads);
/* Whether every CPU has a computing thread: spinning would take time from one of them. */
bool adapter_oversubscribed(void);
/* In the child of a fork, where the threads that held some do not exist. */
void adapter_thread_budget_forget(void);

#endif
