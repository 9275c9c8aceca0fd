/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of descriptions, written as changes to recipes, with what the schema must say of them. */
#ifndef TESTS_UNIT_SCHEMA_CASES_H
#define TESTS_UNIT_SCHEMA_CASES_H

#include <string.h>

#include "schema/sample.h"
#include "schema/schema.h"
#include "test.h"

/* level 0: the highest. error SCHEMA_ERROR_NONE: valid; else the message must contain `text` besides the operator. */
struct schema_case {
    DML_OPERATOR_TYPE op;
    uint32_t level;
    enum schema_error_id error;
    const char *changes, *text;
};

#define CASE_OK(OP, CHANGES)                                                                                           \
    {                                                                                                                  \
        DML_OPERATOR_##OP, 0, SCHEMA_ERROR_NONE, CHANGES, ""                                                           \
    }
#define CASE_EXTENSION_OK(OP, CHANGES)                                                                                 \
    {                                                                                                                  \
        ANYDML_OPERATOR_##OP, 0, SCHEMA_ERROR_NONE, CHANGES, ""                                                        \
    }
#define CASE_EXTENSION_BAD(OP, ID, CHANGES, TEXT)                                                                      \
    {                                                                                                                  \
        ANYDML_OPERATOR_##OP, 0, SCHEMA_ERROR_##ID, CHANGES, TEXT                                                      \
    }
#define CASE_OK_AT(OP, LEVEL, CHANGES)                                                                                 \
    {                                                                                                                  \
        DML_OPERATOR_##OP, LEVEL, SCHEMA_ERROR_NONE, CHANGES, ""                                                       \
    }
#define CASE_BAD(OP, ID, CHANGES, TEXT)                                                                                \
    {                                                                                                                  \
        DML_OPERATOR_##OP, 0, SCHEMA_ERROR_##ID, CHANGES, TEXT                                                         \
    }
#define CASE_BAD_AT(OP, LEVEL, ID, CHANGES, TEXT)                                                                      \
    {                                                                                                                  \
        DML_OPERATOR_##OP, LEVEL, SCHEMA_ERROR_##ID, CHANGES, TEXT                                                     \
    }

static inline void schema_run_case(const struct schema_case *c)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    struct schema_error error;
    if (!TEST_FOR(schema_sample_with(c->op, c->changes, &storage, &desc), "%s: %s", schema_op_find(c->op)->name,
                  c->changes))
        return;
    const uint32_t level = c->level ? c->level : DML_FEATURE_LEVEL_6_4;
    const HRESULT result = schema_validate(&desc, (DML_FEATURE_LEVEL)level, &error);
    TEST_FOR(result == (c->error ? E_INVALIDARG : S_OK) && error.id == (uint32_t)c->error,
             "%s with %s: wanted %s, got %s: %s", schema_op_find(c->op)->name, c->changes,
             schema_error_name((uint32_t)c->error), schema_error_name(error.id), error.text);
    TEST_FOR(!c->error ||
                 (strstr(error.text, schema_op_find(c->op)->name) == error.text && strstr(error.text, c->text)),
             "\"%s\" in \"%s\"", c->text, error.text);
}

#endif
