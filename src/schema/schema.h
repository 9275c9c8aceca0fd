/* SPDX-License-Identifier: Apache-2.0 */
/* Every DirectML operator: the table of its fields and their limits, the validation of a description against it, and
 * the deep copy of a description. The table is built from operators.def, enums.def and errors.def. All functions are
 * thread-safe: the tables are constant and there is no other state. */
#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anydml.h>

enum {
    SCHEMA_MAX_RANK = 8,          /* dimensions of a tensor, hence elements of a UINT, INT or FLOAT array */
    SCHEMA_MAX_TENSORS = 1 << 16, /* elements of a tensor array: larger counts are considered garbage */
    SCHEMA_MAX_ACTIVATIONS = 6,   /* of a recurrent operator: three for each direction */
    SCHEMA_MAX_EXTENT = 1 << 30,  /* largest window size, stride, dilation or padding: index arithmetic fits int64 */
};
#define SCHEMA_MAX_TENSOR_BYTES (UINT64_C(1) << 40)

enum schema_kind {
    SCHEMA_INPUT,
    SCHEMA_OUTPUT,
    SCHEMA_ATTRIBUTE,
};

enum schema_field_type {
    SCHEMA_TENSOR,           /* const DML_TENSOR_DESC * */
    SCHEMA_TENSOR_ARRAY,     /* const DML_TENSOR_DESC *, schema_array_length elements */
    SCHEMA_UINT,             /* UINT */
    SCHEMA_INT,              /* INT */
    SCHEMA_FLOAT,            /* FLOAT */
    SCHEMA_BOOL,             /* BOOL */
    SCHEMA_ENUM,             /* an enumeration, described by `values` */
    SCHEMA_VALUE_TYPE,       /* DML_TENSOR_DATA_TYPE of the operator's scalars */
    SCHEMA_SCALAR,           /* DML_SCALAR_UNION; the operator's SCHEMA_VALUE_TYPE field selects the member */
    SCHEMA_SIZE_2D,          /* DML_SIZE_2D */
    SCHEMA_SCALE_BIAS,       /* const DML_SCALE_BIAS *, NULL for none */
    SCHEMA_UINT_ARRAY,       /* const UINT * */
    SCHEMA_INT_ARRAY,        /* const INT * */
    SCHEMA_FLOAT_ARRAY,      /* const FLOAT * */
    SCHEMA_FUSED_ACTIVATION, /* const DML_OPERATOR_DESC *, NULL for none */
    SCHEMA_ACTIVATION_ARRAY, /* const DML_OPERATOR_DESC *, the activations of a recurrent operator */
};

/* The limit of an attribute, for each element of an array. */
enum schema_limit {
    SCHEMA_LIMIT_ANY,
    SCHEMA_LIMIT_MIN1,
    SCHEMA_LIMIT_NONZERO,
    SCHEMA_LIMIT_POSITIVE,
    SCHEMA_LIMIT_FINITE,
    SCHEMA_LIMIT_WINDOW,  /* 1 .. SCHEMA_MAX_EXTENT */
    SCHEMA_LIMIT_EXTENT,  /* 0 .. SCHEMA_MAX_EXTENT */
    SCHEMA_LIMIT_AXIS,    /* below the rank of the operator's first tensor */
    SCHEMA_LIMIT_AXES,    /* each below that rank, without repeats */
    SCHEMA_LIMIT_RANK,    /* equal to that rank */
    SCHEMA_LIMIT_SPATIAL, /* equal to that rank less the two of batch and channel */
};

/* The relation between a tensor's sizes and those of the operator's other tensors. */
enum schema_shape {
    SCHEMA_SHAPE_ANY,
    SCHEMA_SHAPE_RANK,     /* the common DimensionCount */
    SCHEMA_SHAPE_SAME,     /* that, and one Sizes among these */
    SCHEMA_SHAPE_SAME2,    /* that, and another Sizes among these */
    SCHEMA_SHAPE_RANK_ONE, /* that, and every size 1 */
    SCHEMA_SHAPE_RANK2,    /* another common DimensionCount */
    SCHEMA_SHAPE_ONE,      /* every size 1, any DimensionCount */
};

