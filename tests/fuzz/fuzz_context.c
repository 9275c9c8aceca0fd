/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the reader of compiled models (EPContext). The hash over the bytes is made right first, as whoever makes a
 * harmful file would; what can be read is then converted as a session does.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz); without, a program that runs the files and folders
 * it is given: each as it is, cut off at each multiple of the alignment, and with each of its words replaced by values
 * that no model should have. */
#include "context.h"
#include "ep.h"

#include "base/hash.h"
#include "onnx/run/exec.h"

#include "files.h"

#include <anydml.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HERE   "anydml-context=1;device=cpu;version=0.1.0;name=here" /* as in context_test.c */
#define HEADER 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t models, refused;

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
        models++;
    } else {
        refused++;
    }
    free(bytes);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static void run_file(const char *path)
{
    static const uint32_t words[] = { 0, 1, 7, 0xff, 0x10000, 0x7fffffff, 0x80000000, UINT32_MAX };
    static uint8_t data[1 << 16], changed[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    const size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    for (size_t length = 0; length <= size; length += EP_CONTEXT_ALIGNMENT)
        LLVMFuzzerTestOneInput(data, length);
    for (size_t at = 0; at + sizeof(*words) <= size; at++) {
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
            memcpy(changed, data, size);
            memcpy(changed + at, &words[i], sizeof(*words));
            LLVMFuzzerTestOneInput(changed, size);
        }
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        fuzz_each_file(argv[i], run_file);
    printf("changed files: %" PRIu64 " models, %" PRIu64 " refused\n", models, refused);
    return !models || !refused;
}
#endif
