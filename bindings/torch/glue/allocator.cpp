// SPDX-License-Identifier: Apache-2.0
// Caching allocator of device memory (freed blocks are kept for later tensors of similar size) and allocator of pinned
// host memory. A device executes its work in submission order, so a freed block can be reused immediately.
#include "glue.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace dml
{
namespace
{

using c10::CachingAllocator::format_size;
using c10::CachingAllocator::StatType;

constexpr auto kAll = static_cast<size_t>(StatType::AGGREGATE);

struct Block {
    void *address;
    size_t bytes, requested;
    c10::DeviceIndex index;
    std::atomic<uint64_t> stamp{ 0 }; // time of the last write or of the last allocation
};

uint64_t next_stamp()
{
    static std::atomic<uint64_t> last{ 0 };
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Eight sizes per octave: at most one eighth is wasted, and similar sizes share blocks.
size_t round_size(size_t bytes)
{
    bytes = (std::max<size_t>(bytes, 1) + 255) & ~size_t{ 255 };
    size_t step = std::max<size_t>(std::bit_floor(bytes) / 8, 256);
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

struct Pool {
    std::mutex mutex;
    std::map<size_t, std::vector<Block *>> free;      // by size
    std::map<uintptr_t, Block *, std::greater<>> all; // by address
    c10::CachingDeviceAllocator::DeviceStats stats;
    size_t limit = SIZE_MAX;

    Block *take(size_t bytes)
    {
        // A block may be at most a quarter larger than requested; larger ones would waste memory.
        for (auto it = free.lower_bound(bytes); it != free.end() && it->first <= bytes + bytes / 4; ++it)
            if (!it->second.empty()) {
                Block *block = it->second.back();
                it->second.pop_back();
                return block;
            }
        return nullptr;
    }

    Block *create(c10::DeviceIndex index, size_t bytes)
    {
        auto &reserved = stats.reserved_bytes[kAll];
        if (bytes > limit || static_cast<size_t>(reserved.current) > limit - bytes)
            return nullptr;
        void *address = aten_allocate(device(index), bytes);
        if (!address)
            return nullptr;
        Block *block = new Block{ address, bytes, 0, index };
        all[reinterpret_cast<uintptr_t>(address)] = block;
        reserved.increase(bytes);
        stats.segment[kAll].increase(1);
        stats.num_device_alloc++;
        return block;
    }

    void release_free(c10::DeviceIndex index)
    {
        if (!forked())
            aten_synchronize(device(index));
        for (auto &[bytes, blocks] : free)
            for (Block *block : blocks) {
                all.erase(reinterpret_cast<uintptr_t>(block->address));
                if (!forked())
                    aten_free(device(index), block->address);
                stats.reserved_bytes[kAll].decrease(block->bytes);
                stats.segment[kAll].decrease(1);
                stats.num_device_free++;
                delete block;
            }
        free.clear();
    }

    void count(const Block *block, bool taken)
    {
        auto change = [&](auto &stat, size_t amount) {
            taken ? stat[kAll].increase(amount) : stat[kAll].decrease(amount);
        };
        change(stats.allocation, 1);
        change(stats.active, 1);
        change(stats.allocated_bytes, block->bytes);
        change(stats.active_bytes, block->bytes);
        change(stats.requested_bytes, block->requested);
    }
};

Pool &pool(c10::DeviceIndex index)
{
    // Never destroyed, because static tensors may outlive static objects.
    static Pool *pools = new Pool[static_cast<size_t>(std::max<int>(device_count(), 1))];
    TORCH_CHECK(index >= 0 && index < device_count(), "torch_directml: device ", static_cast<int>(index),
                " does not exist");
    return pools[index];
}

void give_back(void *context)
{
    Block *block = static_cast<Block *>(context);
    Pool &p = pool(block->index);
    std::lock_guard<std::mutex> lock(p.mutex);
    p.count(block, false);
    p.free[block->bytes].push_back(block);
    if (c10::memoryProfilingEnabled())
        c10::reportMemoryUsageToProfiler(block->address, -static_cast<int64_t>(block->bytes),
                                         p.stats.allocated_bytes[kAll].current, p.stats.reserved_bytes[kAll].current,
                                         c10::Device(kDml, block->index));
}

// Returns NULL for memory that this allocator does not own.
Block *block_of(const at::Tensor &tensor)
{
    if (!tensor.defined() || !tensor.has_storage())
        return nullptr;
    const c10::DataPtr &data = tensor.storage().data_ptr();
    return data.get_deleter() == give_back ? static_cast<Block *>(data.get_context()) : nullptr;
}

[[noreturn]] void out_of_memory(Pool &p, c10::DeviceIndex index, size_t bytes)
{
    p.stats.num_ooms++;
    size_t available = 0, total = 0;
    aten_memory(device(index), &available, &total);
    TORCH_CHECK_WITH(OutOfMemoryError, false, "DirectML out of memory. Tried to allocate ", format_size(bytes),
                     ". Device ", c10::Device(kDml, index), " has a total capacity of ", format_size(total),
                     " of which ", format_size(available), " is free; ",
                     format_size(p.stats.allocated_bytes[kAll].current), " is allocated by PyTorch, and ",
                     format_size(p.stats.reserved_bytes[kAll].current - p.stats.allocated_bytes[kAll].current),
                     " is reserved by PyTorch but unallocated.");
    std::abort(); // unreachable
}

c10::DataPtr allocate_on(c10::DeviceIndex index, size_t bytes)
{
    c10::Device where(kDml, index);
    if (!bytes)
        return { nullptr, where };
    Pool &p = pool(index);
    size_t rounded = round_size(bytes);
    std::lock_guard<std::mutex> lock(p.mutex);
    Block *block = forked() ? nullptr : p.take(rounded);
    if (!block)
        block = p.create(index, rounded);
    if (!block) {
        p.stats.num_alloc_retries++;
        p.release_free(index);
        block = p.create(index, rounded);
    }
    if (!block)
        out_of_memory(p, index, bytes);
    block->requested = bytes;
    block->stamp.store(next_stamp(), std::memory_order_relaxed);
    p.count(block, true);
    if (c10::memoryProfilingEnabled())
        c10::reportMemoryUsageToProfiler(block->address, static_cast<int64_t>(block->bytes),
                                         p.stats.allocated_bytes[kAll].current, p.stats.reserved_bytes[kAll].current,
                                         where);
    return { block->address, block, give_back, where };
}

void copy_within(c10::DeviceIndex index, void *to, const void *from, size_t bytes)
{
    char message[kMessageBytes] = "";
    TORCH_CHECK(!bytes || aten_copy(device(index), to, from, bytes, ATEN_WITHIN, message, sizeof(message)),
                "torch_directml: ", message);
}

// Allocates on the current device.
struct CachingAllocator final : c10::DeviceAllocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        return allocate_on(current_device(), bytes);
    }
    void copy_data(void *to, const void *from, size_t bytes) const override
    {
        copy_within(device_of(from).index(), to, from, bytes);
    }
    bool initialized() override
    {
        return device_count() > 0;
    }
    void recordStream(const c10::DataPtr &, c10::Stream) override
    {
    } // nothing to do: streams share one queue
    void emptyCache(c10::MempoolId_t) override
    {
        for (c10::DeviceIndex index = 0; index < device_count(); index++) {
            Pool &p = pool(index);
            std::lock_guard<std::mutex> lock(p.mutex);
            if (!p.free.empty())
                p.release_free(index);
        }
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override
    {
        Pool &p = pool(index);
        std::lock_guard<std::mutex> lock(p.mutex);
        return p.stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex index) override
    {
        each_stat(index, [](auto &stat) { stat.reset_accumulated(); });
    }
    void resetPeakStats(c10::DeviceIndex index) override
    {
        each_stat(index, [](auto &stat) { stat.reset_peak(); });
    }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override
    {
        size_t available = 0, total = 0;
        aten_memory(device(index), &available, &total);
        return { available, total };
    }

  private:
    template <typename F> void each_stat(c10::DeviceIndex index, F change)
    {
        Pool &p = pool(index);
        std::lock_guard<std::mutex> lock(p.mutex);
        auto &s = p.stats;
        for (auto *stats : { &s.allocation, &s.segment, &s.active, &s.allocated_bytes, &s.reserved_bytes,
                             &s.active_bytes, &s.requested_bytes })
            for (auto &stat : *stats)
                change(stat);
    }
};

struct FixedAllocator final : c10::Allocator {
    c10::DeviceIndex index = 0;
    c10::DataPtr allocate(size_t bytes) override
    {
        return allocate_on(index, bytes);
    }
    void copy_data(void *to, const void *from, size_t bytes) const override
    {
        copy_within(index, to, from, bytes);
    }
};

// Copies to and from devices accept any host memory; pinned blocks are tracked only so that is_pinned can report them.
struct PinnedAllocator final : c10::Allocator {
    std::mutex mutex;
    std::map<uintptr_t, size_t, std::greater<>> blocks;

    static PinnedAllocator &instance()
    {
        static PinnedAllocator *only = new PinnedAllocator;
        return *only;
    }
    static void release(void *address)
    {
        {
            std::lock_guard<std::mutex> lock(instance().mutex);
            instance().blocks.erase(reinterpret_cast<uintptr_t>(address));
        }
        std::free(address);
    }
    c10::DataPtr allocate(size_t bytes) override
    {
        if (!bytes)
            return { nullptr, c10::Device(c10::DeviceType::CPU) };
        void *address = bytes > SIZE_MAX - 63 ? nullptr : std::aligned_alloc(64, (bytes + 63) & ~size_t{ 63 });
        TORCH_CHECK_WITH(OutOfMemoryError, address, "torch_directml: cannot allocate ", format_size(bytes),
                         " of pinned memory");
        std::lock_guard<std::mutex> lock(mutex);
        blocks[reinterpret_cast<uintptr_t>(address)] = bytes;
        return { address, address, release, c10::Device(c10::DeviceType::CPU) };
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return release;
    }
    void copy_data(void *to, const void *from, size_t bytes) const override
    {
        std::memcpy(to, from, bytes);
    }
};

CachingAllocator &caching_allocator()
{
    static CachingAllocator *only = new CachingAllocator;
    return *only;
}

REGISTER_ALLOCATOR(kDml, &caching_allocator())

} // namespace

c10::DeviceAllocator *allocator()
{
    return &caching_allocator();
}

c10::Allocator *allocator_of(c10::DeviceIndex index)
{
    static FixedAllocator *all = [] {
        auto *made = new FixedAllocator[static_cast<size_t>(std::max<int>(device_count(), 1))];
        for (c10::DeviceIndex i = 0; i < device_count(); i++)
            made[i].index = i;
        return made;
    }();
    device(index); // checks the index
    return &all[index];
}

c10::Allocator *pinned_allocator()
{
    return &PinnedAllocator::instance();
}

bool is_pinned(const void *address)
{
    PinnedAllocator &a = PinnedAllocator::instance();
    std::lock_guard<std::mutex> lock(a.mutex);
    auto at = reinterpret_cast<uintptr_t>(address);
    auto it = a.blocks.lower_bound(at); // the last block that begins at or before the address
    return it != a.blocks.end() && at < it->first + it->second;
}

c10::Device device_of(const void *address)
{
    auto at = reinterpret_cast<uintptr_t>(address);
    for (c10::DeviceIndex index = 0; index < device_count(); index++) {
        Pool &p = pool(index);
        std::lock_guard<std::mutex> lock(p.mutex);
        auto it = p.all.lower_bound(at);
        if (it != p.all.end() && at < it->first + it->second->bytes)
            return { kDml, index };
    }
    TORCH_CHECK(false, "The specified pointer resides on host memory and is not registered with any DirectML device.");
}

uint64_t version_of(const at::Tensor &tensor)
{
    const Block *block = block_of(tensor);
    if (!block)
        return 0;
    uint64_t version = tensor.is_inference() ? 0 : static_cast<uint64_t>(tensor._version());
    return ((block->stamp * UINT64_C(0x9e3779b97f4a7c15) + version) << 1) | 1;
}

void note_written(const at::Tensor &tensor)
{
    if (Block *block = block_of(tensor))
        block->stamp.store(next_stamp(), std::memory_order_relaxed);
}

void set_memory_limit(c10::DeviceIndex index, double fraction)
{
    TORCH_CHECK(fraction >= 0 && fraction <= 1, "Invalid fraction value: ", fraction, ". Allowed range: [0, 1]");
    size_t available = 0, total = 0;
    aten_memory(device(index), &available, &total);
    Pool &p = pool(index);
    std::lock_guard<std::mutex> lock(p.mutex);
    p.limit = fraction == 1 ? SIZE_MAX : static_cast<size_t>(static_cast<double>(total) * fraction);
}

} // namespace dml
