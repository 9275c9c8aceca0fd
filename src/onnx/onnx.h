/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models to DirectML graphs. The reader (model.c) fills neutral structs; converters.def lists one function per
 * ONNX operator that appends DirectML operators to a builder; compile.c creates the compiled operator. Uses the public
 * DirectML interface only. Not thread-safe per object; different models and programs are independent. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "base/arena.h"

#include <DirectML.h>

#define ONNX_RANK_MAX 8
/* Later operator sets may change the meaning of any operator. */
#define ONNX_OPSET_NEWEST 28

/* TensorProto.DataType values that are supported. */
enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT16 = 5,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13,
    ONNX_BFLOAT16 = 16,
    ONNX_UINT4 = 21, /* two elements a byte, the first one in the lower half */
    ONNX_INT4 = 22,
};

struct onnx_error {
    char text[512]; /* one line that states the error */
    /* A mask of run-time lengths: onnx_compile failed for an operator that does not support them, for any sizes. */
    uint8_t partial;
    /* onnx_compile failed because of an unknown value, or of control flow that a graph cannot express, at this node. */
    bool unknown;
    uint32_t node;
};

/* A constant tensor; data is little-endian, packed, at any address, and lives as long as the model. */
struct onnx_tensor {
    const char *name;
    int32_t type; /* enum onnx_type, or another, unsupported TensorProto value */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    const void *data;
    uint64_t bytes;
    bool mapped;   /* data is in a read-only file mapping: base_forget_pages is allowed */
    bool borrowed; /* data is owned by another object, which may free it, as defined by the model's creator */
};

struct onnx_attribute {
    const char *name;
    float f;
    int64_t i;
    const char *s;
    const struct onnx_tensor *t;
    const struct onnx_model *graph; /* read from files only; part of the model, and destroyed with it */
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    uint32_t count;        /* of floats, ints or strings */
    const char *reference; /* read from files only, "": in a function, the call's attribute that it is */
};

struct onnx_node {
    const char *op, *domain, *name; /* domain "" = ai.onnx */
    const char **inputs, **outputs; /* "" = absent optional */
    uint32_t input_count, output_count;
    const struct onnx_attribute *attributes;
    uint32_t attribute_count;
    /* Of the operator set, or the operator's own since-version: both compare alike with versions that changed it. */
    int64_t version;
    const char *overload; /* read from files only: of a function that is called; "" = the only one */
};

struct onnx_value_info {
    const char *name;
    int32_t type;
    uint32_t rank;
    bool has_shape;
    bool inferred;                      /* the shape is what the host expects: another one is accepted as well */
    int64_t dims[ONNX_RANK_MAX];        /* -1 = symbolic */
    const char *symbols[ONNX_RANK_MAX]; /* name of a symbolic dimension or NULL */
};

/* A graph; those that are attributes of nodes have no arena and no storage of their own, and may use values of the
 * enclosing graphs. */
struct onnx_model {
    struct base_arena arena;
    struct onnx_node *nodes; /* in topological order */
    uint32_t node_count;
    struct onnx_tensor *initializers;
    uint32_t initializer_count;
    struct onnx_value_info *inputs; /* those that are not initializers */
    uint32_t input_count;
    struct onnx_value_info *outputs;
    uint32_t output_count;
    struct onnx_value_info *values; /* declared types of intermediate values; used by onnx_check only */
    uint32_t value_count;
    void *storage; /* storage of the data */
};

/* E_INVALIDARG (invalid file; error has the reason), E_OUTOFMEMORY. The file stays mapped: changing it changes weights
 * that are not compiled yet, truncating it makes reading them end in SIGBUS. Nothing else depends on its bytes after
 * this call. */
HRESULT onnx_model_load(const char *path, struct onnx_model **out, struct onnx_error *error);
/* The same for a file's bytes, which must outlive the model. External data is unsupported. */
HRESULT onnx_model_parse(const void *bytes, size_t size, struct onnx_model **out, struct onnx_error *error);
void onnx_model_destroy(struct onnx_model *model);

/* Sizes that are known when a program runs only: it is compiled for the most that each can be. */
#define ONNX_LENGTHS_MAX 8

