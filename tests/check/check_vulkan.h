/* SPDX-License-Identifier: Apache-2.0 */
/* What check_vulkan runs ops with. */
#ifndef CHECK_VULKAN_H
#define CHECK_VULKAN_H

#include "api/api_test.h"
#include "check.h"
#include "check_vulkan_map.h"

#include "dml/dispatch_spirv.h"
#include "graph/backend.h"
#include "graph/compile.h"
#include "shaders/shader.h"

struct bench {
    ID3D12Device *d3d;
    AnydmlDevice *anydml;
    struct api_queue q;
    ID3D12DescriptorHeap *heap;
    struct dml_device dml; /* only what programs look at is set */
    ID3D12Resource *buffer;
    uint64_t room;
    const struct graph_backend *backend; /* graph_backend_spirv, or that of one row */
    uint32_t ran, unsupported, failed;   /* cases; outputs and other expectations */
    const char *filter;                  /* NULL: every row */
    uint32_t part, parts;                /* rows from this one on, in steps */
    uint32_t every;                      /* one of this many cases of lists, selected by the seed */
    uint64_t *pipelines;                 /* hashes of all that were made */
    uint32_t pipeline_count;
    bool compiles;                  /* only: nothing is executed */
    bool norm_wise;                 /* the case */
    bool wild;                      /* its data stays as it is */
    bool constants;                 /* second factors may be constants */
    double max_ulp;                 /* of the case; negative: what its operations may have */
    bool seen[KERN_MAP_CODE_COUNT]; /* operations that ran */
};

/* An expectation: ok() counts for each file of its own. */
#define bench_ok(bench, cond, ...)                                                                                     \
    do {                                                                                                               \
        const bool good = (cond);                                                                                      \
        ok(good, __VA_ARGS__);                                                                                         \
        (bench)->failed += !good;                                                                                      \
    } while (0)

/* Ops run by this row from now on; NULL: by those that libdirectml chooses. */
void bench_use_row(struct bench *bench, const struct shader_row *row);
uint32_t bench_capabilities(const struct bench *bench);
/* On the device and with the reference kernel; counts. */
void bench_run_case(struct bench *bench, const struct check_case *c, struct check_rng *rng);
/* Whether every pipeline that the row in use plans for the op was made before. */
bool bench_is_made(const struct bench *bench, const struct kern_op *op);
/* Of the largest tensor. */
uint64_t bench_elements(const struct kern_op *op);
/* Data over which errors are measured against the largest result, where they must be. */
void bench_tame_case(struct check_case *c);

struct bench_search {
    const struct shader_row *row;
    uint32_t capabilities; /* of the device that the row is to take the case on */
    uint64_t seed;
    uint32_t index; /* of the case; also how pipelines are specialized, and more */
    uint32_t tries;
    /* NULL, or what else cases must be; `without` is for it. */
    bool (*suits)(const struct bench_search *search, const struct kern_op *op);
    uint32_t without;
};
/* A random case that the row takes, without its epilogue if need be, and that software adapters run in seconds; false
 * when none was found. */
bool bench_find_case(struct bench *bench, const struct bench_search *search, struct check_rng *out_rng,
                     struct check_case *out);

/* check_vulkan_without.c: the device lacks the capability, of enum shader_capability: what rows run otherwise than with
 * it, the case in another pipeline, another row, or none. */
void bench_run_without(struct bench *bench, uint32_t capability, uint32_t cases, uint64_t seed, const char *filter);

#endif
