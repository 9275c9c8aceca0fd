/* SPDX-License-Identifier: Apache-2.0 */
/* Everything from the device to the result, again and again, with one allocation after the other failing, or what else
 * ANYDML_INJECT_WHAT names: an HRESULT says so, nothing crashes, nothing stays allocated or open, and the next run is
 * right. Runs under inject.c, each failure in a process of its own.
 *
 * usage: alloc_api [--every N] [CASE NUMBER] */
#define _GNU_SOURCE
#include "inject.h"
#include "scenario.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLED = 100, SAMPLED_COLD = 50 };

static const char *name, *what; /* of the scenario, and of what fails */
static void (*begin)(uint64_t);
static uint64_t (*end)(void);
static struct inject_use (*in_use)(void);
static void (*show_left)(void);

/* "" or what is wrong. */
static const char *judge(HRESULT hr)
{
    static char text[64];
    if (hr == S_OK)
        return memcmp(scenario_results.got, scenario_results.want, scenario_results.bytes) ? "a wrong result" : "";
    snprintf(text, sizeof(text), "HRESULT 0x%08x", (unsigned)hr);
    return hr == E_OUTOFMEMORY ? "" : text;
}

/* The exit code: 0, or 1 with a line. `number` = 0 only counts, into *out_count. */
static int fail_at(uint64_t number, uint64_t *out_count)
{
    struct inject_use before = in_use();
    begin(number);
    HRESULT hr = scenario_run();
    uint64_t count = end();
    struct inject_use after = in_use();
    const char *wrong = judge(hr);
    *out_count = count;
    if (*wrong) {
        fprintf(stderr, "%s, %s %llu fails: %s\n", name, what, (unsigned long long)number, wrong);
        return 1;
    }
    if (after.mapped > before.mapped || after.blocks > before.blocks || after.files > before.files) {
        show_left();
        fprintf(stderr, "%s, %s %llu fails: %lld blocks, %lld mapped bytes and %lld files more than before\n", name,
                what, (unsigned long long)number, (long long)(after.blocks - before.blocks),
                (long long)(after.mapped - before.mapped), (long long)(after.files - before.files));
        return 1;
    }
    hr = scenario_run();
    wrong = hr == S_OK ? judge(hr) : "the second run fails";
    if (*wrong)
        fprintf(stderr, "%s, after %s %llu failed: %s, 0x%08x\n", name, what, (unsigned long long)number, wrong,
                (unsigned)hr);
    return *wrong ? 1 : 0;
}

struct tally {
    unsigned runs, wrong, crashes;
};

static void count_result(struct tally *tally, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : INJECT_CRASH;
    tally->runs++;
    tally->crashes += code == INJECT_CRASH;
    tally->wrong += code && code != INJECT_CRASH;
}

/* The same in a process that has not used the libraries before, so that their first steps fail. */
static int fail_cold(uint64_t number, uint64_t *out_count)
{
    begin(number);
    HRESULT first = scenario_run();
    *out_count = end();
    memcpy(scenario_results.want, scenario_results.got, scenario_results.bytes);
    HRESULT second = scenario_run();
    const char *wrong = second != S_OK ? "the second run fails" : "";
    if (first != S_OK && first != E_OUTOFMEMORY)
        wrong = "another HRESULT";
    else if (first == S_OK && memcmp(scenario_results.got, scenario_results.want, scenario_results.bytes))
        wrong = "two results";
    if (*wrong)
        fprintf(stderr, "%s, %s %llu of the process's first run fails: %s, 0x%08x 0x%08x\n", name, what,
                (unsigned long long)number, wrong, (unsigned)first, (unsigned)second);
    return *wrong ? 1 : 0;
}

typedef int fail_fn(uint64_t number, uint64_t *out_count);

/* In a child. Its status. */
static int try(fail_fn *fail, uint64_t number, uint64_t *out_count)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        alarm(60);
        _exit(fail(number, out_count));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s, %s %llu fails: signal %d\n", name, what, (unsigned long long)number, WTERMSIG(status));
    return status;
}

/* Every `every`th allocation of a run, or about `sampled` of them, or only the one of this number. */
struct choice {
    uint64_t every, only, sampled;
};

static bool test_case(fail_fn *fail, const struct choice *choice, struct tally *tally)
{
    uint64_t *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED || try(fail, 0, count)) {
        fprintf(stderr, "%s: does not run\n", name);
        return false;
    }
    uint64_t total = *count, step = choice->every ? choice->every : total / choice->sampled + 1;
    uint64_t first = choice->only ? choice->only : 1, last = choice->only ? choice->only : total;
    for (uint64_t i = first; i <= last; i += step)
        count_result(tally, try(fail, i, count));
    printf("%s: %llu of %s\n", name, (unsigned long long)total, what);
    munmap(count, sizeof(*count));
    return true;
}

/* First without the libraries having run in this process, then with. */
static bool test_scenario(uint32_t index, bool cold, const struct choice *choice, struct tally *tally)
{
    bool ok = scenario_open(index);
    name = scenario_name(index);
    if (ok && cold) {
        ok = test_case(fail_cold, choice, tally);
    } else if (ok) {
        ok = scenario_run() == S_OK;
        memcpy(scenario_results.want, scenario_results.got, scenario_results.bytes);
        ok = ok && test_case(fail_at, choice, tally);
    }
    scenario_close();
    return ok;
}

int main(int argc, char **argv)
{
    struct tally tally = { 0 };
    struct choice choice = { 0 };
    const char *only = argc > 2 && strcmp(argv[1], "--every") ? argv[1] : NULL;
    if (argc > 2)
        *(only ? &choice.only : &choice.every) = strtoull(argv[2], NULL, 10);
    what = getenv("ANYDML_INJECT_WHAT");
    what = what ? what : "memory";
    setenv("ANYDML_ADAPTERS", "cpu", 1);
    setenv("ANYDML_THREADS", strcmp(what, "threads") ? "1" : "3", 1);
    setenv("ANYDML_LOG", "none", 0);
    *(void **)&begin = dlsym(RTLD_DEFAULT, "inject_begin");
    *(void **)&end = dlsym(RTLD_DEFAULT, "inject_end");
    *(void **)&in_use = dlsym(RTLD_DEFAULT, "inject_in_use");
    *(void **)&show_left = dlsym(RTLD_DEFAULT, "inject_show_left");
    if (!begin || !end || !in_use || !show_left) {
        fprintf(stderr, "preload the library of inject.c\n");
        return 2;
    }
    bool ok = true;
    for (int cold = 1; cold >= 0; cold--) {
        choice.sampled = cold ? SAMPLED_COLD : SAMPLED;
        for (uint32_t i = 0; i < SCENARIOS; i++)
            if (!only || !strcmp(only, scenario_name(i)))
                ok = test_scenario(i, cold, &choice, &tally) && ok;
    }
    printf("%u failures: %u wrong, %u crashes\n", tally.runs, tally.wrong, tally.crashes);
    return ok && tally.runs && !tally.wrong && !tally.crashes ? 0 : 1;
}
