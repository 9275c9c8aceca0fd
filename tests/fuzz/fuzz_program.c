/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the interfaces: bytes are a program of calls, which makes, binds, records, executes, waits and releases,
 * in any order, with objects of two devices. Each call must succeed or return an error and nothing; nothing may crash
 * or hang, and at the end nothing is alive.
 *
 * A program keeps what a caller promises: pointers are valid, descriptor heaps live as long as what uses their
 * descriptors, and fences as long as a queue waits for them.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz); without, a program that runs the files and folders
 * it is given, or with --random SEED COUNT programs of its own, whose bytes lie in fuzz-program-SEED while they run. */
#include "api/api_test.h"

#include "files.h"
#include "program.h"

#include <DirectMLGuids.h>

#include <inttypes.h>

/* ---- objects ---- */

enum { HANG_SECONDS = 60 };

static struct program_object objects[PROGRAM_KINDS][PROGRAM_SLOTS];
static uint64_t calls, errors;
bool program_waits;

struct program_object *program_at(enum program_kind kind, uint8_t byte)
{
    return &objects[kind][byte % PROGRAM_SLOTS];
}

static bool is_expected(HRESULT hr)
{
    static const HRESULT expected[] = { S_OK,
                                        S_FALSE,
                                        E_INVALIDARG,
                                        E_OUTOFMEMORY,
                                        E_FAIL,
                                        E_NOINTERFACE,
                                        E_NOTIMPL,
                                        DXGI_ERROR_INVALID_CALL,
                                        DXGI_ERROR_DEVICE_REMOVED,
                                        DXGI_ERROR_DEVICE_HUNG,
                                        DXGI_ERROR_UNSUPPORTED };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        if (hr == expected[i])
            return true;
    return false;
}

HRESULT program_call(HRESULT hr)
{
    calls++;
    errors += FAILED(hr);
    ok(is_expected(hr), "0x%08x", (unsigned)hr);
    return hr;
}

void program_release(struct program_object *object)
{
    if (object->it)
        api_release(object->it);
    schema_desc_destroy(object->desc);
    *object = (struct program_object){ 0 };
}

/* The object that was in the slot is released. */
void program_keep(struct program_object *slot, HRESULT hr, void **made)
{
    ok((program_call(hr) == S_OK) == (*made != NULL), "0x%08x and %p", (unsigned)hr, *made);
    if (!*made)
        return;
    program_release(slot);
    slot->it = *made;
}

/* ---- the end ---- */

static void raise_fences(void)
{
    for (uint32_t i = 0; i < PROGRAM_SLOTS; i++)
        if (objects[PROGRAM_FENCE][i].it)
            ID3D12Fence_Signal((ID3D12Fence *)objects[PROGRAM_FENCE][i].it, UINT64_C(1) << 39);
}

static void pause_for(double limit)
{
    need(api_seconds() < limit);
    nanosleep(&(struct timespec){ 0, 20000 }, NULL);
}

static void drain_one(ID3D12CommandQueue *queue, ID3D12Fence *own)
{
    const double limit = api_seconds() + HANG_SECONDS;
    if (FAILED(program_call(ID3D12CommandQueue_Signal(queue, own, 1))))
        return;
    raise_fences();
    while (!ID3D12Fence_GetCompletedValue(own))
        pause_for(limit);
}

void program_drain(void)
{
    for (uint32_t i = 0; i < PROGRAM_SLOTS; i++) {
        ID3D12CommandQueue *queue = (ID3D12CommandQueue *)objects[PROGRAM_QUEUE][i].it;
        ID3D12Device *device = NULL;
        ID3D12Fence *own = NULL;
        if (!queue)
            continue;
        program_call(ID3D12CommandQueue_GetDevice(queue, &IID_ID3D12Device, (void **)&device));
        if (device &&
            ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&own) == S_OK) {
            drain_one(queue, own);
            api_release(own);
        }
        if (device)
            api_release(device);
    }
}

/* In any order, but fences that queues wait for; the queues may still work. */
static void release_all(uint8_t order)
{
    uint32_t state = order * 2654435761u + 1;
    uint32_t rest[PROGRAM_KINDS * PROGRAM_SLOTS], count = 0;
    for (uint32_t i = 0; i < PROGRAM_KINDS * PROGRAM_SLOTS; i++)
        rest[count++] = i;
    while (count) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        const uint32_t at = state % count, which = rest[at];
        rest[at] = rest[--count];
        if (!program_waits || which / PROGRAM_SLOTS != PROGRAM_FENCE)
            program_release(&objects[which / PROGRAM_SLOTS][which % PROGRAM_SLOTS]);
    }
}

static uint32_t live_objects(void)
{
    return api_live_objects("libd3d12.so") + api_live_objects("libdirectml.so");
}

/* A queue that was released while it worked takes a moment to end. */
static void expect_nothing(void)
{
    const double limit = api_seconds() + HANG_SECONDS;
    raise_fences();
    for (uint32_t i = 0; i < PROGRAM_SLOTS; i++)
        program_release(&objects[PROGRAM_FENCE][i]);
    while (live_objects())
        pause_for(limit);
    program_waits = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = { data, size };
    const uint8_t start = fuzz_byte(&bytes), order = fuzz_byte(&bytes);
    if (start & 1)
        program_prepare(start >> 1);
    while (bytes.size)
        program_step(&bytes);
    program_drain();
    release_all(order);
    expect_nothing();
    if (api_failures)
        abort();
    return 0;
}

#ifdef FUZZ_LIBFUZZER
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    program_begin();
    return 0;
}
#else
static void run_file(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *file = fopen(path, "rb");
    need(file);
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
}

static void run_random(uint32_t seed, uint32_t count)
{
    char name[64];
    uint8_t data[256];
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    snprintf(name, sizeof(name), "fuzz-program-%" PRIu32, seed);
    for (uint32_t n = 0; n < count; n++) {
        for (size_t i = 0; i < sizeof(data); i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            data[i] = (uint8_t)(state >> 32);
        }
        data[0] |= n % 4 != 3;
        FILE *file = fopen(name, "wb");
        need(file && fwrite(data, 1, sizeof(data), file) == sizeof(data) && !fclose(file));
        LLVMFuzzerTestOneInput(data, 32 + state % (sizeof(data) - 32));
    }
    remove(name);
}

int main(int argc, char **argv)
{
    program_begin();
    if (argc == 4 && !strcmp(argv[1], "--random"))
        run_random((uint32_t)strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
    for (int i = 1; i < argc && strcmp(argv[1], "--random") != 0; i++)
        fuzz_each_file(argv[i], run_file);
    printf("%" PRIu64 " calls, %" PRIu64 " of them refused; %" PRIu64 " dispatches\n", calls, errors,
           program_dispatches());
    program_end();
    ok(calls > errors && errors && program_dispatches(), "nothing was run, or nothing refused");
    return api_end();
}
#endif
