/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATen functions on DirectML, in C and without torch: devices, their memory, and one row for each ATen overload that
 * becomes a DirectML graph. The C++ glue of each torch version is a thin layer above this header.
 *
 * A call of an operator goes like this:
 *
 *     struct aten_plan *plan = aten_find(device, op, args, arg_count, outputs or NULL, output_count);
 *     if (!plan)                                   (outputs' types, sizes and strides come from the meta device)
 *         plan = aten_compile(device, op, args, arg_count, outputs, output_count, message);
 *     if (!plan) ...                               (fall back to the CPU; the message says why)
 *     aten_plan_output(plan, i)                    (how to allocate output i, on a hit)
 *     ok = aten_run(plan, args, arg_count, outputs, output_count, message, sizeof(message));
 *     aten_release(plan);
 *
 * All functions may be called by any thread at any time. Those that return bool or a pointer and take `message` write
 * one line to it when they fail: at most `message_bytes` with the final 0, without a newline.
 */
#ifndef ANYDML_TORCH_ATEN_H
#define ANYDML_TORCH_ATEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* these functions alone are exported */

/* The values of c10::ScalarType. Other types have no tensors here: the glue falls back. */
enum aten_type {
    ATEN_ABSENT = -1, /* no tensor: an undefined element of a list, an output that is not wanted */
    ATEN_UINT8 = 0,
    ATEN_INT8 = 1,
    ATEN_INT16 = 2,
    ATEN_INT32 = 3,
    ATEN_INT64 = 4,
    ATEN_FLOAT16 = 5,
    ATEN_FLOAT32 = 6,
    ATEN_FLOAT64 = 7,
    ATEN_COMPLEX32 = 8, /* two FLOAT16: in memory, sizes and strides in pairs */
    ATEN_COMPLEX64 = 9,
    ATEN_COMPLEX128 = 10,
    ATEN_BOOLEAN = 11,
    ATEN_BFLOAT16 = 15,
    ATEN_UINT16 = 27,
    ATEN_UINT32 = 28,
    ATEN_UINT64 = 29
};
uint32_t aten_type_bytes(int32_t type); /* of an element; 0: not one of these */

const char *aten_version(void); /* AnyDML's: "0.1.0" */

#define ATEN_RANK_MAX 8

/* A tensor in memory: element i is at data + bytes * sum(i[d] * strides[d]). Conjugate and negative views are resolved
 * before. Tensors of rank 0 have one element. Any size may be 0. `data` is of the first element, storage offset
 * included, and need only be aligned to the element; it is a host address when aten_host_memory(device), otherwise
 * a device address. aten_find and aten_compile look at it only to see which outputs share memory with an input. */
struct aten_tensor {
    int32_t type;
    uint32_t rank;
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX]; /* elements; strides >= 0, 0 for expanded dimensions */
    void *data;
};

