/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the Vulkan adapter on a driver with limits: few allocations hold many buffers, nothing overlaps, what is
 * released comes back, and what does not fit is E_OUTOFMEMORY. */
#include "vulkan_fake.h"

#include "test.h"

enum { MANY = 6000, ALLOWED = 64 };

static struct adapter_device device;
static struct adapter_memory *memories[MANY];

static uint64_t random_number(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int by_address(const void *a, const void *b)
{
    const struct adapter_memory *x = *(struct adapter_memory *const *)a, *y = *(struct adapter_memory *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The living ones of `memories` lie apart, and where Direct3D wants them. */
static void check_apart(void)
{
    static struct adapter_memory *sorted[MANY];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MANY; i++)
        if (memories[i])
            sorted[count++] = memories[i];
    qsort(sorted, count, sizeof(sorted[0]), by_address);
    for (uint32_t i = 0; i < count; i++) {
        TEST(sorted[i]->address % VULKAN_ALIGNMENT == 0);
        if (i)
            TEST(sorted[i - 1]->address + sorted[i - 1]->size <= sorted[i]->address);
    }
}

static void release_all(void)
{
    for (uint32_t i = 0; i < MANY; i++) {
        vulkan_memory_destroy(&device, memories[i]);
        memories[i] = NULL;
    }
}

/* More buffers than drivers allow allocations. */
static void test_many(enum adapter_memory_kind kind, uint32_t shift)
{
    fake_load();
    fake.allocations_max = ALLOWED;
    fake.shift = shift;
    fake_device_create(&device);
    for (uint32_t i = 0; i < MANY; i++)
        if (!TEST_FOR(vulkan_memory_create(&device, kind, 1 + random_number() % 70000, &memories[i]) == S_OK,
                      "buffer %u", i))
            break;
    check_apart();
    for (uint32_t i = 0; i < MANY && memories[i]; i++) {
        const struct vulkan_memory *memory = vulkan_memory_from(memories[i]);
        const struct fake_buffer *buffer = (const struct fake_buffer *)memory->buffer;
        TEST(buffer->address + memory->offset == memory->base.address);
        TEST(memory->offset + memory->base.size <= buffer->bytes);
        TEST((memory->base.host != NULL) == (kind != ADAPTER_MEMORY_DEVICE));
    }
    release_all();
    TEST(fake.allocations <= 1);
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes);
}

/* Blocks end where they should: bytes written to one memory leave the others as they are. */
static void test_churn(void)
{
    fake_load();
    fake_device_create(&device);
    for (int round = 0; round < 20000; round++) {
        const uint32_t i = (uint32_t)(random_number() % 200);
        if (memories[i]) {
            for (uint64_t at = 0; at < memories[i]->size; at += 4096)
                if (!TEST(((unsigned char *)memories[i]->host)[at] == (unsigned char)i))
                    return;
            vulkan_memory_destroy(&device, memories[i]);
            memories[i] = NULL;
            continue;
        }
        const uint64_t bytes = round % 50 ? random_number() % 300000 : random_number() % (20 << 20);
        if (!TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_UPLOAD, bytes, &memories[i]) == S_OK))
            return;
        for (uint64_t at = 0; at < memories[i]->size; at += 65536)
            TEST(((unsigned char *)memories[i]->host)[at] == 0);
        memset(memories[i]->host, (int)i, memories[i]->size);
    }
    check_apart();
    release_all();
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes);
}

/* The device's last bytes are used, then it refuses, and goes on when some are free. */
static void test_full(void)
{
    uint32_t count = 0;
    fake_load();
    fake.bytes_max = UINT64_C(100) << 20;
    fake_device_create(&device);
    while (count < MANY && vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[count]) == S_OK)
        count++;
    TEST_FOR(count == 100, "%u", count);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1, &memories[count]) == E_OUTOFMEMORY &&
         !memories[count]);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(200) << 20, &memories[count]) == E_OUTOFMEMORY);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_MAX, &memories[count]) == E_OUTOFMEMORY);
    vulkan_memory_destroy(&device, memories[7]);
    memories[7] = NULL;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[7]) == S_OK);
    check_apart();
    release_all();
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes);
}

/* What does not fit into the device's memory is in the host's, zeroed; freed memory of the device is used first again.
 */
static void test_overflow(void)
{
    uint32_t count = 0, hosts = 0;
    fake_load();
    fake.bytes_max = UINT64_C(100) << 20;
    fake.own_bytes_max = UINT64_C(60) << 20;
    fake_device_create(&device);
    while (count < MANY && vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[count]) == S_OK) {
        const unsigned char *host = memories[count]->host;
        for (uint32_t at = 0; host && at < 1 << 20; at += 4095)
            TEST(!host[at]);
        hosts += host != NULL;
        TEST_FOR(!host == (count < 60), "buffer %u", count);
        count++;
    }
    TEST_FOR(count == 100 && hosts == 40, "%u, %u of them the host's", count, hosts);
    TEST(device.used[0] == UINT64_C(60) << 20 && device.used[1] == UINT64_C(40) << 20);
    check_apart();
    for (uint32_t i = 0; i < count; i += 3) {
        vulkan_memory_destroy(&device, memories[i]);
        memories[i] = NULL;
    }
    for (uint32_t i = 0; i < 60; i += 3)
        TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[i]) == S_OK && !memories[i]->host);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[60]) == S_OK && memories[60]->host);
    check_apart();
    release_all();
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(70) << 20, &memories[0]) == S_OK &&
         memories[0]->host);
    release_all();
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_UPLOAD, UINT64_C(101) << 20, &memories[0]) == E_OUTOFMEMORY);
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes && !fake.own_bytes);
    TEST(!device.used[0] && !device.used[1]);
}

