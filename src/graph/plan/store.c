/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/store.h"

#include "base/pages.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS_MIN 1024

struct graph_blob {
    struct graph_blob *next; /* of the bucket, under the store's lock */
    uint32_t refs;           /* likewise */
    struct graph_key key;
    uint64_t bytes;
    pthread_mutex_t making; /* protects the following members until it is set */
    void *data;
};

struct graph_store {
    pthread_mutex_t lock;
    struct graph_blob **buckets;
    uint32_t bucket_count; /* a power of two, no fewer than there are blobs */
    pthread_mutex_t pages_lock;
    struct base_pages pages;
    uint32_t count;
    uint64_t bytes;
};

struct graph_store *graph_store_create(void)
{
    struct graph_store *store = calloc(1, sizeof(*store));
    struct graph_blob **buckets = calloc(BUCKETS_MIN, sizeof(*buckets));
    if (!store || !buckets) {
        free(store);
        free(buckets);
        return NULL;
    }
    store->buckets = buckets;
    store->bucket_count = BUCKETS_MIN;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->pages_lock, NULL);
    return store;
}

void graph_store_destroy(struct graph_store *store)
{
    if (!store)
        return;
    base_pages_finish(&store->pages);
    pthread_mutex_destroy(&store->pages_lock);
    pthread_mutex_destroy(&store->lock);
    free(store->buckets);
    free(store);
}

static struct graph_blob **bucket_of(struct graph_store *store, const struct graph_key *key)
{
    return &store->buckets[(key->content.low ^ key->layout.low) & (store->bucket_count - 1)];
}

/* Under the lock: doubles the buckets if there are as many blobs, so that each has few. Out of memory: no change. */
static void grow(struct graph_store *store)
{
    uint32_t old_count = store->bucket_count;
    struct graph_blob **old = store->buckets, **larger = NULL;
    if (store->count < old_count || old_count > UINT32_MAX / 2 ||
        !(larger = calloc(old_count * (size_t)2, sizeof(*larger))))
        return;
    store->buckets = larger;
    store->bucket_count = old_count * 2;
    for (uint32_t i = 0; i < old_count; i++)
        for (struct graph_blob *blob = old[i], *next; blob; blob = next) {
            struct graph_blob **first = bucket_of(store, &blob->key);
            next = blob->next;
            blob->next = *first;
            *first = blob;
        }
    free(old);
}

/* Under the lock: the link of the blob, or the end of its bucket. */
static struct graph_blob **find(struct graph_store *store, const struct graph_key *key, uint64_t bytes)
{
    struct graph_blob **at = bucket_of(store, key);
    while (*at && (memcmp(&(*at)->key, key, sizeof(*key)) != 0 || (*at)->bytes != bytes))
        at = &(*at)->next;
    return at;
}

static struct graph_blob *find_or_add(struct graph_store *store, const struct graph_key *key, uint64_t bytes)
{
    pthread_mutex_lock(&store->lock);
    grow(store);
    struct graph_blob **at = find(store, key, bytes), *blob = *at;
    if (!blob && (blob = calloc(1, sizeof(*blob))) != NULL) {
        blob->key = *key;
        blob->bytes = bytes;
        pthread_mutex_init(&blob->making, NULL);
        *at = blob;
        store->count++;
        store->bytes += bytes;
    }
    if (blob)
        blob->refs++;
    pthread_mutex_unlock(&store->lock);
    return blob;
}

static void *memory_for(struct graph_store *store, uint64_t bytes)
{
    pthread_mutex_lock(&store->pages_lock);
    void *data = base_pages_acquire(&store->pages, bytes);
    pthread_mutex_unlock(&store->pages_lock);
    return data;
}

struct graph_blob *graph_store_acquire(struct graph_store *store, const struct graph_key *key, uint64_t bytes,
                                       graph_fill_fn *fill, void *context)
{
    struct graph_blob *blob = find_or_add(store, key, bytes);
    if (!blob)
        return NULL;
    pthread_mutex_lock(&blob->making);
    if (!blob->data && (blob->data = memory_for(store, bytes)) != NULL)
        fill(context, blob->data);
    bool made = blob->data != NULL;
    pthread_mutex_unlock(&blob->making);
    if (made)
        return blob;
    graph_store_release(store, blob);
    return NULL;
}

void graph_store_release(struct graph_store *store, struct graph_blob *blob)
{
    pthread_mutex_lock(&store->lock);
    bool last = !--blob->refs;
    if (last) {
        *find(store, &blob->key, blob->bytes) = blob->next;
        store->count--;
        store->bytes -= blob->bytes;
    }
    pthread_mutex_unlock(&store->lock);
    if (!last)
        return;
    base_pages_release(blob->data, blob->bytes);
    pthread_mutex_destroy(&blob->making);
    free(blob);
}

const void *graph_blob_data(const struct graph_blob *blob)
{
    return blob->data;
}

uint32_t graph_store_count(struct graph_store *store, uint64_t *out_bytes)
{
    pthread_mutex_lock(&store->lock);
    uint32_t count = store->count;
    *out_bytes = store->bytes;
    pthread_mutex_unlock(&store->lock);
    return count;
}
