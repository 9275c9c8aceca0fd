/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory while a dispatch is recorded: the reason of the removal reports it, and so does Close. */
#include "dml_test.h"

#include <errno.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

static _Thread_local int fail_at; /* 1: the next allocation of this thread fails, 0: none does */

/* Only those of our libraries: drivers allocate, too, and tolerate some failures. */
static bool fails(const void *caller)
{
    Dl_info info;
    if (!fail_at || !dladdr(caller, &info) ||
        (!strstr(info.dli_fname, "libdirectml.so") && !strstr(info.dli_fname, "libd3d12.so")) || --fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

/* They replace the C library's in all libraries. */
void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

/* A GEMM over its own input, which needs a copy. Returns whether the allocation with this number was made. */
static bool record_without(int number)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_NONE), 0);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *buffer = buffer_f32(&rig, 4, 1, 1);
    const struct bound whole = { buffer, 0, 16 }, in[3] = { whole, whole, { NULL, 0, 0 } };
    ID3D12CommandAllocator *allocator = NULL;
    ID3D12GraphicsCommandList *list = NULL, *own = rig.q.list;
    /* A new list: the rig's has room from former recordings. */
    ok_hr(ID3D12Device_CreateCommandAllocator(rig.d3d, D3D12_COMMAND_LIST_TYPE_DIRECT, &IID_ID3D12CommandAllocator,
                                              (void **)&allocator),
          S_OK);
    need(allocator);
    ok_hr(ID3D12Device_CreateCommandList(rig.d3d, 0, D3D12_COMMAND_LIST_TYPE_DIRECT, allocator, NULL,
                                         &IID_ID3D12GraphicsCommandList, (void **)&list),
          S_OK);
    need(list);
    rig.q.list = list;
    rig_set_heap(&rig);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 3, in);
    bind_outputs(table, 1, &whole);
    bind_prepared(table, &prepared);
    fail_at = number;
    record(&rig, op, table);
    bool failed = fail_at == 0;
    fail_at = 0;
    ok_hr(dml_reason(&rig), failed ? E_OUTOFMEMORY : S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(list), failed ? E_OUTOFMEMORY : S_OK);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), S_OK);
    api_release(list);
    api_release(allocator);
    rig.q.list = own;
    api_release(table);
    api_release(buffer);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
    return failed;
}

static void test_record(void)
{
    int number = 1;
    while (number < 100 && record_without(number))
        number++;
    ok(number > 4 && number < 100, "%d allocations", number - 1);
}

int main(void)
{
    api_begin();
    rig_part(test_record());
    return rig_end();
}