/* The host writes the device's memory itself where that needs no flushing; else it is zeroed by the device. */
static void test_incoherent(void)
{
    for (int coherent = 0; coherent < 2; coherent++) {
        struct vulkan_physical physical = fake_physical;
        physical.memory.memoryTypes[0].propertyFlags |= VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                        VK_MEMORY_PROPERTY_HOST_CACHED_BIT |
                                                        (coherent ? VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : 0);
        fake_load();
        fake_device_create(&device);
        device.physical = &physical;
        TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[0]) == S_OK);
        TEST_FOR((fake.mapped & 1) == (uint32_t)coherent, "%d", coherent);
        TEST(coherent || (!memories[0]->host && !strcmp(fake.submitted, "0<0:f;")));
        release_all();
        fake_device_destroy(&device);
    }
}

/* Large ones come from the driver and go back to it. */
static void test_large(void)
{
    fake_load();
    fake_device_create(&device);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(3) << 30, &memories[0]) == S_OK);
    TEST(fake.bytes == UINT64_C(3) << 30);
    release_all();
    TEST(!fake.bytes);
    fake_device_destroy(&device);
}

/* More than one allocation holds: a sparse buffer over several, in the host's memory as far as the device's is full. */
static void test_sparse(void)
{
    const uint64_t limit = (UINT64_C(1) << 30) - 65536, part = (UINT64_C(1) << 30) - (UINT64_C(2) << 20);
    struct vulkan_physical physical = fake_physical;
    char message[ADAPTER_MESSAGE_BYTES];
    physical.allocation_bytes_max = limit;
    physical.sparse_bytes_max = UINT64_C(5) << 30;
    physical.families[VULKAN_ROLE_MAIN].sparse = physical.families[VULKAN_ROLE_COPY].sparse = true;
    fake_load();
    fake.own_bytes_max = UINT64_C(2) << 30;
    fake_device_create(&device);
    device.physical = &physical;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, limit, &memories[0]) == S_OK && !fake.parts);
    release_all();
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(7) << 29, &memories[0]) == S_OK);
    TEST_FOR(fake.parts == 4 && fake.allocations == 4, "%u parts, %u allocations", fake.parts, fake.allocations);
    TEST(fake.bytes == UINT64_C(7) << 29 && fake.own_bytes == 2 * part && device.used[0] == 2 * part);
    TEST(device.used[1] == (UINT64_C(7) << 29) - 2 * part);
    TEST(fake.bind_queue == device.queues[VULKAN_ROLE_COPY].slots[0].handle);
    TEST(memories[0]->size == UINT64_C(7) << 29 && memories[0]->address && !memories[0]->host);
    release_all();
    TEST(!fake.allocations && !fake.buffers && !fake.bytes && !device.used[0] && !device.used[1]);
    /* Too much for the driver's memory, and for its addresses; memory of the host's; a driver that does not bind. */
    fake.bytes_max = UINT64_C(3) << 30;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(4) << 30, &memories[0]) == E_OUTOFMEMORY);
    vulkan_memory_explain(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(4) << 30, message);
    TEST_FOR(strstr(message, "4294967296 bytes were asked for") && strstr(message, "2147483648 are free"), "%s",
             message);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(6) << 30, &memories[0]) == E_OUTOFMEMORY);
    vulkan_memory_explain(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(6) << 30, message);
    TEST_FOR(strstr(message, "at most 5368709120 bytes") && strstr(message, "sparseAddressSpaceSize"), "%s", message);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_UPLOAD, UINT64_C(1) << 30, &memories[0]) == E_OUTOFMEMORY);
    fake.bytes_max = UINT64_C(1) << 40;
    fake.bind_result = VK_ERROR_DEVICE_LOST;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(2) << 30, &memories[0]) ==
         DXGI_ERROR_DEVICE_HUNG);
    physical.sparse_bytes_max = 0;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(2) << 30, &memories[0]) == E_OUTOFMEMORY);
    vulkan_memory_explain(&device, ADAPTER_MEMORY_DEVICE, UINT64_C(2) << 30, message);
    TEST_FOR(strstr(message, "sparseBinding") && strstr(message, "at most 1073676288 bytes"), "%s", message);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes && !device.used[0] && !device.used[1]);
    device.physical = &fake_physical;
    fake_device_destroy(&device);
}

/* The memory of integrated GPUs is the host's, whatever the driver says of its size; but some of AMD's have their own.
 */
static void test_integrated(void)
{
    const uint64_t most = UINT64_C(1) << 46, large = UINT64_C(1) << 44; /* more than machines have */
    struct vulkan_physical physical = fake_physical;
    physical.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    physical.allocation_bytes_max = physical.memory.memoryHeaps[0].size = physical.memory.memoryHeaps[1].size = most;
    fake_load();
    fake.bytes_max = fake.own_bytes_max = most;
    fake_device_create(&device);
    device.physical = &physical;
    for (int amd = 0; amd < 2; amd++) {
        physical.properties.vendorID = amd ? 0x1002 : 0x8086;
        TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 1 << 20, &memories[0]) == S_OK);
        TEST_FOR(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, large, &memories[1]) ==
                     (amd ? S_OK : E_OUTOFMEMORY),
                 "AMD %d", amd);
        release_all();
    }
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.bytes);
}

int main(void)
{
    test_many(ADAPTER_MEMORY_DEVICE, 0);
    test_many(ADAPTER_MEMORY_UPLOAD, 0);
    test_many(ADAPTER_MEMORY_DEVICE, 256);
    test_many(ADAPTER_MEMORY_READBACK, 256);
    test_churn();
    test_full();
    test_overflow();
    test_large();
    test_sparse();
    test_incoherent();
    test_integrated();
    return test_result();
}
