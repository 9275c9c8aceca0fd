/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <DirectMLGuids.h>
#include <dxguids/dxguids.h>

#include <cstring>
#include <memory>
#include <random>

using Microsoft::WRL::ComPtr;

static int failures;

void fail(const std::string &message)
{
    std::fprintf(stderr, "%s\n", message.c_str());
    failures++;
}

void expect_true(const std::string &name, bool fine)
{
    if (!fine)
        fail(name);
}

static void must(HRESULT hr, const char *what)
{
    if (SUCCEEDED(hr))
        return;
    std::fprintf(stderr, "%s: 0x%08x\n", what, static_cast<unsigned>(hr));
    std::exit(1);
}

static ComPtr<ID3D12Device> gpu;
static ComPtr<IDMLDevice> dml_device;

IDMLDevice *device()
{
    return dml_device.Get();
}

Tensor random_tensor(Sizes sizes, double low, double high, DML_TENSOR_DATA_TYPE type)
{
    static std::mt19937 generator(7);
    Tensor t = { type, sizes, {} };
    size_t count = 1;
    for (uint32_t size : sizes)
        count *= size;
    for (size_t i = 0; i < count; i++) {
        double value = low + (high - low) * (generator() / 4294967296.0);
        t.values.push_back(type == F32 ? static_cast<double>(static_cast<float>(value)) : std::floor(value));
    }
    return t;
}

Values map(const Tensor &x, const std::function<double(double)> &f)
{
    Values y;
    for (double value : x.values)
        y.push_back(f(value));
    return y;
}

Values zip(const Tensor &a, const Tensor &b, const std::function<double(double, double)> &f)
{
    Values y;
    for (size_t i = 0; i < a.values.size(); i++)
        y.push_back(f(a.values[i], b.values[i]));
    return y;
}

/* ---- memory that buffers lie over ---- */

struct Memory {
    std::unique_ptr<char, decltype(&std::free)> bytes{ nullptr, std::free };
    ComPtr<ID3D12Resource> buffer;
    DML_BUFFER_BINDING range = {};
    DML_BINDING_DESC binding = { DML_BINDING_TYPE_NONE, nullptr };
};

static void allocate(Memory &m, UINT64 bytes)
{
    if (!bytes)
        return;
    m.bytes.reset(static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256)));
    std::memset(m.bytes.get(), 0, bytes);
    must(AnydmlCreateBufferFromMemory(gpu.Get(), m.bytes.get(), bytes, IID_PPV_ARGS(m.buffer.GetAddressOf())),
         "buffer");
    m.range = { m.buffer.Get(), 0, bytes };
    m.binding = { DML_BINDING_TYPE_BUFFER, &m.range };
}

template <typename T> static void encode_as(const Tensor &t, char *to)
{
    for (double value : t.values) {
        T element = static_cast<T>(value);
        std::memcpy(to, &element, sizeof(T));
        to += sizeof(T);
    }
}

template <typename T> static void decode_as(Tensor &t, size_t count, const char *from)
{
    for (size_t i = 0; i < count; i++) {
        T element;
        std::memcpy(&element, from + i * sizeof(T), sizeof(T));
        t.values.push_back(static_cast<double>(element));
    }
}

static void encode(const Tensor &t, char *to)
{
    switch (t.type) {
    case U8:
        return encode_as<uint8_t>(t, to);
    case I8:
        return encode_as<int8_t>(t, to);
    case U32:
        return encode_as<uint32_t>(t, to);
    case I32:
        return encode_as<int32_t>(t, to);
    default:
        return encode_as<float>(t, to);
    }
}

/* Packed outputs, or with the strides of the description. */
static Tensor decode(const dml::TensorDesc &desc, const char *from)
{
    Tensor all = { desc.dataType, desc.sizes, {} };
    size_t elements = desc.totalTensorSizeInBytes * 8 / dml::detail::BitsOf(desc.dataType), count = 1;
    switch (desc.dataType) {
    case U8:
        decode_as<uint8_t>(all, elements, from);
        break;
    case I8:
        decode_as<int8_t>(all, elements, from);
        break;
    case U32:
        decode_as<uint32_t>(all, elements, from);
        break;
    case I32:
        decode_as<int32_t>(all, elements, from);
        break;
    default:
        decode_as<float>(all, elements, from);
    }
    for (uint32_t size : desc.sizes)
        count *= size;
    Values memory = std::move(all.values);
    all.values.clear();
    for (size_t i = 0; i < count; i++) {
        size_t offset = 0, rest = i;
        for (size_t d = desc.sizes.size(); desc.strides && d-- > 0; rest /= desc.sizes[d])
            offset += rest % desc.sizes[d] * (*desc.strides)[d];
        all.values.push_back(memory[desc.strides ? offset : i]);
    }
    return all;
}

/* ---- running ---- */

