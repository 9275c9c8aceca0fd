// SPDX-License-Identifier: Apache-2.0
// torch's hooks of a device type, and the functions that the Python package calls (torch.ops.torch_directml).
#include "glue.h"

#include <exception>
#include <thread>

#include <unistd.h>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/library.h>

namespace dml
{
namespace
{

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override
    {
        return true;
    }
    bool isAvailable() const override
    {
        return device_count() > 0;
    }
    void init() const override
    {
    }
    bool hasPrimaryContext(c10::DeviceIndex) const override
    {
        return true;
    }
    c10::DeviceIndex deviceCount() const override
    {
        return device_count();
    }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return current_device();
    }
    void setCurrentDevice(c10::DeviceIndex index) const override
    {
        device(index); // checks the index
        set_current_device(index);
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override
    {
        c10::DeviceIndex old = current_device();
        setCurrentDevice(index);
        return old;
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override
    {
        return index < 0 ? current_device() : exchangeDevice(index);
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override
    {
        return default_generator(index);
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override
    {
        return new_generator(index);
    }
    at::Device getDeviceFromPtr(void *data) const override
    {
        return device_of(data);
    }
    bool isPinnedPtr(const void *data) const override
    {
        return is_pinned(data);
    }
    at::Allocator *getPinnedMemoryAllocator() const override
    {
        return pinned_allocator();
    }

    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override
    {
        c10::DeviceIndex index = storage.device().index();
        c10::DataPtr data = allocator_of(index)->allocate(bytes);
        size_t kept = std::min(bytes, storage.nbytes());
        if (kept)
            allocator_of(index)->copy_data(data.get(), storage.data(), kept);
        storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(data));
        storage.set_nbytes(bytes);
    }
};

struct Register {
    Register()
    {
        at::RegisterPrivateUse1HooksInterface(new Hooks);
    }
} registered;

// Does not open the device: a forked process may query names and numbers of devices, too.
std::string device_name(int64_t index)
{
    return index < 0 || index >= device_count() ? "" : aten_device_name(static_cast<uint32_t>(index));
}

// Sets the limit in bytes of host memory for cached plans (0: unchanged). Returns the number of cached plans and the
// number of compilations so far.
std::vector<int64_t> cache(int64_t limit)
{
    uint64_t plans = 0, compiled = 0;
    aten_cache(static_cast<uint64_t>(limit), &plans, &compiled);
    return { static_cast<int64_t>(plans), static_cast<int64_t>(compiled) };
}

bool has_type(int64_t index, at::ScalarType type)
{
    return aten_has_type(device(static_cast<c10::DeviceIndex>(index)), static_cast<int32_t>(type));
}

// While Python before 3.14 finalizes, it unwinds threads that request the interpreter's lock (autograd's, or the
// program's own daemon threads) through C++ frames that cannot be unwound; without an exception, the process would
// abort. Such threads wait for the end of the process instead.
void hold_ended_threads()
{
    static const std::thread::id ending = std::this_thread::get_id();
    static const std::terminate_handler before = std::set_terminate([]() {
        if (std::current_exception() || std::this_thread::get_id() == ending)
            before();
        for (;;)
            pause();
    });
}

TORCH_LIBRARY(torch_directml, m)
{
    m.def("version() -> str", []() { return std::string(aten_version()); });
    m.def("device_count() -> int", []() { return static_cast<int64_t>(device_count()); });
    m.def("device_name(int index) -> str", &device_name);
    m.def("host_memory(int index) -> bool",
          [](int64_t index) { return host_memory(static_cast<c10::DeviceIndex>(index)); });
    m.def("has_type(int index, ScalarType type) -> bool", &has_type);
    m.def("hold_ended_threads() -> ()", &hold_ended_threads);
    m.def("forked() -> bool", []() { return forked(); });
    m.def("fallbacks(bool clear) -> str", &fallbacks_json);
    m.def("alias_on_cpu(Tensor tensor) -> Tensor", [](const at::Tensor &tensor) {
        TORCH_CHECK(tensor.is_privateuseone() && host_memory(tensor.device().index()), "alias_on_cpu: the memory of ",
                    tensor.device(), " is not host memory");
        note_written(tensor); // the caller may write through the alias
        return alias_on_cpu(tensor);
    });
    m.def("cache(int limit) -> int[]", &cache);
    m.def("default_generator(int index) -> Generator?",
          [](int64_t index) { return default_generator(static_cast<c10::DeviceIndex>(index)); });
    m.def("set_memory_limit(int index, float fraction) -> ()",
          [](int64_t index, double fraction) { set_memory_limit(static_cast<c10::DeviceIndex>(index), fraction); });
}

} // namespace
} // namespace dml
