/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance driver's loop: requests from standard input, answers to standard output; driver.h has the format.
 * Usage: driver --list | driver [--describe] [--adapter cpu|vulkan|INDEX]. Leaves with 77 where there is no such
 * adapter. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static bool read_request(uint8_t **data, uint32_t *capacity, uint32_t *out_size)
{
    if (fread(out_size, sizeof(*out_size), 1, stdin) != 1)
        return false;
    if (*out_size > *capacity) {
        free(*data);
        *data = malloc(*out_size);
        *capacity = *data ? *out_size : 0;
    }
    return *data && fread(*data, 1, *out_size, stdin) == *out_size;
}

static void write_word(uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    fwrite(&word, sizeof(word), 1, stdout);
}

static void write_bytes(const void *data, uint64_t size)
{
    static const uint8_t zeros[4];
    write_word(size);
    fwrite(data, 1, (size_t)size, stdout);
    fwrite(zeros, 1, (size_t)(base_align_up(size, 4) - size), stdout);
}

static void write_answer(const struct driver_request *request, const struct driver_answer *answer)
{
    const uint32_t count = answer->memory ? request->output_count : 0;
    const size_t length = strlen(answer->message);
    uint64_t size = 16 + base_align_up(length, 4);
    for (uint32_t i = 0; i < count; i++)
        size += 4 + base_align_up(request->outputs[i].bytes, 4);
    write_word(size);
    write_word(answer->stage);
    write_word((uint32_t)answer->hr);
    write_bytes(answer->message, length);
    write_word(count);
    for (uint32_t i = 0; i < count; i++)
        write_bytes(answer->memory + request->outputs[i].offset, request->outputs[i].bytes);
    fflush(stdout);
}

static int serve(struct driver_device *device)
{
    static struct driver_request request;
    static struct driver_answer answer;
    uint8_t *data = NULL;
    uint32_t capacity = 0, size;
    do {
        if (!read_request(&data, &capacity, &size))
            break;
        if (driver_read(data, size, &request))
            driver_run(device, &request, &answer);
        else
            answer = (struct driver_answer){ .stage = DRIVER_REQUEST, .message = "the request makes no sense" };
        write_answer(&request, &answer);
        base_arena_finish(&request.arena);
    } while (answer.stage != DRIVER_RUN);
    free(data);
    return answer.stage == DRIVER_RUN;
}

int main(int argc, char **argv)
{
    const char *adapter = "cpu";
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        driver_list();
        return 0;
    }
    const bool describe = argc > 1 && !strcmp(argv[1], "--describe");
    if (argc == 3 + describe && !strcmp(argv[1 + describe], "--adapter"))
        adapter = argv[2 + describe];
    else if (argc != 1 + describe) {
        fprintf(stderr, "usage: %s --list | [--describe] [--adapter cpu|vulkan|INDEX]\n", argv[0]);
        return 2;
    }
    setenv("ANYDML_LOG", "none", 0);
    char message[DRIVER_MESSAGE];
    struct driver_device *device = driver_device_create(adapter, message);
    if (!device) {
        fprintf(stderr, "%s\n", message);
        return 77;
    }
    int status = 0;
    if (describe)
        driver_describe(device);
    else
        status = serve(device);
    driver_device_destroy(device);
    return status;
}
