/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of plans: one hash table and one lock. When the cache exceeds its limit, the least recently used plans are
 * removed first. */
#include "plan.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS       8192u
#define MISSES_MAX    4u
#define LIMIT_DEFAULT (UINT64_C(128) << 20) /* bytes */

static struct {
    pthread_mutex_t lock;
    struct aten_plan *buckets[BUCKETS];
    struct aten_plan *newest, *oldest;
    uint64_t count, bytes, limit, compiled;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER, .limit = LIMIT_DEFAULT };

/* ---- keys ---- */

static void put(struct aten_key *key, uint64_t word)
{
    if (key->count == key->capacity) {
        uint64_t *grown = malloc(2u * key->capacity * sizeof(*grown));
        if (!grown) {
            key->failed = true;
            key->count = 0; /* the key is never found */
            return;
        }
        memcpy(grown, key->words, key->count * sizeof(*grown));
        if (key->words != key->stack)
            free(key->words);
        key->words = grown;
        key->capacity *= 2;
    }
    key->words[key->count++] = word;
}

static void put_tensor(struct aten_key *key, const struct aten_tensor *t)
{
    put(key, (uint64_t)(uint32_t)t->type | (uint64_t)t->rank << 32);
    if (t->type == ATEN_ABSENT)
        return;
    for (uint32_t i = 0; i < t->rank && i < ATEN_RANK_MAX; i++) {
        put(key, (uint64_t)t->sizes[i]);
        put(key, (uint64_t)t->strides[i]);
    }
}

static void put_text(struct aten_key *key, const char *text)
{
    for (size_t at = 0, length = strlen(text) + 1; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, BASE_MIN(length - at, (size_t)8));
        put(key, word);
    }
}

/* Adds the bits of numbers, which are reals or integers. */
static void put_numbers(struct aten_key *key, const struct aten_arg *arg)
{
    if (arg->kind == ATEN_INT || arg->kind == ATEN_REAL || arg->kind == ATEN_BOOL)
        put(key, (uint64_t)arg->integer);
    for (uint32_t i = 0; arg->kind == ATEN_NUMBERS && i < arg->count; i++)
        put(key, (uint64_t)arg->numbers[i].integer);
}

static void put_arg(struct aten_key *key, const struct aten_arg *arg)
{
    put(key, (uint64_t)arg->kind | (uint64_t)arg->count << 32);
    switch (arg->kind) {
    case ATEN_TENSOR:
        put_tensor(key, arg->tensors);
        break;
    case ATEN_TENSORS:
        for (uint32_t i = 0; i < arg->count; i++)
            put_tensor(key, &arg->tensors[i]);
        break;
    case ATEN_INTS:
    case ATEN_BOOLS:
    case ATEN_REALS:
        for (uint32_t i = 0; i < arg->count; i++)
            put(key, (uint64_t)arg->integers[i]); /* the bits of reals */
        break;
    case ATEN_NUMBERS:
        for (uint32_t i = 0; i < arg->count; i++)
            put(key, (uint64_t)arg->numbers[i].kind);
        break;
    case ATEN_STRING:
        put_text(key, arg->string);
        break;
    default:
        break; /* numbers are added last, generators are bound when the plan runs */
    }
}

