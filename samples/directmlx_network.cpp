/* SPDX-License-Identifier: Apache-2.0 */
// A small network as C++ expressions: softmax(relu(x W + b) V), with DirectMLX.h. W is a constant of the graph, b is
// one row that is broadcast to all rows, x and V are bound. The result is compared with plain loops.
#include <DirectMLX.h>
#include <DirectMLGuids.h>
#include <dxguids/dxguids.h>

#include <cmath>
#include <cstring>
using Microsoft::WRL::ComPtr;

constexpr uint32_t rows = 2, features = 3, hidden = 4, classes = 2;
static const float x[rows * features] = { 1, 2, 3, -1, 0.5f, -3 }, bias[hidden] = { 1, 0, -1, 0.5f };
static const float w[features * hidden] = { 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1 };
static const float v[hidden * classes] = { 0.5f, -0.5f, 0.25f, 0.75f, -1, 1, 0, 0.125f };

static void check(HRESULT hr, const char *what)
{
    if (FAILED(hr)) {
        std::fprintf(stderr, "%s: 0x%08x\n", what, static_cast<unsigned>(hr));
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

static ComPtr<IDMLCompiledOperator> compile(IDMLDevice *device)
{
    using namespace dml;
    const auto type = DML_TENSOR_DATA_TYPE_FLOAT32;
    Graph graph(device);
    Expression input = InputTensor(graph, 0, TensorDesc(type, { 1, 1, rows, features }));
    Expression last = InputTensor(graph, 1, TensorDesc(type, { 1, 1, hidden, classes }));
    Expression row = InputTensor(graph, 2, TensorDesc(type, { 1, 1, 1, hidden }));
    auto bytes = reinterpret_cast<const Byte *>(w);
    Expression weights =
        ConstantData(graph, Span<const Byte>(bytes, sizeof(w)), TensorDesc(type, { 1, 1, features, hidden }));
    Expression repeated = Reinterpret(row, { 1, 1, rows, hidden }, TensorStrides{ 0, 0, 0, 1 });
    Expression middle = ActivationRelu(Gemm(input, weights) + repeated);
    Expression result = ActivationSoftmax(Gemm(middle, last), { 3 });
    return graph.Compile(DML_EXECUTION_FLAG_NONE, { result });
}

/* A buffer that the host writes and reads in place. */
static ComPtr<ID3D12Resource> buffer(ID3D12Device *device, UINT64 bytes, const void *data)
{
    D3D12_HEAP_PROPERTIES heap = { D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0, 0,
                                   0 };
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = bytes ? bytes : 4;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    ComPtr<ID3D12Resource> made;
    CHECK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                          IID_PPV_ARGS(made.GetAddressOf())));
    void *mapped;
    CHECK(made->Map(0, nullptr, &mapped));
    if (data)
        std::memcpy(mapped, data, bytes);
    return made;
}

