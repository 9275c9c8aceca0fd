/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct event {
    enum ep_profile_kind kind;
    char name[128];
    uint64_t begin_us, end_us;
    int32_t thread;
};

/* Events are recorded from StartProfiling to EndProfiling; the session owns the struct, the provider points to it. */
struct ep_profile {
    OrtEpProfilerImpl base;
    struct ep *ep;
    pthread_mutex_t lock;
    bool started;
    int64_t offset_us; /* relative to the profile's start */
    uint64_t start_us;
    struct event *events;
    uint32_t count, capacity;
};

uint64_t ep_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

void ep_profile_add(struct ep *ep, enum ep_profile_kind kind, const char *name, uint64_t begin_us)
{
    struct ep_profile *p = ep->profile;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->started && base_array_reserve((void **)&p->events, p->count, &p->capacity, sizeof(*p->events))) {
        struct event *e = &p->events[p->count++];
        *e = (struct event){ .kind = kind, .begin_us = begin_us, .end_us = ep_now_us(), .thread = gettid() };
        snprintf(e->name, sizeof(e->name), "%s", name);
    }
    pthread_mutex_unlock(&p->lock);
}

static void ORT_API_CALL profile_release(OrtEpProfilerImpl *base) NO_EXCEPTION
{
    struct ep_profile *p = container_of(base, struct ep_profile, base);
    p->ep->profile = NULL;
    pthread_mutex_destroy(&p->lock);
    free(p->events);
    free(p);
}

static OrtStatus *ORT_API_CALL profile_start(OrtEpProfilerImpl *base, int64_t offset_ns) NO_EXCEPTION
{
    struct ep_profile *p = container_of(base, struct ep_profile, base);
    pthread_mutex_lock(&p->lock);
    p->started = true;
    p->offset_us = offset_ns / 1000;
    p->start_us = ep_now_us();
    p->count = 0;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static OrtStatus *add_event(const struct ep_profile *p, const struct event *e, OrtProfilingEventsContainer *container)
{
    static const char *const names[] = { "dml_compile", "dml_run" };
    const OrtEpApi *api = p->ep->factory->ep;
    const char *keys[] = { "provider", "subgraph" }, *values[] = { p->ep->factory->provider->name, e->name };
    int64_t begin = p->offset_us + (int64_t)(e->begin_us - p->start_us);
    OrtProfilingEvent *event = NULL;
    OrtStatus *status = api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, getpid(), e->thread, names[e->kind],
                                                  begin, (int64_t)(e->end_us - e->begin_us), keys, values, 2, &event);
    if (!status)
        status = api->ProfilingEventsContainer_AddEvents(container, (const OrtProfilingEvent *const *)&event, 1);
    if (event)
        api->ReleaseProfilingEvent(event);
    return status;
}

static OrtStatus *ORT_API_CALL profile_end(OrtEpProfilerImpl *base, OrtProfilingEventsContainer *container) NO_EXCEPTION
{
    struct ep_profile *p = container_of(base, struct ep_profile, base);
    OrtStatus *status = NULL;
    pthread_mutex_lock(&p->lock);
    p->started = false;
    for (uint32_t i = 0; !status && i < p->count; i++)
        status = add_event(p, &p->events[i], container);
    p->count = 0;
    pthread_mutex_unlock(&p->lock);
    return status;
}

OrtStatus *ep_profile_create(struct ep *ep, OrtEpProfilerImpl **out)
{
    struct ep_profile *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p)
        return ep_status(ep->factory, ORT_FAIL, "out of memory");
    p->base.ort_version_supported = ep->factory->version;
    p->base.Release = profile_release;
    p->base.StartProfiling = profile_start;
    p->base.EndProfiling = profile_end;
    p->ep = ep;
    pthread_mutex_init(&p->lock, NULL);
    ep->profile = p;
    *out = &p->base;
    return NULL;
}