/* How an operator can be fused into another one. Bits: a FusedActivation field states which ones it accepts. */
enum schema_fuse {
    SCHEMA_FUSE_NONE = 0,
    SCHEMA_FUSE_ELEMENT = 1 << 0,   /* element by element */
    SCHEMA_FUSE_CLIP = 1 << 1,      /* from level 6.0 */
    SCHEMA_FUSE_SOFTMAX = 1 << 2,   /* from level 6.1 */
    SCHEMA_FUSE_RECURRENT = 1 << 3, /* in recurrent operators only */
};

enum schema_error_id {
    SCHEMA_ERROR_NONE,
#define ERR(ID, RULE) SCHEMA_ERROR_##ID,
#include "schema/errors.def"
#undef ERR
    SCHEMA_ERROR_END,
};

/* One row of a support table, valid from its level up to the next row's. Bit n of `types` is DML_TENSOR_DATA_TYPE n. */
struct schema_support {
    uint16_t level; /* 0 terminates a list */
    uint8_t min_rank, max_rank;
    uint16_t types;
};

struct schema_enum_value {
    const char *name;
    uint16_t level; /* first level that has it */
};

struct schema_enum {
    const char *name;
    const struct schema_enum_value *values; /* by value */
    uint32_t count;
};

struct schema_field {
    const char *name;                     /* as in the C struct */
    const struct schema_support *support; /* of a tensor: rows by rising level */
    const struct schema_enum *values;     /* of a SCHEMA_ENUM or SCHEMA_VALUE_TYPE */
    uint16_t offset;                      /* in the operator's C struct */
    uint16_t count_offset;                /* of the UINT that holds an array's length */
    uint16_t optional_level;              /* level from which a tensor may be NULL; 0: always, UINT16_MAX: never */
    uint16_t aliases;                     /* of an output: bit n if its buffer may be that of input slot n */
    uint8_t kind;                         /* enum schema_kind */
    uint8_t type;                         /* enum schema_field_type */
    uint8_t limit;                        /* enum schema_limit, of an attribute */
    uint8_t type_group;                   /* tensors of one group have one data type; 0: free */
    uint8_t shape;                        /* enum schema_shape, of a tensor */
    uint8_t fuse;                         /* enum schema_fuse bits that activations may have */
    bool required;                        /* a pointer that may not be NULL at the highest level */
};

struct schema_check;

struct schema_op {
    DML_OPERATOR_TYPE type;
    const char *name;    /* "DML_OPERATOR_GEMM" */
    const char *meaning; /* one line */
    DML_FEATURE_LEVEL level;
    uint8_t fuse; /* enum schema_fuse */
    const struct schema_field *fields;
    uint32_t field_count;
    size_t desc_size;
    const char *rule_name; /* of the check below, "none" without one */
    bool (*rule)(
        struct schema_check *); /* relations between the fields that the columns above cannot express, or NULL */
};

/* Why a description was refused; one sentence naming operator, field, value and rule. */
struct schema_error {
    uint32_t id; /* enum schema_error_id */
    char text[400];
};

/* The operators. find: NULL for an unknown type. at: DirectML's by rising type, i < schema_op_count(). */
const struct schema_op *schema_op_find(DML_OPERATOR_TYPE type);
const struct schema_op *schema_op_at(uint32_t i);
uint32_t schema_op_count(void);

/* The field of that name, or NULL. */
const struct schema_field *schema_field_find(const struct schema_op *op, const char *name);

/* The row of a tensor field's support table that applies at the level; NULL if there is none. */
const struct schema_support *schema_field_support(const struct schema_field *field, DML_FEATURE_LEVEL level);

/* Data types as a set, bit n is DML_TENSOR_DATA_TYPE n: those that tensor field number `field` accepts at the level;
 * those that any operator accepts at the level. 0 for a field that is not a tensor and for a level below the
 * operator's. */
uint32_t schema_field_types(const struct schema_op *op, uint32_t field, DML_FEATURE_LEVEL level);
uint32_t schema_all_types(DML_FEATURE_LEVEL level);

