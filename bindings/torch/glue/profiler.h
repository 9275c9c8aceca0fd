// SPDX-License-Identifier: Apache-2.0
#ifndef ANYDML_TORCH_GLUE_PROFILER_H
#define ANYDML_TORCH_GLUE_PROFILER_H

#include <atomic>

#include "glue.h"

namespace dml
{

extern std::atomic<bool> profiling; // torch.profiler records activities of PrivateUse1

// Records the device work during the lifetime of this object for torch.profiler; `name` must outlive it.
class Activity
{
  public:
    Activity(const char *name_, c10::DeviceIndex index_)
    {
        if (C10_UNLIKELY(profiling.load(std::memory_order_relaxed)))
            begin(name_, index_);
    }
    ~Activity()
    {
        if (C10_UNLIKELY(name != nullptr))
            end();
    }
    Activity(const Activity &) = delete;
    Activity &operator=(const Activity &) = delete;

  private:
    const char *name = nullptr;
    c10::DeviceIndex index = 0;
    int64_t start = 0;

    void begin(const char *what, c10::DeviceIndex where);
    void end();
};

} // namespace dml

#endif
