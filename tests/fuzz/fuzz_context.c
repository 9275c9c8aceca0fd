/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: the reader of compiled models (EPContext). The hash over the bytes is made right first, as whoever
 * makes a harmful file would; what can be read is then converted as a session does. */
#include "context.h"
#include "ep.h"

#include "base/hash.h"
#include "onnx/exec.h"

#include <anydml.h>

#include <stdlib.h>

#define HERE   "anydml-context=1;device=cpu;version=0.1.0;name=here" /* as in context_test.c */
#define HEADER 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal(uint8_t *bytes, size_t size)
{
    uint64_t whole = size;
    memcpy(bytes + 16, &whole, sizeof(whole));
    struct base_hash hash = base_hash(bytes + HEADER, size - HEADER);
    memcpy(bytes + 32, &hash.low, 8);
    memcpy(bytes + 40, &hash.high, 8);
}

static void check(const struct onnx_model *model)
{
    static struct onnx_device *device;
    struct onnx_error error;
    struct onnx_verdict *verdicts = calloc(model->node_count + 1, sizeof(*verdicts));
    if (!device && FAILED(onnx_device_open(0, &device, &error)))
        abort();
    if (verdicts)
        onnx_check(model, device->dml, 0, verdicts);
    free(verdicts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct onnx_error error = { "" };
    struct onnx_model *model;
    size_t whole = size / EP_CONTEXT_ALIGNMENT * EP_CONTEXT_ALIGNMENT;
    uint8_t *bytes = whole ? aligned_alloc(EP_CONTEXT_ALIGNMENT, whole) : NULL;
    if (!bytes)
        return 0;
    memcpy(bytes, data, whole);
    seal(bytes, whole);
    if (SUCCEEDED(ep_context_read(bytes, whole, "part", HERE, &model, &error))) {
        BOOL before = AnydmlQuiet(TRUE);
        check(model);
        AnydmlQuiet(before);
        ep_model_destroy(model);
    }
    free(bytes);
    return 0;
}
