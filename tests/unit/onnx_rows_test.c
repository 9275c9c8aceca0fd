/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ONNX operators: in order, no operator twice, every row found by its own name. */
#include "onnx/convert/converters.h"

#include "test.h"

static const struct onnx_converter rows[] = {
#define ONNX_CONVERTER(domain, op, newest, wants, folds, rows, function)                                               \
    { domain, op, newest, wants, folds, NULL, function },
#include "onnx/convert/converters.def"
#undef ONNX_CONVERTER
};

static void test_order(void)
{
    for (size_t i = 1; i < ARRAY_SIZE(rows); i++) {
        int domains = strcmp(rows[i - 1].domain, rows[i].domain);
        TEST_FOR(domains < 0 || (!domains && strcmp(rows[i - 1].op, rows[i].op) < 0), "\"%s\" %s after %s",
                 rows[i].domain, rows[i].op, rows[i - 1].op);
    }
}

static void test_find(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct onnx_converter *found = onnx_converter_find(rows[i].domain, rows[i].op);
        TEST_FOR(found && !strcmp(found->domain, rows[i].domain) && !strcmp(found->op, rows[i].op) &&
                     found->newest == rows[i].newest && found->convert == rows[i].convert,
                 "\"%s\" %s", rows[i].domain, rows[i].op);
        if (!rows[i].domain[0])
            TEST_FOR(onnx_converter_find("ai.onnx", rows[i].op) == found, "ai.onnx %s", rows[i].op);
    }
    TEST(!onnx_converter_find("", "") && !onnx_converter_find("", "Zzz") && !onnx_converter_find("", "abs"));
    TEST(!onnx_converter_find("com.microsoft", "Abs") && !onnx_converter_find("zzz", "Abs") &&
         !onnx_converter_find("a", "Abs"));
}

int main(void)
{
    test_order();
    test_find();
    return test_result();
}
