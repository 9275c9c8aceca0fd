/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATen functions on DirectML, in C and without torch: devices, their memory, and one row for each ATen overload that
 * is compiled to a DirectML graph. The C++ glue of each torch version is a thin layer above this header.
 *
 * An operator is called as follows:
 *
 *     struct aten_plan *plan = aten_find(device, op, args, arg_count, outputs or NULL, output_count);
 *     if (!plan)                                   (outputs' types, sizes and strides come from the meta device)
 *         plan = aten_compile(device, op, args, arg_count, outputs, output_count, message);
 *     if (!plan) ...                               (fall back to the CPU; the message says why)
 *     aten_plan_output(plan, i)                    (how to allocate output i, on a hit)
 *     ok = aten_run(plan, args, arg_count, outputs, output_count, message, sizeof(message));
 *     aten_release(plan);
 *
 * Thread-safety: all functions may be called by any thread at any time, except for those of graphs (see below).
 * Functions with a parameter `message` return false or NULL on failure and write one line to it: at most
 * `message_bytes` bytes including the final 0, without a newline.
 */
#ifndef ANYDML_TORCH_ATEN_H
#define ANYDML_TORCH_ATEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* only these functions are exported */

/* The values of c10::ScalarType. For tensors of other types the glue falls back to the CPU. */
enum aten_type {
    ATEN_ABSENT = -1, /* no tensor: an undefined element of a list, or an output that is not requested */
    ATEN_UINT8 = 0,
    ATEN_INT8 = 1,
    ATEN_INT16 = 2,
    ATEN_INT32 = 3,
    ATEN_INT64 = 4,
    ATEN_FLOAT16 = 5,
    ATEN_FLOAT32 = 6,
    ATEN_FLOAT64 = 7,
    ATEN_COMPLEX32 = 8, /* two FLOAT16; sizes and strides count pairs */
    ATEN_COMPLEX64 = 9,
    ATEN_COMPLEX128 = 10,
    ATEN_BOOLEAN = 11,
    ATEN_BFLOAT16 = 15,
    ATEN_UINT16 = 27,
    ATEN_UINT32 = 28,
    ATEN_UINT64 = 29
};
uint32_t aten_type_bytes(int32_t type); /* bytes of one element; 0: not one of these types */

const char *aten_version(void); /* the version of AnyDML, "0.1.0" */

#define ATEN_RANK_MAX 8

/* A tensor in memory: element i is at data + bytes * sum(i[d] * strides[d]). The glue resolves conjugate and negative
 * views. Tensors of rank 0 have one element. Any size may be 0. `data` is the address of the first element, including
 * the storage offset, and must be aligned to the element; it is a host address if aten_host_memory(device), otherwise a
 * device address. aten_find and aten_compile use it only to detect outputs that share memory with an input. */
struct aten_tensor {
    int32_t type;
    uint32_t rank;
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX]; /* in elements; strides >= 0, 0 for expanded dimensions */
    void *data;
};

enum aten_kind {
    ATEN_NONE,      /* an absent optional argument, or an undefined tensor */
    ATEN_TENSOR,    /* tensors[0] */
    ATEN_TENSORS,   /* tensors[0 .. count): those of type ATEN_ABSENT are undefined */
    ATEN_INT,       /* integer: int, SymInt, ScalarType, Layout, MemoryFormat, and Scalars that are integers */
    ATEN_REAL,      /* real: float, and Scalars that are floating point */
    ATEN_BOOL,      /* integer 0 or 1: bool, and Scalars that are booleans */
    ATEN_INTS,      /* integers[0 .. count) */
    ATEN_REALS,     /* reals[0 .. count): float[] */
    ATEN_BOOLS,     /* integers[0 .. count), 0 or 1: bool[], also of fixed size */
    ATEN_STRING,    /* string */
    ATEN_GENERATOR, /* integers[0]: seed, integers[1]: offset; see `random` below */
    ATEN_NUMBERS,   /* numbers[0 .. count): Scalar[], each of ATEN_INT, ATEN_REAL or ATEN_BOOL */
};

/* An argument; arguments are in the order of the schema with defaults filled in. Device and pin_memory: ATEN_NONE.
 * Complex numbers are ATEN_REALS of two. A CPU tensor of rank 0 is passed as the ATEN_INT, ATEN_REAL or ATEN_BOOL that
 * it holds, with `count` 1 + its type, or 0 for wrapped numbers: the result types that the meta device inferred depend
 * on it. */
