/* SPDX-License-Identifier: Apache-2.0 */
/* The tables: operators.def, enums.def and errors.def turned into constant data, and the look-ups on them. */
#include "schema/schema.h"

#include <string.h>

#include "base/base.h"
#include "schema/check.h"
#include "schema/rules.h"

/* The other tables are macros that expand to partial definitions. */
/* clang-format off */

/* ---- enumerations ---- */

#define ENUM_BEGIN(NAME)   static const struct schema_enum_value values_##NAME[] = {
#define VALUE(NAME, LEVEL)     [NAME] = { #NAME, DML_FEATURE_LEVEL_##LEVEL },
#define ENUM_END           };
#include "schema/enums.def"

#define ENUM_BEGIN(NAME) \
    static const struct schema_enum enum_##NAME = { #NAME, values_##NAME, ARRAY_SIZE(values_##NAME) };
#include "schema/enums.def"

/* ---- data type sets of operators.def ---- */

enum {
    F32   = 1 << DML_TENSOR_DATA_TYPE_FLOAT32,
    F16   = 1 << DML_TENSOR_DATA_TYPE_FLOAT16,
    F64   = 1 << DML_TENSOR_DATA_TYPE_FLOAT64,
    U64   = 1 << DML_TENSOR_DATA_TYPE_UINT64,
    U32   = 1 << DML_TENSOR_DATA_TYPE_UINT32,
    U16   = 1 << DML_TENSOR_DATA_TYPE_UINT16,
    U8    = 1 << DML_TENSOR_DATA_TYPE_UINT8,
    U4BIT = 1 << DML_TENSOR_DATA_TYPE_UINT4,
    I64   = 1 << DML_TENSOR_DATA_TYPE_INT64,
    I32   = 1 << DML_TENSOR_DATA_TYPE_INT32,
    I16   = 1 << DML_TENSOR_DATA_TYPE_INT16,
    I8    = 1 << DML_TENSOR_DATA_TYPE_INT8,
    I4BIT = 1 << DML_TENSOR_DATA_TYPE_INT4,

    F    = F32 | F16,              /* floats; with ... */
    FI   = F | I32,
    SU   = F | U32,
    FI32 = F | I32 | U32,
    FI64 = FI32 | I64 | U64,
    FQI  = F32 | I32,
    B    = U32 | U8,               /* truth values */
    UIX  = U64 | U32,              /* unsigned indices, any indices, lengths */
    IDX  = UIX | I64 | I32,
    IU32 = I32 | U32,
    Q8   = I8 | U8,                /* quantised data; with floats */
    Q4   = Q8 | I4BIT | U4BIT,
    FQ   = F | Q8,
    FQ4  = F | Q4,
    U3   = U32 | U16 | U8,         /* unsigned up to 32 and 64 bits */
    U4   = U3 | U64,
    I6   = U3 | I32 | I16 | I8,    /* integers up to 32 bits */
    S    = F | I32 | I16 | I8,     /* signed up to 32 and 64 bits */
    S64  = S | I64,
    N8   = F | I6,                 /* numbers up to 32 bits, up to 64 bits, and with FLOAT64 */
    N10  = N8 | I64 | U64,
    N11  = N10 | F64,
    M6   = F | I32 | I16 | U32 | U16, /* types of move operators at level 1.0 */
    C6   = F | I16 | I8 | U16 | U8,   /* types of casts at level 1.0 */
};

/* ---- support lists ---- */

#define ROW(LEVEL, LOW, HIGH, TYPES) { DML_FEATURE_LEVEL_##LEVEL, LOW, HIGH, TYPES },
#define SUPPORT(NAME, ROWS)          const struct schema_support schema_support_##NAME[] = { ROWS { 0 } };
#include "schema/operators.def"

/* ---- operators: one function each, so that the fields can name the operator's C struct, desc ---- */