static uint64_t mix(uint64_t hash, const uint64_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

void aten_key_make(struct aten_key *key, const struct aten_call *call, bool written)
{
    key->words = key->stack;
    key->capacity = ARRAY_SIZE(key->stack);
    key->count = 0;
    key->failed = false;
    put(key, (uint64_t)(uintptr_t)call->op);
    put(key, (uint64_t)(uintptr_t)call->device | written);
    for (uint32_t i = 0; i < call->arg_count; i++)
        put_arg(key, &call->args[i]);
    for (uint32_t i = 0; written && i < call->output_count; i++)
        put_tensor(key, &call->outputs[i]);
    key->layout = key->count;
    for (uint32_t i = 0; i < call->arg_count; i++)
        put_numbers(key, &call->args[i]);
    key->layout_hash = mix(0, key->words, key->layout);
    key->hash = mix(key->layout_hash, key->words + key->layout, key->count - key->layout);
}

void aten_key_finish(struct aten_key *key)
{
    if (key->words != key->stack)
        free(key->words);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct aten_key *key, enum aten_plan_kind kind)
{
    return kind == ATEN_PLAN_EXACT ? key->hash : key->layout_hash + kind;
}

static uint32_t words_of(const struct aten_key *key, enum aten_plan_kind kind)
{
    return kind == ATEN_PLAN_EXACT ? key->count : key->layout;
}

static struct aten_plan *look_up(const struct aten_key *key, enum aten_plan_kind kind)
{
    const uint64_t hash = hash_of(key, kind);
    const uint32_t words = words_of(key, kind);
    struct aten_plan *plan = cache.buckets[hash % BUCKETS];
    while (plan && (plan->hash != hash || plan->kind != kind || plan->key_words != words ||
                    memcmp(plan->key, key->words, words * sizeof(*key->words)) != 0))
        plan = plan->same_bucket;
    return plan;
}

static void unlink_age(struct aten_plan *plan)
{
    *(plan->newer ? &plan->newer->older : &cache.newest) = plan->older;
    *(plan->older ? &plan->older->newer : &cache.oldest) = plan->newer;
}

static void link_newest(struct aten_plan *plan)
{
    plan->newer = NULL;
    plan->older = cache.newest;
    *(cache.newest ? &cache.newest->newer : &cache.oldest) = plan;
    cache.newest = plan;
}

static void touch(struct aten_plan *plan)
{
    if (plan == cache.newest)
        return;
    unlink_age(plan);
    link_newest(plan);
}

static void evict_oldest(void)
{
    struct aten_plan *plan = cache.oldest, **at = &cache.buckets[plan->hash % BUCKETS];
    while (*at != plan)
        at = &(*at)->same_bucket;
    *at = plan->same_bucket;
    unlink_age(plan);
    cache.count--;
    cache.bytes -= plan->bytes;
    aten_release(plan);
}

static bool insert(const struct aten_key *key, struct aten_plan *plan)
{
    plan->hash = hash_of(key, plan->kind);
    plan->key_words = words_of(key, plan->kind);
    plan->key = malloc(BASE_MAX(plan->key_words, 1u) * sizeof(*plan->key));
    if (!plan->key)
        return false;
    memcpy(plan->key, key->words, plan->key_words * sizeof(*plan->key));
    plan->same_bucket = cache.buckets[plan->hash % BUCKETS];
    cache.buckets[plan->hash % BUCKETS] = plan;
    link_newest(plan);
    plan->bytes += sizeof(*plan) + plan->key_words * sizeof(*plan->key);
    cache.count++;
    cache.bytes += plan->bytes;
    while (cache.bytes > cache.limit && cache.oldest != plan)
        evict_oldest();
    return true;
}

struct aten_plan *aten_cache_find(const struct aten_key *key)
{
    pthread_mutex_lock(&cache.lock);
    struct aten_plan *plan = look_up(key, ATEN_PLAN_EXACT);
    if (!plan && key->count != key->layout)
        plan = look_up(key, ATEN_PLAN_LIVE);
    if (plan) {
        touch(plan);
        atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&cache.lock);
    return plan;
}

struct aten_plan *aten_cache_add(const struct aten_key *key, struct aten_plan *plan)
{
    if (key->failed)
        return plan;
    pthread_mutex_lock(&cache.lock);
    struct aten_plan *found = look_up(key, plan->kind);
    cache.compiled++;
    if (found || insert(key, plan))
        atomic_fetch_add(&(found ? found : plan)->refs, 1);
    pthread_mutex_unlock(&cache.lock);
    if (!found)
        return plan;
    aten_release(plan);
    return found;
}

bool aten_cache_miss(const struct aten_key *key)
{
    if (key->count == key->layout || key->failed)
        return false;
    pthread_mutex_lock(&cache.lock);
    struct aten_plan *counting = look_up(key, ATEN_PLAN_COUNTING);
    if (!counting && (counting = calloc(1, sizeof(*counting)))) {
        counting->kind = ATEN_PLAN_COUNTING;
        atomic_init(&counting->refs, 1);
        if (!insert(key, counting)) {
            free(counting);
            counting = NULL;
        }
    }
    bool live = counting && ++counting->misses >= MISSES_MAX && !counting->refused;
    pthread_mutex_unlock(&cache.lock);
    return live;
}

void aten_cache_refuse(const struct aten_key *key)
{
    pthread_mutex_lock(&cache.lock);
    struct aten_plan *counting = look_up(key, ATEN_PLAN_COUNTING);
    if (counting)
        counting->refused = true;
    pthread_mutex_unlock(&cache.lock);
}

void aten_cache(uint64_t limit_bytes, uint64_t *out_plans, uint64_t *out_compiled)
{
    pthread_mutex_lock(&cache.lock);
    if (limit_bytes)
        cache.limit = limit_bytes;
    while (cache.bytes > cache.limit)
        evict_oldest();
    *out_plans = cache.count;
    *out_compiled = cache.compiled;
    pthread_mutex_unlock(&cache.lock);
}
