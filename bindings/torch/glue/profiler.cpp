// SPDX-License-Identifier: Apache-2.0
// torch.profiler: records device work as Kineto activities that belong to torch's operators.
//
// Work on an adapter with its own memory is asynchronous. While the profiler records, each operator waits for earlier
// work and then for its own, so that its time is the device's time. On adapters that use host memory the times are
// those of the computation.
#include "profiler.h"

#include <chrono>
#include <mutex>
#include <vector>

#define USE_KINETO // torch itself is compiled with it
#include <IActivityProfiler.h>
#include <libkineto.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

namespace dml
{

std::atomic<bool> profiling{ false };

namespace
{

using libkineto::ActivityType;
using libkineto::CpuTraceBuffer;
using libkineto::GenericTraceActivity;

thread_local std::vector<uint64_t> operators; // torch's identifiers of the operators that this thread is executing
std::mutex mutex;
std::unique_ptr<CpuTraceBuffer> recorded; // activities of the recording session

// Time since 1970, as Kineto counts.
int64_t nanoseconds()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

struct Session final : libkineto::IActivityProfilerSession {
    void start() override
    {
        std::lock_guard<std::mutex> lock(mutex);
        recorded = std::make_unique<CpuTraceBuffer>();
        recorded->span = libkineto::TraceSpan(nanoseconds(), 0, "DirectML");
        profiling = true;
    }

    void stop() override
    {
        profiling = false;
        std::lock_guard<std::mutex> lock(mutex);
        trace = std::move(recorded);
        if (trace)
            trace->span.endTime = nanoseconds();
    }

    std::vector<std::string> errors() override
    {
        return {};
    }

    void processTrace(libkineto::ActivityLogger &) override
    {
    } // Kineto calls the overload below

    void processTrace(libkineto::ActivityLogger &logger, libkineto::getLinkedActivityCallback linked, int64_t begin,
                      int64_t end) override
    {
        if (!trace)
            return;
        for (auto &activity : trace->activities) {
            if (activity->startTime < begin || activity->endTime > end)
                continue;
            activity->linked = linked(activity->id);
            activity->log(logger);
        }
    }

    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override
    {
        return nullptr;
    }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override
    {
        return {};
    }
    std::unique_ptr<CpuTraceBuffer> getTraceBuffer() override
    {
        return std::move(trace);
    }

    void pushCorrelationId(uint64_t id) override
    {
        operators.push_back(id);
    }
    void popCorrelationId() override
    {
        if (!operators.empty()) // operators may have been pushed before the session began
            operators.pop_back();
    }

  private:
    std::unique_ptr<CpuTraceBuffer> trace;
};

struct Profiler final : libkineto::IActivityProfiler {
    const std::string &name() const override
    {
        static const std::string text = "DirectML";
        return text;
    }
    const std::set<ActivityType> &availableActivities() const override
    {
        static const std::set<ActivityType> types = { ActivityType::CONCURRENT_KERNEL };
        return types;
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType> &types,
                                                                   const libkineto::Config &) override
    {
        return types.count(ActivityType::CONCURRENT_KERNEL) ? std::make_unique<Session>() : nullptr;
    }
    std::unique_ptr<libkineto::IActivityProfilerSession>
    configure(int64_t, int64_t, const std::set<ActivityType> &types, const libkineto::Config &config) override
    {
        return configure(types, config);
    }
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

void finish_work(c10::DeviceIndex index)
{
    if (!host_memory(index))
        aten_synchronize(device(index));
}

} // namespace

void Activity::begin(const char *what, c10::DeviceIndex where)
{
    finish_work(where);
    name = what;
    index = where;
    start = nanoseconds();
}

void Activity::end()
{
    finish_work(index);
    int64_t now = nanoseconds();
    std::lock_guard<std::mutex> lock(mutex);
    if (!recorded) // the session has ended
        return;
    auto activity =
        std::make_unique<GenericTraceActivity>(recorded->span, ActivityType::CONCURRENT_KERNEL, std::string(name));
    activity->startTime = start;
    activity->endTime = now;
    activity->device = index;
    activity->id = operators.empty() ? 0 : static_cast<int32_t>(operators.back());
    activity->flow.id = static_cast<uint32_t>(activity->id);
    activity->flow.type = libkineto::kLinkAsyncCpuGpu;
    recorded->activities.push_back(std::move(activity));
}

} // namespace dml