/* The types that AnyDML accepts beyond the documentation, disjoint from schema_field_types. One rule, at the highest
 * level: tensors of a type group that accept FLOAT32 and FLOAT16 also accept bfloat16 and FLOAT64, except for FLOAT64
 * in operators that compute in FLOAT32 only. ELEMENT_WISE_POW also accepts 64-bit integers. */
uint32_t schema_field_extensions(const struct schema_op *op, uint32_t field, DML_FEATURE_LEVEL level);
uint32_t schema_extended_types(const struct schema_op *op, uint32_t types, DML_FEATURE_LEVEL level);
bool schema_type_supported(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type,
                           DML_FEATURE_LEVEL level);

/* Whether the documentation allows binding an output to the buffer range of an input, both counted as slots from 0. If
 * it does not, AnyDML allows it all the same (graph_aliases_allow, and copies). */
bool schema_in_place_allowed(const struct schema_op *op, uint32_t input_slot, uint32_t output_slot);

/* The 15 feature levels, rising. */
const uint32_t *schema_feature_levels(uint32_t *out_count);
bool schema_feature_level_known(uint32_t level);

/* "FLOAT32" and so on, "BFLOAT16" for the extension, "UNKNOWN" for anything else; width in bits, 0 for anything else.
 */
const char *schema_data_type_name(DML_TENSOR_DATA_TYPE type);
uint32_t schema_data_type_bits(DML_TENSOR_DATA_TYPE type);

/* Elements of an array field in this operator's C struct: the value of its length field; 1 for a field that is not an
 * array. */
uint32_t schema_array_length(const struct schema_field *field, const void *desc);

/* The minimum TotalTensorSizeInBytes for the sizes and strides, a multiple of 4. 0 if the tensor spans more than 2^32 -
 * 1 elements or its data type, dimension count or sizes are invalid. */
uint64_t schema_tensor_min_bytes(const DML_BUFFER_TENSOR_DESC *tensor);

/* The strides in elements, given or packed, of a tensor that passed validation. */
void schema_tensor_strides(const DML_BUFFER_TENSOR_DESC *tensor, uint32_t out[SCHEMA_MAX_RANK]);

/* Validates everything about a description that does not depend on data: S_OK, or E_INVALIDARG with the reason in
 * *error (which may be NULL). Arrays must have the length that their count field states; nothing else is trusted. */
HRESULT schema_validate(const DML_OPERATOR_DESC *desc, DML_FEATURE_LEVEL level, struct schema_error *error);

/* The same for a description whose outputs may have a DimensionCount of 0: the rules that validation applies determine
 * DimensionCount, Sizes (which must have room for SCHEMA_MAX_RANK) and TotalTensorSizeInBytes of these. E_INVALIDARG,
 * too, if the sizes of one do not follow from the rest of the description. */
HRESULT schema_infer(const DML_OPERATOR_DESC *desc, DML_FEATURE_LEVEL level, struct schema_error *error);

/* The identifier of an error ("RANK") and the rule behind it. */
const char *schema_error_name(uint32_t id);
const char *schema_error_rule(uint32_t id);

/* A description with everything it points to in one allocation. Slots are the tensors in declared order, arrays
 * expanded in place, NULL for an absent optional tensor. */
struct schema_desc {
    const struct schema_op *op;
    DML_OPERATOR_DESC desc; /* cast desc.Desc to the operator's C struct */
    uint32_t input_count, output_count;
    const DML_BUFFER_TENSOR_DESC *const *inputs;
    const DML_BUFFER_TENSOR_DESC *const *outputs;
};

/* Copies a description that passed schema_validate: S_OK, or E_OUTOFMEMORY and *out = NULL. Strides that are NULL stay
 * NULL; TotalTensorSizeInBytes is rounded down to a multiple of 4. The caller destroys it; NULL is allowed there. */
HRESULT schema_desc_create(const DML_OPERATOR_DESC *desc, struct schema_desc **out);
void schema_desc_destroy(struct schema_desc *desc);

#endif