enum { REQ = UINT16_MAX, OPT = 0, OPT_6_2 = DML_FEATURE_LEVEL_6_2 };
enum { T0, T1, T2, T3 };
enum { NONE = 0, OVER_0 = 1, OVER_0_1 = 3, OVER_0_TO_3 = 15 };
enum {
    NO_FUSE        = SCHEMA_FUSE_NONE,
    FUSE_ELEMENT   = SCHEMA_FUSE_ELEMENT,
    FUSE_CLIP      = SCHEMA_FUSE_CLIP,
    FUSE_SOFTMAX   = SCHEMA_FUSE_SOFTMAX,
    FUSE_RECURRENT = SCHEMA_FUSE_RECURRENT,
};

#define OP(NAME, LEVEL, FUSE, MEANING)        OPERATOR(DML_, NAME, LEVEL, FUSE, MEANING)
#define EXTENSION(NAME, LEVEL, FUSE, MEANING) OPERATOR(ANYDML_, NAME, LEVEL, FUSE, MEANING)
#define OPERATOR(OWNER, NAME, LEVEL, FUSE, MEANING)                         \
    static const struct schema_op *op_##NAME(void)                          \
    {                                                                       \
        typedef OWNER##NAME##_OPERATOR_DESC desc;                           \
        enum {                                                              \
            op_type = OWNER##OPERATOR_##NAME,                               \
            op_level = DML_FEATURE_LEVEL_##LEVEL,                           \
            op_fuse = FUSE,                                                 \
        };                                                                  \
        static const char op_name[] = #OWNER "OPERATOR_" #NAME;             \
        static const char op_meaning[] = MEANING;                           \
        static const struct schema_field fields[] = {
#define RULE(NAME)                                                          \
        };                                                                  \
        static const struct schema_op op = {                                \
            .type = (DML_OPERATOR_TYPE)op_type,                             \
            .name = op_name,                                                \
            .meaning = op_meaning,                                          \
            .level = (DML_FEATURE_LEVEL)op_level,                           \
            .fuse = op_fuse,                                                \
            .fields = fields,                                               \
            .field_count = ARRAY_SIZE(fields),                              \
            .desc_size = sizeof(desc),                                      \
            .rule_name = #NAME,                                             \
            .rule = schema_rule_##NAME,                                     \
        };                                                                  \
        return &op;                                                         \
    }

#define FIELD(FIELD_, KIND, TYPE) \
    .name = #FIELD_, .offset = offsetof(desc, FIELD_), .kind = SCHEMA_##KIND, .type = SCHEMA_##TYPE
#define GROUPS(LIST, GROUP, SHAPE) \
    .support = schema_support_##LIST, .type_group = GROUP, .shape = SCHEMA_SHAPE_##SHAPE
#define NEED(WHEN)    .optional_level = WHEN, .required = (WHEN) == REQ
#define LENGTH(COUNT) NEED(REQ), .count_offset = offsetof(desc, COUNT)

#define INPUT(NAME, WHEN, LIST, GROUP, SHAPE) \
    { FIELD(NAME, INPUT, TENSOR), NEED(WHEN), GROUPS(LIST, GROUP, SHAPE) },
#define OUTPUT(NAME, WHEN, LIST, GROUP, SHAPE, OVER) \
    { FIELD(NAME, OUTPUT, TENSOR), NEED(WHEN), GROUPS(LIST, GROUP, SHAPE), .aliases = OVER },
#define INPUT_ARRAY(NAME, COUNT, LIST, GROUP, SHAPE) \
    { FIELD(NAME, INPUT, TENSOR_ARRAY), LENGTH(COUNT), GROUPS(LIST, GROUP, SHAPE) },
#define OUTPUT_ARRAY(NAME, COUNT, LIST, GROUP, SHAPE) \
    { FIELD(NAME, OUTPUT, TENSOR_ARRAY), LENGTH(COUNT), GROUPS(LIST, GROUP, SHAPE) },