static void dispatch(IDMLDispatchable *work, const std::vector<DML_BINDING_DESC> &inputs,
                     const std::vector<DML_BINDING_DESC> &outputs, const DML_BINDING_DESC *persistent)
{
    ComPtr<ID3D12CommandQueue> queue;
    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> list;
    ComPtr<ID3D12DescriptorHeap> heap;
    ComPtr<IDMLBindingTable> table;
    ComPtr<IDMLCommandRecorder> recorder;
    DML_BINDING_PROPERTIES needs = work->GetBindingProperties();
    D3D12_COMMAND_QUEUE_DESC queue_desc = {};
    queue_desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_DESCRIPTOR_HEAP_DESC heap_desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
                                             needs.RequiredDescriptorCount ? needs.RequiredDescriptorCount : 1,
                                             D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    must(gpu->CreateCommandQueue(&queue_desc, IID_PPV_ARGS(queue.GetAddressOf())), "queue");
    must(gpu->CreateCommandAllocator(queue_desc.Type, IID_PPV_ARGS(allocator.GetAddressOf())), "allocator");
    must(gpu->CreateCommandList(0, queue_desc.Type, allocator.Get(), nullptr, IID_PPV_ARGS(list.GetAddressOf())),
         "list");
    must(gpu->CreateDescriptorHeap(&heap_desc, IID_PPV_ARGS(heap.GetAddressOf())), "heap");
    must(device()->CreateCommandRecorder(IID_PPV_ARGS(recorder.GetAddressOf())), "recorder");
    DML_BINDING_TABLE_DESC table_desc = { work, heap->GetCPUDescriptorHandleForHeapStart(),
                                          heap->GetGPUDescriptorHandleForHeapStart(), needs.RequiredDescriptorCount };
    must(device()->CreateBindingTable(&table_desc, IID_PPV_ARGS(table.GetAddressOf())), "table");
    Memory temporary;
    allocate(temporary, needs.TemporaryResourceSize);
    table->BindInputs(static_cast<UINT>(inputs.size()), inputs.data());
    table->BindOutputs(static_cast<UINT>(outputs.size()), outputs.data());
    table->BindTemporaryResource(&temporary.binding);
    if (persistent)
        table->BindPersistentResource(persistent);
    ID3D12DescriptorHeap *heaps[] = { heap.Get() };
    list->SetDescriptorHeaps(1, heaps);
    recorder->RecordDispatch(list.Get(), work, table.Get());
    must(list->Close(), "close");
    ID3D12CommandList *lists[] = { list.Get() };
    must(AnydmlExecuteCommandLists(queue.Get(), 1, lists), "execute");
    must(gpu->GetDeviceRemovedReason(), "device");
}

static void initialize(IDMLCompiledOperator *compiled, const std::vector<DML_BUFFER_BINDING> &owned,
                       const DML_BINDING_DESC &persistent)
{
    ComPtr<IDMLOperatorInitializer> initializer;
    must(device()->CreateOperatorInitializer(1, &compiled, IID_PPV_ARGS(initializer.GetAddressOf())), "initializer");
    DML_BUFFER_ARRAY_BINDING array = { static_cast<UINT>(owned.size()), owned.data() };
    DML_BINDING_DESC all = { owned.empty() ? DML_BINDING_TYPE_NONE : DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    dispatch(initializer.Get(), { all }, { persistent }, nullptr);
}

std::vector<Tensor> run(const std::string &name, const std::vector<Tensor> &inputs, const Build &build,
                        const dml::TensorPolicy &policy)
{
    dml::Graph graph(device(), policy);
    In in;
    std::vector<Memory> memory(inputs.size());
    std::vector<DML_BINDING_DESC> bound_inputs, bound_outputs;
    std::vector<DML_BUFFER_BINDING> owned(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
        dml::TensorDesc desc(inputs[i].type, inputs[i].flags, inputs[i].sizes);
        allocate(memory[i], desc.totalTensorSizeInBytes);
        encode(inputs[i], memory[i].bytes.get());
        in.push_back(dml::InputTensor(graph, static_cast<uint32_t>(i), desc));
        if (inputs[i].flags == DML_TENSOR_FLAG_OWNED_BY_DML)
            owned[i] = memory[i].range;
        bound_inputs.push_back(inputs[i].flags == DML_TENSOR_FLAG_NONE
                                   ? memory[i].binding
                                   : DML_BINDING_DESC{ DML_BINDING_TYPE_NONE, nullptr });
    }
    Out out = build(graph, in);
    auto compiled = graph.Compile(DML_EXECUTION_FLAG_NONE, out, static_cast<uint32_t>(in.size()));
    if (!compiled) {
        fail(name + ": no compiled operator");
        return std::vector<Tensor>(out.size());
    }
    Memory persistent;
    allocate(persistent, compiled->GetBindingProperties().PersistentResourceSize);
    initialize(compiled.Get(), owned, persistent.binding);
    std::vector<Memory> results(out.size());
    for (size_t i = 0; i < out.size(); i++) {
        allocate(results[i], out[i].GetOutputDesc().totalTensorSizeInBytes);
        bound_outputs.push_back(results[i].binding);
    }
    dispatch(compiled.Get(), bound_inputs, bound_outputs, &persistent.binding);
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < out.size(); i++)
        tensors.push_back(decode(out[i].GetOutputDesc(), results[i].bytes.get()));
    return tensors;
}

void expect(const std::string &name, const Tensor &result, const Values &expected, const Sizes &sizes, double tolerance)
{
    if (!sizes.empty() && result.sizes != sizes)
        return fail(name + ": other sizes");
    if (result.values.size() != expected.size())
        return fail(name + ": " + std::to_string(result.values.size()) + " elements, not " +
                    std::to_string(expected.size()));
    for (size_t i = 0; i < expected.size(); i++) {
        double x = result.values[i], y = expected[i];
        if (!(x == y || std::fabs(x - y) <= tolerance * std::fmax(1, std::fabs(y)) || (std::isnan(x) && std::isnan(y))))
            return fail(name + ": element " + std::to_string(i) + " is " + std::to_string(x) + ", not " +
                        std::to_string(y));
    }
}

int main()
{
    must(D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_1_0_CORE, IID_PPV_ARGS(gpu.GetAddressOf())), "D3D12CreateDevice");
    must(DMLCreateDevice(gpu.Get(), DML_CREATE_DEVICE_FLAG_NONE, IID_PPV_ARGS(dml_device.GetAddressOf())),
         "DMLCreateDevice");
    test_graph();
    test_math();
    test_activation();
    test_dense();
    test_norm();
    test_data();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