struct onnx_port {
    const char *name;
    int32_t onnx_type;
    DML_TENSOR_DATA_TYPE type;
    uint32_t rank;
    uint32_t sizes[ONNX_RANK_MAX];
    uint8_t lengths[ONNX_RANK_MAX]; /* per dimension: mask of the run-time lengths that its size is the most for */
    uint64_t bytes;                 /* of the packed elements */
    uint32_t slot;                  /* graph input or output of the compiled operator */
    const void *constant; /* known at compile time: outputs' data, or not NULL for an input; slot is then unused */
    bool unread;          /* input: not read by the graph; the slot is then left unbound */
    /* Output: before the graph runs, its buffer contains the bytes of input carried - 1, some of which it changes;
     * unless both are the same memory, onnx_exec_run copies them. Input: carried - 1 is such an output. 0: neither. */
    uint32_t carried;
};

/* A constant that is bound when the program is initialised, instead of being part of the graph. */
struct onnx_weight {
    uint32_t slot; /* graph input */
    const void *data;
    uint64_t bytes; /* a multiple of 4 */
    struct onnx_weight *next;
};

/* A model compiled for concrete input shapes. The model must outlive it (names point into it). */
struct onnx_program {
    struct base_arena arena;
    IDMLCompiledOperator *op; /* NULL when every output is constant */
    uint32_t graph_input_count, graph_output_count;
    struct onnx_port *inputs, *outputs; /* in the model's order */
    uint32_t input_count, output_count;
    uint32_t node_count; /* DirectML nodes */
    struct onnx_weight *weights;
    uint32_t most[ONNX_LENGTHS_MAX];         /* of each run-time length; 0: unused number */
    uint32_t length_slots[ONNX_LENGTHS_MAX]; /* graph inputs that take them as INT32 {1}, plus 1; 0: not read */
};

/* What is known about model input i when it is compiled. */
struct onnx_input {
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX]; /* concrete; 0 makes an empty tensor, which is not bound */
    /* Number of a run-time length plus 1: the dimension is its maximum; 0: it is exact. Compiling fails for operators
     * that do not support partial lengths. */
    uint8_t length[ONNX_RANK_MAX];
    const void *data; /* its value if the program is specialised for it; else NULL */
    bool wanted;      /* set when compiling failed because shapes depend on this input's value */
    /* Set together with the `wanted` of input floor_of - 1 (0: none), one integer: as long as it is not above dimension
     * floor_dim of any such input its value does not matter, and data may be the smallest of them. */
    uint32_t floor_of, floor_dim;
};

/* E_INVALIDARG: error has the reason; if an input became `wanted`, compiling again with its data may succeed. */
HRESULT onnx_compile(const struct onnx_model *model, struct onnx_input *inputs, IDMLDevice1 *device,
                     DML_EXECUTION_FLAGS flags, struct onnx_program **out, struct onnx_error *error);
/* The same with OWNED_BY_DML weights, as programs that use DirectML directly pass them: constants of more than one
 * element, except for those of recurrent operators, are bound to the initializer. For measurements, on devices that
 * compute in host memory. */
HRESULT onnx_compile_owned(const struct onnx_model *model, struct onnx_input *inputs, IDMLDevice1 *device,
                           DML_EXECUTION_FLAGS flags, struct onnx_program **out, struct onnx_error *error);
void onnx_program_destroy(struct onnx_program *program);
/* The port's dimensions in a run with these lengths (NULL: none). */
void onnx_port_dims(const struct onnx_program *program, const struct onnx_port *port, const uint32_t *lengths,
                    int64_t *out);

/* Whether one node can become part of a program, decided before shapes are known. */
struct onnx_verdict {
    bool ok;
    uint32_t folds;   /* shape arithmetic: the host computes the node 1 when all its inputs are known there, 2 always */
    uint32_t wants;   /* mask of the inputs whose values must be known when the graph is compiled */
    uint32_t lengths; /* mask of the inputs that are lengths: known on the host, which should compute with them */
    char reason[160]; /* when not ok */
};

enum onnx_check_flags {
    ONNX_CHECK_NEWEST = 1,  /* versions are since-versions: reject those for which no converter was written yet */
    ONNX_CHECK_COMPILE = 2, /* let the device compile each operator (for devices that do not support all of DirectML) */
};
/* verdicts[i] belongs to model->nodes[i]. Shapes are read from model->inputs, outputs and values; -1 means any
 * size. */
HRESULT onnx_check(const struct onnx_model *model, IDMLDevice1 *device, uint32_t flags, struct onnx_verdict *verdicts);

uint64_t onnx_bytes(int32_t type, int64_t elements); /* packed */
uint32_t onnx_type_bytes(int32_t type);              /* 0 = unsupported; 1 for 4-bit types */
const char *onnx_type_name(int32_t type);            /* "float32" */
DML_TENSOR_DATA_TYPE onnx_type_dml(int32_t type);

#endif