#define ATTR(NAME, TYPE, LIMIT) \
    { FIELD(NAME, ATTRIBUTE, TYPE), .limit = SCHEMA_LIMIT_##LIMIT, .values = VALUES_##TYPE },
#define ARRAY(NAME, COUNT, TYPE, LIMIT) \
    { FIELD(NAME, ATTRIBUTE, TYPE##_ARRAY), LENGTH(COUNT), .limit = SCHEMA_LIMIT_##LIMIT },
#define ENUM(NAME, TYPE) \
    { FIELD(NAME, ATTRIBUTE, ENUM), .values = &enum_##TYPE },
#define FUSED(NAME, WHAT) \
    { FIELD(NAME, ATTRIBUTE, FUSED_ACTIVATION), .fuse = WHAT },
#define ACTIVATIONS(NAME, COUNT) \
    { FIELD(NAME, ATTRIBUTE, ACTIVATION_ARRAY), LENGTH(COUNT), .fuse = FUSE_ELEMENT | FUSE_RECURRENT },

#define VALUES_UINT       NULL
#define VALUES_INT        NULL
#define VALUES_FLOAT      NULL
#define VALUES_BOOL       NULL
#define VALUES_SCALAR     NULL
#define VALUES_SIZE_2D    NULL
#define VALUES_SCALE_BIAS NULL
#define VALUES_VALUE_TYPE &enum_DML_TENSOR_DATA_TYPE
#include "schema/operators.def"

#define OP(NAME, ...) op_##NAME,
static const struct schema_op *(*const operators[])(void) = {
#include "schema/operators.def"
};

#define EXTENSION(NAME, ...) op_##NAME,
static const struct schema_op *(*const extensions[])(void) = {
#include "schema/operators.def"
};

/* clang-format on */

static const char *const error_names[] = {
    "NONE",
#define ERR(ID, RULE) #ID,
#include "schema/errors.def"
#undef ERR
};

static const char *const error_rules[] = {
    "",
#define ERR(ID, RULE) RULE,
#include "schema/errors.def"
#undef ERR
};

static const uint32_t feature_levels[] = {
    DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_2_1, DML_FEATURE_LEVEL_3_0, DML_FEATURE_LEVEL_3_1,
    DML_FEATURE_LEVEL_4_0, DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_0, DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2,
    DML_FEATURE_LEVEL_6_0, DML_FEATURE_LEVEL_6_1, DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4,
};

/* Operators that compute in FLOAT32 internally, whatever their tensors' types. */
static const DML_OPERATOR_TYPE single_only[] = {
    DML_OPERATOR_ADAM_OPTIMIZER,
    DML_OPERATOR_BATCH_NORMALIZATION_GRAD,
    DML_OPERATOR_BATCH_NORMALIZATION_TRAINING,
    DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD,
    DML_OPERATOR_DEQUANTIZE,
    DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR,
    DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR,
    DML_OPERATOR_GRU,
    DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION,
    DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD,
    DML_OPERATOR_LSTM,
    DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT,
    DML_OPERATOR_QUANTIZE,
    DML_OPERATOR_RESAMPLE,
    DML_OPERATOR_RESAMPLE1,
    DML_OPERATOR_RESAMPLE2,
    DML_OPERATOR_RESAMPLE3,
    DML_OPERATOR_RESAMPLE_GRAD,
    DML_OPERATOR_RESAMPLE_GRAD1,
    DML_OPERATOR_RNN,
};

const struct schema_op *schema_op_find(DML_OPERATOR_TYPE type)
{
    /* operators.def is in the order of the types; DirectML's have no gaps, those of extensions end at 255 */
    const uint32_t extension = (uint32_t)type - (256 - ARRAY_SIZE(extensions));
    return extension < ARRAY_SIZE(extensions) ? extensions[extension]() : schema_op_at((uint32_t)type - 1);
}

const struct schema_op *schema_op_at(uint32_t i)
{
    return i < ARRAY_SIZE(operators) ? operators[i]() : NULL;
}

uint32_t schema_op_count(void)
{
    return ARRAY_SIZE(operators);
}

const struct schema_field *schema_field_find(const struct schema_op *op, const char *name)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (!strcmp(op->fields[i].name, name))
            return &op->fields[i];
    return NULL;
}

const struct schema_support *schema_support_find(const struct schema_support *list, uint32_t level)
{
    const struct schema_support *found = NULL;
    for (; list->level && list->level <= level; list++)
        found = list;
    return found;
}

const struct schema_support *schema_field_support(const struct schema_field *field, DML_FEATURE_LEVEL level)
{
    return field->support ? schema_support_find(field->support, level) : NULL;
}

uint32_t schema_field_types(const struct schema_op *op, uint32_t field, DML_FEATURE_LEVEL level)
{
    if (field >= op->field_count || level < op->level)
        return 0;
    const struct schema_support *row = schema_field_support(&op->fields[field], level);
    return row ? row->types : 0;
}

uint32_t schema_all_types(DML_FEATURE_LEVEL level)
{
    uint32_t types = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(operators); i++)
        for (uint32_t field = 0; field < operators[i]()->field_count; field++)
            types |= schema_field_types(operators[i](), field, level);
    return types;
}

uint32_t schema_extended_types(const struct schema_op *op, uint32_t types, DML_FEATURE_LEVEL level)
{
    uint32_t beyond = F64 | UINT32_C(1) << ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    if (level < DML_FEATURE_LEVEL_6_4 || (types & F) != F)
        return types;
    for (size_t i = 0; i < ARRAY_SIZE(single_only); i++)
        if (single_only[i] == op->type)
            beyond &= ~(uint32_t)F64;
    if (op->type == DML_OPERATOR_ELEMENT_WISE_POW) /* whose integers are computed in 64 bits */
        beyond |= I64 | U64;
    return types | beyond;
}

uint32_t schema_field_extensions(const struct schema_op *op, uint32_t field, DML_FEATURE_LEVEL level)
{
    const uint32_t types = schema_field_types(op, field, level);
    uint32_t extended = schema_extended_types(op, types, level);
    for (uint32_t i = 0; i < op->field_count && types && op->fields[field].type_group; i++)
        if (op->fields[i].type_group == op->fields[field].type_group)
            extended &= schema_extended_types(op, schema_field_types(op, i, level), level);
    return extended & ~types;
}

bool schema_type_supported(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type,
                           DML_FEATURE_LEVEL level)
{
    return (uint32_t)type < 16 && (schema_field_types(op, field, level) >> type & 1);
}

bool schema_in_place_allowed(const struct schema_op *op, uint32_t input_slot, uint32_t output_slot)
{
    /* No operator with an array of tensors grants it, hence slots are counted as fields here. */
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (op->fields[i].kind != SCHEMA_OUTPUT)
            continue;
        if (!output_slot--)
            return input_slot < 16 && (op->fields[i].aliases >> input_slot & 1);
    }
    return false;
}

const uint32_t *schema_feature_levels(uint32_t *out_count)
{
    *out_count = ARRAY_SIZE(feature_levels);
    return feature_levels;
}

bool schema_feature_level_known(uint32_t level)
{
    for (size_t i = 0; i < ARRAY_SIZE(feature_levels); i++)
        if (feature_levels[i] == level)
            return true;
    return false;
}

const char *schema_data_type_name(DML_TENSOR_DATA_TYPE type)
{
    const struct schema_enum *types = &enum_DML_TENSOR_DATA_TYPE;
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return "BFLOAT16";
    return types->values[(uint32_t)type < types->count ? type : 0].name + strlen("DML_TENSOR_DATA_TYPE_");
}

uint32_t schema_data_type_bits(DML_TENSOR_DATA_TYPE type)
{
    static const uint8_t bits[] = { 0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4, 0, 16 };
    return (uint32_t)type < ARRAY_SIZE(bits) ? bits[type] : 0;
}

uint32_t schema_array_length(const struct schema_field *field, const void *desc)
{
    uint32_t count = 1;
    if (schema_field_is_array(field))
        memcpy(&count, (const char *)desc + field->count_offset, sizeof(count));
    return count;
}

const char *schema_error_name(uint32_t id)
{
    return id < SCHEMA_ERROR_END ? error_names[id] : "UNKNOWN";
}

const char *schema_error_rule(uint32_t id)
{
    return id < SCHEMA_ERROR_END ? error_rules[id] : "";
}
