// SPDX-License-Identifier: Apache-2.0
// Devices, the current device of each thread, streams and events. A device has one queue that executes all work in
// submission order, so streams are only names for it.
#include "glue.h"

#include <atomic>
#include <chrono>
#include <pthread.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace dml
{
namespace
{

constexpr c10::DeviceIndex kMaxDevices = 64;

thread_local c10::DeviceIndex current = 0;
thread_local c10::StreamId current_stream[kMaxDevices];
std::atomic<aten_device *> opened[kMaxDevices];
std::atomic<c10::StreamId> last_stream{ 0 };
std::atomic<bool> any_opened{ false };
std::atomic<bool> child{ false };

void check_index(c10::DeviceIndex index)
{
    TORCH_CHECK(index >= 0 && index < device_count(), "Invalid device_id argument supplied ", static_cast<int>(index),
                ". device_id must be in range [0, ", static_cast<int>(device_count()), ").");
}

// A device owns threads, which do not survive a fork.
void after_fork()
{
    if (any_opened)
        child = true;
}

aten_device *open_device(c10::DeviceIndex index)
{
    check_index(index);
    TORCH_CHECK(!child, "Cannot re-initialize DirectML in forked subprocess. To use DirectML with multiprocessing, you "
                        "must use the 'spawn' start method");
    char message[kMessageBytes] = "";
    aten_device *device = aten_device_open(index, message, sizeof(message));
    TORCH_CHECK(device, "torch_directml: device ", static_cast<int>(index), " cannot be opened: ", message);
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
    (void)registered;
    any_opened = true;
    opened[index] = device;
    return device;
}

// "dml" without an index is the current device.
c10::Device indexed(c10::Device d)
{
    return d.has_index() ? d : c10::Device(kDml, current);
}

struct Event {
    c10::DeviceIndex index;
    uint64_t mark;
    std::chrono::steady_clock::time_point time;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override
    {
        return kDml;
    }
    c10::Device getDevice() const override
    {
        return { kDml, current_device() };
    }
    c10::DeviceIndex deviceCount() const noexcept override
    {
        return device_count();
    }
    void uncheckedSetDevice(c10::Device d) const noexcept override
    {
        set_current_device(d.index());
    }

    c10::Device exchangeDevice(c10::Device d) const override
    {
        c10::Device old = getDevice();
        setDevice(d);
        return old;
    }

    void setDevice(c10::Device d) const override
    {
        check_index(d.index());
        set_current_device(d.index());
    }

    c10::Stream getDefaultStream(c10::Device d) const override
    {
        return c10::Stream(c10::Stream::DEFAULT, indexed(d));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override
    {
        return getNewStream(d, 0);
    }

    c10::Stream getStream(c10::Device d) const override
    {
        return c10::Stream(c10::Stream::UNSAFE, indexed(d), current_stream[indexed(d).index()]);
    }

    c10::Stream getNewStream(c10::Device d, int) const override
    {
        return c10::Stream(c10::Stream::UNSAFE, indexed(d), ++last_stream);
    }

    c10::Stream exchangeStream(c10::Stream stream) const override
    {
        c10::Stream old = getStream(stream.device());
        current_stream[stream.device_index()] = stream.id();
        return old;
    }

    void *getStreamNativeHandle(const c10::Stream stream) const override
    {
        return device(stream.device_index());
    }
    bool queryStream(const c10::Stream &stream) const override
    {
        aten_device *d = device(stream.device_index());
        return aten_reached(d, aten_mark(d));
    }
    void synchronizeStream(const c10::Stream &stream) const override
    {
        synchronizeDevice(stream.device_index());
    }
    void synchronizeDevice(const c10::DeviceIndex index) const override
    {
        TORCH_CHECK(aten_synchronize(device(index < 0 ? current : index)), "torch_directml: device ",
                    static_cast<int>(index), " was removed");
    }

    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
                const c10::EventFlag flag) const override
    {
        if (!*event)
            *event = new Event;
        Event *e = static_cast<Event *>(*event);
        e->index = stream.device_index();
        e->mark = aten_mark(device(e->index));
        // Host timestamps of completed work are correct only after waiting for it.
        if (flag == c10::EventFlag::BACKEND_DEFAULT)
            aten_wait(device(e->index), e->mark);
        e->time = std::chrono::steady_clock::now();
    }
    void block(void *event, const c10::Stream &stream) const override
    {
        Event *e = static_cast<Event *>(event);
        if (e && e->index != stream.device_index())
            aten_wait(device(e->index), e->mark);
    }
    bool queryEvent(void *event) const override
    {
        Event *e = static_cast<Event *>(event);
        return !e || aten_reached(device(e->index), e->mark);
    }
    void synchronizeEvent(void *event) const override
    {
        if (Event *e = static_cast<Event *>(event))
            aten_wait(device(e->index), e->mark);
    }
    void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override
    {
        delete static_cast<Event *>(event);
    }
    double elapsedTime(void *begin, void *end, const c10::DeviceIndex) const override
    {
        TORCH_CHECK(begin && end, "Both events must be recorded before calculating elapsed time.");
        return std::chrono::duration<double, std::milli>(static_cast<Event *>(end)->time -
                                                         static_cast<Event *>(begin)->time)
            .count();
    }

    c10::DeviceCapability getDeviceCapability(c10::Device d) const override
    {
        c10::DeviceCapability result;
        for (int type = 0; type < static_cast<int>(c10::NUMBER_OF_DEVICE_CAPABILITIES); type++)
            if (!aten_has_type(device(d.has_index() ? d.index() : current), type))
                result.capability_data.capability_bits &= ~(1ULL << type);
        return result;
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

} // namespace

c10::DeviceIndex device_count() noexcept
{
    static const c10::DeviceIndex count =
        static_cast<c10::DeviceIndex>(std::min<uint32_t>(aten_device_count(), kMaxDevices));
    return count;
}

c10::DeviceIndex current_device() noexcept
{
    return current;
}

void set_current_device(c10::DeviceIndex index) noexcept
{
    current = index;
}

aten_device *device(c10::DeviceIndex index)
{
    if (C10_LIKELY(index >= 0 && index < kMaxDevices && !child.load(std::memory_order_relaxed)))
        if (aten_device *d = opened[index].load(std::memory_order_acquire))
            return d;
    return open_device(index);
}

bool host_memory(c10::DeviceIndex index)
{
    return aten_host_memory(device(index));
}

bool forked() noexcept
{
    return child;
}

} // namespace dml