struct aten_arg {
    enum aten_kind kind;
    uint32_t count;
    union {
        const struct aten_tensor *tensors;
        int64_t integer;
        double real;
        const int64_t *integers;
        const double *reals;
        const struct aten_arg *numbers;
        const char *string;
    };
};

#define ATEN_MESSAGE_BYTES 512 /* maximum length of messages, including the final 0 */

/* ---- devices ---- */

/* A device is the adapter at the same index in the list of DXCore, in the order of ANYDML_ADAPTERS. It is opened once
 * and lives as long as the process; aten_device_open returns the same device each time, or NULL with a message. */
struct aten_device;
uint32_t aten_device_count(void);
/* Valid for the lifetime of the process; "" if the index is out of range. */
const char *aten_device_name(uint32_t index);
struct aten_device *aten_device_open(uint32_t index, char *message, size_t message_bytes);

/* Whether device memory is host memory (the cpu adapter): the CPU can use its addresses, and aten_run and aten_copy
 * have finished when they return. Otherwise they may return earlier; the device executes the work of all threads in
 * submission order. */
bool aten_host_memory(const struct aten_device *device);
/* Whether the device can compute with tensors of the type (GPUs may lack float64). */
bool aten_has_type(const struct aten_device *device, int32_t type);

/* aten_allocate returns memory aligned to 256 bytes with undefined contents, or NULL if there is not enough. Memory is
 * not cached: callers keep pools. aten_free does not wait: the caller ensures that no pending work uses the memory.
 * NULL may be freed. aten_memory returns bytes. */
void *aten_allocate(struct aten_device *device, size_t bytes);
void aten_free(struct aten_device *device, void *address);
void aten_memory(struct aten_device *device, size_t *out_free, size_t *out_total);

/* Copies bytes between device memory and host memory or within the device (without overlap). When it returns, TO_DEVICE
 * has read the host's bytes and FROM_DEVICE has written them; WITHIN is ordered like aten_run. */
enum aten_direction { ATEN_TO_DEVICE, ATEN_FROM_DEVICE, ATEN_WITHIN };
bool aten_copy(struct aten_device *device, void *to, const void *from, size_t bytes, enum aten_direction direction,
               char *message, size_t message_bytes);

/* Timeline points, for events and streams: aten_mark returns a point after all work submitted so far; aten_reached
 * tests whether the device has reached a point, aten_wait waits for it, and aten_synchronize waits for all work. The
 * last two return false if the device was removed. */
uint64_t aten_mark(struct aten_device *device);
bool aten_reached(struct aten_device *device, uint64_t mark);
bool aten_wait(struct aten_device *device, uint64_t mark);
bool aten_synchronize(struct aten_device *device);

/* ---- operators ---- */

/*
 * One row of ops.def. The glue registers up to three overloads for it, which all call the functional operator:
 *     aten::name.overload                 always, unless no_functional
 *     aten::name_.overload                if in_place: outputs[0] is the first argument
 *     aten::name.out_overload             if out_overload: outputs are the out arguments, resized as torch does;
 *                                         they are not among `args`
 * `writes`: bit i is set if argument i is written in addition to the returned tensors (running_mean of
 * native_batch_norm, lists of _fused_adamw_). In `outputs`, written tensors follow the returned ones, in the order of
 * the arguments, lists with all their elements; an absent one has type ATEN_ABSENT.
 * Results that are lists of tensors are passed with all their elements. An output that is not requested (output_mask of
 * convolution_backward), or undefined, has type ATEN_ABSENT.
 *
 * `random`: the operator draws random numbers. A Generator argument is passed as ATEN_GENERATOR; if the schema has none
 * (native_dropout), the device's default generator is appended to the arguments. Before each aten_run the glue draws
 * aten_plan_draws(plan) numbers from the generator: it passes the offset and then adds that number to it.
 */
struct aten_op {
    const char *name, *overload; /* "add", "Tensor"; the overload may be "". In aten, or "namespace::name" */
    const char *out_overload;    /* NULL: none */
    bool in_place, no_functional, random;
    uint32_t writes;
};

/* Row i; NULL past the last one. Pointers are valid for the lifetime of the process; the functions below identify
 * operators by them. aten_op_find returns NULL if there is no such row. */
const struct aten_op *aten_op_at(uint32_t i);
const struct aten_op *aten_op_find(const char *name, const char *overload);

/* ---- plans: operators compiled for types, sizes, strides and scalars ---- */

struct aten_plan;

/* Looks for a plan in the cache. Returns NULL if there is none yet, or if aten_compile has failed for these arguments
 * (it then fails again at once). `outputs` is NULL for the functional overload, whose results the plan describes;
 * otherwise it has the tensors to be written, with data. */
