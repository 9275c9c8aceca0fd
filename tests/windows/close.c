/* SPDX-License-Identifier: Apache-2.0 */
/* A program may close d3d12.dll while threads of its queues are still in it: it stays. */
#include "api/api_test.h"

int main(void)
{
    api_begin();
    HMODULE library = LoadLibraryA("d3d12.dll");
    need(library);
    PFN_D3D12_CREATE_DEVICE create = (PFN_D3D12_CREATE_DEVICE)(void *)GetProcAddress(library, "D3D12CreateDevice");
    need(create);
    ID3D12Device *device = NULL;
    ok_hr(create(NULL, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    const D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    ID3D12CommandQueue *queue = NULL;
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&queue), S_OK);
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&fence), S_OK);
    need(queue && fence);
    ok_hr(ID3D12CommandQueue_Wait(queue, fence, 1), S_OK);
    api_release(queue); /* its thread waits in there */
    ok(FreeLibrary(library), "it was loaded");
    ok(GetModuleHandleA("d3d12.dll") == library, "d3d12.dll has left");
    ok_hr(ID3D12Fence_Signal(fence, 1), S_OK);
    api_release(fence);
    api_release(device);
    return api_end();
}