static void run(ID3D12Device *gpu, IDMLDevice *dml, IDMLDispatchable *work, const std::vector<ID3D12Resource *> &inputs,
                ID3D12Resource *output, ID3D12Resource *persistent)
{
    DML_BINDING_PROPERTIES needs = work->GetBindingProperties();
    D3D12_COMMAND_QUEUE_DESC kind = {};
    kind.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_DESCRIPTOR_HEAP_DESC slots = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, needs.RequiredDescriptorCount + 1,
                                         D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    ComPtr<ID3D12CommandQueue> queue;
    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> list;
    ComPtr<ID3D12DescriptorHeap> heap;
    ComPtr<IDMLBindingTable> table;
    ComPtr<IDMLCommandRecorder> recorder;
    CHECK(gpu->CreateCommandQueue(&kind, IID_PPV_ARGS(queue.GetAddressOf())));
    CHECK(gpu->CreateCommandAllocator(kind.Type, IID_PPV_ARGS(allocator.GetAddressOf())));
    CHECK(gpu->CreateCommandList(0, kind.Type, allocator.Get(), nullptr, IID_PPV_ARGS(list.GetAddressOf())));
    CHECK(gpu->CreateDescriptorHeap(&slots, IID_PPV_ARGS(heap.GetAddressOf())));
    CHECK(dml->CreateCommandRecorder(IID_PPV_ARGS(recorder.GetAddressOf())));
    DML_BINDING_TABLE_DESC where = { work, heap->GetCPUDescriptorHandleForHeapStart(),
                                     heap->GetGPUDescriptorHandleForHeapStart(), needs.RequiredDescriptorCount };
    CHECK(dml->CreateBindingTable(&where, IID_PPV_ARGS(table.GetAddressOf())));
    ComPtr<ID3D12Resource> temporary = buffer(gpu, needs.TemporaryResourceSize, nullptr);
    DML_BUFFER_BINDING ranges[6] = {};
    DML_BINDING_DESC bindings[6];
    ID3D12Resource *others[] = { output, persistent, temporary.Get() };
    for (size_t i = 0; i < 6; i++) {
        ranges[i].Buffer = i < 3 ? (i < inputs.size() ? inputs[i] : nullptr) : others[i - 3];
        ranges[i].SizeInBytes = ranges[i].Buffer ? ranges[i].Buffer->GetDesc().Width : 0;
        bindings[i] = { DML_BINDING_TYPE_BUFFER, &ranges[i] };
    }
    table->BindInputs(static_cast<UINT>(inputs.size()), bindings);
    table->BindOutputs(1, &bindings[3]);
    table->BindPersistentResource(needs.PersistentResourceSize ? &bindings[4] : nullptr);
    table->BindTemporaryResource(needs.TemporaryResourceSize ? &bindings[5] : nullptr);
    ID3D12DescriptorHeap *heaps[] = { heap.Get() };
    list->SetDescriptorHeaps(1, heaps);
    recorder->RecordDispatch(list.Get(), work, table.Get());
    CHECK(list->Close());
    ID3D12CommandList *lists[] = { list.Get() };
    CHECK(AnydmlExecuteCommandLists(queue.Get(), 1, lists)); /* and waits */
}

static float expected(uint32_t row, uint32_t column)
{
    double sums[classes] = {}, total = 0;
    for (uint32_t h = 0; h < hidden; h++) {
        double sum = bias[h];
        for (uint32_t f = 0; f < features; f++)
            sum += x[row * features + f] * w[f * hidden + h];
        for (uint32_t c = 0; c < classes; c++)
            sums[c] += std::fmax(sum, 0) * v[h * classes + c];
    }
    for (double sum : sums)
        total += std::exp(sum);
    return static_cast<float>(std::exp(sums[column]) / total);
}

int main()
{
    ComPtr<ID3D12Device> gpu;
    ComPtr<IDMLDevice> device;
    CHECK(D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_1_0_CORE, IID_PPV_ARGS(gpu.GetAddressOf())));
    CHECK(DMLCreateDevice(gpu.Get(), DML_CREATE_DEVICE_FLAG_NONE, IID_PPV_ARGS(device.GetAddressOf())));
    ComPtr<IDMLCompiledOperator> compiled = compile(device.Get());
    IDMLCompiledOperator *all[] = { compiled.Get() };
    ComPtr<IDMLOperatorInitializer> initializer;
    CHECK(device->CreateOperatorInitializer(1, all, IID_PPV_ARGS(initializer.GetAddressOf())));
    UINT64 bytes = compiled->GetBindingProperties().PersistentResourceSize;
    ComPtr<ID3D12Resource> persistent = bytes ? buffer(gpu.Get(), bytes, nullptr) : nullptr;
    run(gpu.Get(), device.Get(), initializer.Get(), {}, persistent.Get(), nullptr);

    ComPtr<ID3D12Resource> bx = buffer(gpu.Get(), sizeof(x), x), bv = buffer(gpu.Get(), sizeof(v), v);
    ComPtr<ID3D12Resource> bb = buffer(gpu.Get(), sizeof(bias), bias),
                           y = buffer(gpu.Get(), rows * classes * 4, nullptr);
    run(gpu.Get(), device.Get(), compiled.Get(), { bx.Get(), bv.Get(), bb.Get() }, y.Get(), persistent.Get());
    void *mapped;
    CHECK(y->Map(0, nullptr, &mapped));
    int wrong = 0;
    for (uint32_t i = 0; i < rows * classes; i++) {
        float result = static_cast<float *>(mapped)[i];
        std::printf("%g\n", static_cast<double>(result));
        wrong += std::fabs(result - expected(i / classes, i % classes)) > 1e-5f;
    }
    return wrong != 0;
}