struct aten_plan *aten_find(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                            uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count);

/* Creates a plan and adds it to the cache. `outputs`: types, sizes and strides; data is NULL for new results of the
 * functional overload, so that aten_find without outputs finds the plan, otherwise their addresses. Returns NULL if the
 * operator cannot be compiled for these arguments; the message names operator, argument and rule. */
struct aten_plan *aten_compile(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                               uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count,
                               char message[ATEN_MESSAGE_BYTES]);

uint32_t aten_plan_output_count(const struct aten_plan *plan);
const struct aten_tensor *aten_plan_output(const struct aten_plan *plan, uint32_t i); /* without data */
uint64_t aten_plan_draws(const struct aten_plan *plan); /* number of random 32-bit numbers of a run; a multiple of 4 */

/* Whether all indices among the arguments are in range; otherwise the message is torch's. Always true if the host
 * cannot read them (devices with their own memory), and for graphs. Must be called before aten_run. */
bool aten_in_bounds(const struct aten_plan *plan, const struct aten_arg *args, char message[ATEN_MESSAGE_BYTES]);

/* Runs the plan. Arguments and outputs are those of aten_find, now all with data. Fails if the device was removed or if
 * memory is exhausted. Several threads may run a plan concurrently. */
bool aten_run(struct aten_plan *plan, const struct aten_arg *args, uint32_t arg_count,
              const struct aten_tensor *outputs, uint32_t output_count, char *message, size_t message_bytes);

/* The same for plans with fixed inputs (aten_graph_input). versions[i] identifies the contents of args[i]: equal
 * versions mean equal contents; 0: unknown, so that its packed form is used for this run only. */
bool aten_plan_has_fixed(const struct aten_plan *plan);
uint64_t aten_plan_packed(const struct aten_plan *plan); /* how often fixed inputs were packed */
bool aten_run_fixed(struct aten_plan *plan, const struct aten_arg *args, const uint64_t *versions,
                    const struct aten_tensor *outputs, char *message, size_t message_bytes);

/* Each plan that aten_find, aten_compile or aten_graph_compile returned must be released once. The plan may be NULL. */
void aten_release(struct aten_plan *plan);

/* Returns the number of plans in the cache and the number of plans that aten_compile has created. `limit_bytes`: limit
 * of the approximate host memory of cached plans (0: unchanged; initially 128 MiB). */
void aten_cache(uint64_t limit_bytes, uint64_t *out_plans, uint64_t *out_compiled);

/* ---- graphs: many operators as one plan ---- */

/*
 * For torch.compile. Values have numbers >= 1; in the arguments of a node, `data` of a tensor is the number of its
 * value, cast to a pointer. Types, sizes and strides of results are those of the fake tensors. A graph must not be used
 * by several threads at a time.
 *
 *     g = aten_graph_begin(device)
 *     x = aten_graph_input(g, &layout, fixed)                the next argument of aten_run, as ATEN_TENSOR
 *     aten_graph_node(g, op, args, n, layouts, m, numbers)   m values
 *     v = aten_graph_view(g, x, &layout, offset)             other sizes and strides over the storage of x, starting
 *                                                            `offset` elements after the storage's first element
 *     plan = aten_graph_compile(g, numbers, count, ...)      these are the outputs of aten_run; frees g
 *
 * A failed call returns 0 or false and sets the graph's message; later calls have no effect, and aten_graph_compile
 * returns the message. An input that no node uses remains an argument.
 *
 * Fixed inputs, such as weights, are packed for the operators that read them when the plan runs first, and packed again
 * only when aten_run_fixed is called with a new version. On devices with their own memory they become constants with
 * the contents of `data` at this time, and plans do not read the arguments; without `data` they are like other inputs.
 */
struct aten_graph;
struct aten_graph *aten_graph_begin(struct aten_device *device);
uint64_t aten_graph_input(struct aten_graph *graph, const struct aten_tensor *layout, bool fixed);
bool aten_graph_node(struct aten_graph *graph, const struct aten_op *op, const struct aten_arg *args,
                     uint32_t arg_count, const struct aten_tensor *layouts, uint32_t layout_count,
                     uint64_t *out_values);
uint64_t aten_graph_view(struct aten_graph *graph, uint64_t value, const struct aten_tensor *layout, int64_t offset);
struct aten_plan *aten_graph_compile(struct aten_graph *graph, const uint64_t *outputs, uint32_t output_count,
                                     char *message, size_t message_bytes);
void aten_graph_destroy(struct aten_graph *graph); /* frees a graph without compiling it */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
