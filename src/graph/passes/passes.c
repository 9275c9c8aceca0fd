/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes of passes.def until a round changes nothing. */
#include "graph/passes/pass.h"

#include "graph/compile.h"
#include "graph/ir/text.h"

#include "base/cpu.h"
#include "base/log.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Each round strictly shrinks or finishes something; the limit only guards against mistakes. */
#define ROUNDS_MAX 16

static const struct {
    const char *name;
    graph_pass_fn *run;
} passes[] = {
#define PASS(name, meaning) { #name, graph_pass_##name },
#include "graph/passes/passes.def"
#undef PASS
};

static uint64_t pass_bit(const char *name, size_t length)
{
    if (length == 3 && !memcmp(name, "all", 3))
        return GRAPH_PASSES_ALL;
    for (uint32_t i = 0; i < ARRAY_SIZE(passes); i++)
        if (strlen(passes[i].name) == length && !memcmp(passes[i].name, name, length))
            return UINT64_C(1) << i;
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (length && !atomic_flag_test_and_set(&told))
        fprintf(stderr, "anydml: ANYDML_DISABLE_PASS: unknown pass \"%.*s\"\n", (int)length, name);
    return 0;
}

void graph_options_init(struct graph_options *options, const struct graph_backend *backend, uint32_t threads)
{
    const char *names = getenv("ANYDML_DISABLE_PASS");
    memset(options, 0, sizeof(*options));
    options->cpu = base_cpu_flags();
    options->threads = threads ? threads : base_parallel_threads();
    options->backend = backend;
    options->shader_capabilities = UINT32_MAX;
    while (names && *names) {
        size_t length = strcspn(names, ",");
        options->disabled_passes |= pass_bit(names, length);
        names += length + (names[length] == ',');
    }
}

static void trace(const struct graph *graph, const char *name)
{
    if (!base_log_enabled(BASE_LOG_TRACE))
        return;
    char *text = graph_print(graph);
    base_log(BASE_LOG_TRACE, "graph after %s:", name);
    for (char *line = text, *end; line && *line; line = end) { /* a message has up to a thousand characters */
        end = line + strcspn(line, "\n");
        base_log(BASE_LOG_TRACE, "%.*s", (int)(end - line), line);
        end += *end == '\n';
    }
    free(text);
}

static HRESULT run_round(struct graph *graph, const struct graph_options *options, bool *changed)
{
    const uint64_t enabled = options->backend->passes & ~options->disabled_passes;
    for (uint32_t i = 0; i < ARRAY_SIZE(passes); i++) {
        bool here = false;
        if (!(enabled >> i & 1))
            continue;
        const uint32_t before = graph->op_count;
        HRESULT hr = passes[i].run(graph, options, &here);
        if (FAILED(hr))
            return hr;
        if (graph->failed || !graph_settle(graph))
            return E_OUTOFMEMORY;
        here = here || graph->op_count != before;
        if (here) {
            graph_uses_forget(graph);
            trace(graph, passes[i].name);
        }
        *changed |= here;
    }
    return S_OK;
}

HRESULT graph_run_passes(struct graph *graph, const struct graph_options *options)
{
    bool changed = true;
    HRESULT hr = S_OK;
    trace(graph, "lowering");
    graph_priorities_begin(graph);
    graph_uses_keep(graph);
    for (uint32_t round = 0; SUCCEEDED(hr) && changed && round < ROUNDS_MAX; round++) {
        changed = false;
        hr = run_round(graph, options, &changed);
    }
    graph_uses_forget(graph);
    graph->priorities = NULL; /* of the graph's arena */
    graph->uses = NULL;
    return hr;
}