enum aten_kind {
    ATEN_NONE,      /* an optional argument that is absent, an undefined tensor */
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

/* An argument in the order of the schema, defaults filled in; Device and pin_memory: ATEN_NONE. Complex numbers are
 * ATEN_REALS of two. For Tensor a tensor of rank 0 on the CPU comes as the ATEN_INT, ATEN_REAL or ATEN_BOOL that it
 * holds, and `count` is 1 + its type, 0 for wrapped numbers: result types, which meta calls settled, depend on it.
 */
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

#define ATEN_MESSAGE_BYTES 512 /* no message is longer */

/* ---- devices ---- */

/* An adapter's position in the list of DXCore, as ANYDML_ADAPTERS orders it. A device is opened once and lives as long
 * as the process; aten_device_open gives the same one each time. */
struct aten_device;
uint32_t aten_device_count(void);
const char *aten_device_name(uint32_t index); /* good for ever; "" past the end */
struct aten_device *aten_device_open(uint32_t index, char *message, size_t message_bytes);

/* Whether device memory is host memory (the cpu adapter): addresses can be used by the CPU, and aten_run and aten_copy
 * have finished when they return. Otherwise they may return before; work of all threads is executed in the order in
 * which it was given. */
bool aten_host_memory(const struct aten_device *device);
/* Whether tensors of the type can be computed with (float64 may not be there on GPUs). */
bool aten_has_type(const struct aten_device *device, int32_t type);

/* Multiples of 256. NULL when there is not enough; contents are undefined. Not cached: callers pool. aten_free waits
 * for nothing: the caller knows that no work uses the memory, or has waited. NULL may be freed. */
void *aten_allocate(struct aten_device *device, size_t bytes);
void aten_free(struct aten_device *device, void *address);
void aten_memory(struct aten_device *device, size_t *out_free, size_t *out_total);

/* Copies bytes between device memory and host memory or within the device (no overlap). TO_DEVICE has read the host's
 * bytes when it returns and FROM_DEVICE has written them; WITHIN is ordered as aten_run is. */
enum aten_direction { ATEN_TO_DEVICE, ATEN_FROM_DEVICE, ATEN_WITHIN };
bool aten_copy(struct aten_device *device, void *to, const void *from, size_t bytes, enum aten_direction direction,
               char *message, size_t message_bytes);

/* A point behind all work that the device was given until now (for events and streams), whether it has been reached,
 * and waiting for it. aten_synchronize waits for everything. False: the device was removed. */
uint64_t aten_mark(struct aten_device *device);
bool aten_reached(struct aten_device *device, uint64_t mark);
bool aten_wait(struct aten_device *device, uint64_t mark);
bool aten_synchronize(struct aten_device *device);

/* ---- operators ---- */

/*
 * One row of ops.def. The glue registers three overloads by it, all of which come here as the functional one:
 *     aten::name.overload                 always, unless no_functional
 *     aten::name_.overload                if in_place: outputs[0] is the first argument
 *     aten::name.out_overload             if out_overload: outputs are the out arguments, resized as torch does;
 *                                         they are not among `args`
 * `writes`: bit i is set if argument i is written beyond what is returned (running_mean of native_batch_norm, lists of
 * _fused_adamw_). Written tensors stand in `outputs` behind the returned ones, in the order of the arguments, lists
 * with all their elements; an absent one has type ATEN_ABSENT.
 * Results that are lists of tensors come with all their elements. An output which is not wanted (output_mask of
 * convolution_backward), or undefined, has type ATEN_ABSENT.
 *
 * `random`: the operator draws random numbers. A Generator argument comes as ATEN_GENERATOR; where the schema has none
 * (native_dropout) one is appended to the arguments, of the device's default generator. Before each aten_run the glue
 * takes aten_plan_draws(plan) numbers from the generator: it passes the offset and then adds that number to it.
 */
struct aten_op {
    const char *name, *overload; /* "add", "Tensor"; the overload may be "". Of aten, or "namespace::name" */
    const char *out_overload;    /* NULL: none */
    bool in_place, no_functional, random;
    uint32_t writes;
};

/* Row i; NULL past the last. Pointers are good for ever, and stand for the row in what follows. */
const struct aten_op *aten_op_at(uint32_t i);
const struct aten_op *aten_op_find(const char *name, const char *overload);

/* ---- plans: operators compiled for types, sizes, strides and scalars ---- */

struct aten_plan;

/* A plan that fits: NULL when there is none yet (or when aten_compile could not make one: it says so at once again).
 * `outputs` are NULL for the functional overload, whose results the plan describes, and otherwise the tensors to be
 * written, with data. */
struct aten_plan *aten_find(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                            uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count);

/* Makes a plan and puts it into the cache. `outputs`: types, sizes and strides; data NULL if they are the functional
 * overload's fresh results, so that aten_find without outputs finds the plan, otherwise their addresses. NULL: the
 * operator cannot be compiled for these arguments; the message names operator, argument and rule. */
struct aten_plan *aten_compile(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                               uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count,
                               char message[ATEN_MESSAGE_BYTES]);

uint32_t aten_plan_output_count(const struct aten_plan *plan);
const struct aten_tensor *aten_plan_output(const struct aten_plan *plan, uint32_t i); /* without data */
uint64_t aten_plan_draws(const struct aten_plan *plan); /* random 32 bit numbers of a run; a multiple of 4 */

/* Whether all indices among the arguments are inside of their dimensions; the message is torch's. Always true where
 * the host cannot look (devices with memory of their own) and for graphs. To be called before aten_run. */
bool aten_in_bounds(const struct aten_plan *plan, const struct aten_arg *args, char message[ATEN_MESSAGE_BYTES]);

/* Runs it. Arguments and outputs are as aten_find had them, now all with data. Fails when the device was removed or
 * memory is short. A plan may be run by several threads at a time. */
bool aten_run(struct aten_plan *plan, const struct aten_arg *args, uint32_t arg_count,
              const struct aten_tensor *outputs, uint32_t output_count, char *message, size_t message_bytes);

/* The same for plans with fixed inputs (aten_graph_input). versions[i]: what tells the contents of args[i] from others
 * that it had or will have; 0: that is not known, and what was packed is good for this run alone. */
bool aten_plan_has_fixed(const struct aten_plan *plan);
uint64_t aten_plan_packed(const struct aten_plan *plan); /* how often they were */
bool aten_run_fixed(struct aten_plan *plan, const struct aten_arg *args, const uint64_t *versions,
                    const struct aten_tensor *outputs, char *message, size_t message_bytes);

/* Each plan that aten_find, aten_compile or aten_graph_compile returned is released once. NULL may be. */
void aten_release(struct aten_plan *plan);

/* Plans in the cache and how often aten_compile made one; those in it take at most about `limit_bytes` of the host's
 * memory (0: as it is, 128 MiB from the start). */
void aten_cache(uint64_t limit_bytes, uint64_t *out_plans, uint64_t *out_compiled);

/* ---- graphs: many operators as one plan ---- */

/*
 * For torch.compile: values have numbers, and in the arguments of a node `data` of a tensor is the number of its value
 * as a pointer. Types, sizes and strides of results are those of the fake tensors. One thread at a time.
 *
 *     g = aten_graph_begin(device)
 *     x = aten_graph_input(g, &layout, fixed)                the next argument of aten_run, as ATEN_TENSOR
 *     aten_graph_node(g, op, args, n, layouts, m, numbers)   m values
 *     v = aten_graph_view(g, x, &layout, offset)             other sizes and strides over the storage of x, starting
 *                                                            `offset` elements after the storage's first element
 *     plan = aten_graph_compile(g, numbers, count, ...)      those are the outputs of aten_run; g is gone
 *
 * What fails sets the graph's message; later calls do nothing, and aten_graph_compile gives it. Values are >= 1; 0 is
 * what failed calls return. An input that no node uses stays an argument.
 *
 * Fixed inputs, weights for example, are packed for the operators that read them when the plan runs, and again only
 * once aten_run_fixed says that one has changed. Devices with memory of their own read them like others.
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
void aten_graph_destroy(struct aten_graph *graph); /* one that is not to be compiled */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
