// SPDX-License-Identifier: Apache-2.0
// Generators: Philox 4x32-10 with a seed and an offset that counts 32-bit numbers; the operators compute with both.
#include "glue.h"

#include <cstring>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Utils.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/empty.h>
#include <c10/core/GeneratorImpl.h>

namespace dml
{
namespace
{

constexpr int64_t kStateBytes = 2 * sizeof(uint64_t);

struct Philox final : c10::GeneratorImpl {
    uint64_t key = c10::default_rng_seed_val, position = 0;

    explicit Philox(c10::DeviceIndex index)
        : GeneratorImpl(c10::Device(kDml, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1))
    {
    }
    static c10::DeviceType device_type()
    {
        return kDml;
    }

    void set_current_seed(uint64_t seed) override
    {
        key = seed;
        position = 0;
    }
    void set_offset(uint64_t offset) override
    {
        TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
        position = offset;
    }
    uint64_t get_offset() const override
    {
        return position;
    }
    uint64_t current_seed() const override
    {
        return key;
    }
    uint64_t seed() override
    {
        set_current_seed(c10::detail::getNonDeterministicRandom());
        return key;
    }
    void set_state(const c10::TensorImpl &state) override
    {
        at::detail::check_rng_state(state);
        TORCH_CHECK(state.numel() == kStateBytes, "RNG state is of ", state.numel(), " bytes instead of ", kStateBytes);
        uint64_t values[2];
        std::memcpy(values, state.data(), sizeof(values));
        key = values[0];
        set_offset(values[1]);
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override
    {
        at::Tensor state = at::empty({ kStateBytes }, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
        uint64_t values[2] = { key, position };
        std::memcpy(state.mutable_data_ptr(), values, sizeof(values));
        return state.getIntrusivePtr();
    }
    Philox *clone_impl() const override
    {
        auto *copy = new Philox(device().index());
        copy->key = key;
        copy->position = position;
        return copy;
    }
};

} // namespace

const at::Generator &default_generator(c10::DeviceIndex index)
{
    static std::vector<at::Generator> *all = [] {
        auto *made = new std::vector<at::Generator>;
        for (c10::DeviceIndex i = 0; i < device_count(); i++)
            made->push_back(at::make_generator<Philox>(i));
        return made;
    }();
    if (index < 0)
        index = current_device();
    TORCH_CHECK(index < device_count(), "torch_directml: device ", static_cast<int>(index), " does not exist");
    return (*all)[static_cast<size_t>(index)];
}

at::Generator new_generator(c10::DeviceIndex index)
{
    return at::make_generator<Philox>(index < 0 ? current_device() : index);
}

std::pair<uint64_t, uint64_t> draw(const at::Generator &generator, uint64_t count)
{
    auto *philox = at::check_generator<Philox>(generator);
    std::lock_guard<std::mutex> lock(philox->mutex_);
    std::pair<uint64_t, uint64_t> result{ philox->key, philox->position };
    philox->position += (count + 3) & ~uint64_t{ 3 };
    return result;
}

at::Generator cpu_generator(const at::Generator &generator)
{
    auto [seed, offset] = draw(generator, 4);
    at::philox_engine engine(seed, 0, offset / 4);
    uint64_t low = engine(), high = engine();
    return at::make_generator<at::CPUGeneratorImpl>(low | high << 32);
}

} // namespace dml
