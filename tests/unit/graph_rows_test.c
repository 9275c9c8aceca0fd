/* SPDX-License-Identifier: Apache-2.0 */
/* The file of rows that were measured on a device: what is kept is read again, what is damaged or of another device is
 * not, and ops of a class get the row. */
#include "graph_make.h"

#include "graph/tuning/tuning_rows.h"

#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static const uint8_t uuid[16] = { 1, 2, 3 }, other_uuid[16] = { 1, 2, 4 };

static struct kern_op product_of(uint32_t m, uint32_t n, uint32_t k)
{
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
    op.u.gemm.alpha = 1;
    kern_view_set_packed(&op.tensors[0], F32, 4, SIZES(1, 1, m, k));
    kern_view_set_packed(&op.tensors[1], F32, 4, SIZES(1, 1, k, n));
    kern_view_set_packed(&op.tensors[2], F32, 4, SIZES(1, 1, m, n));
    return op;
}

static void test_classes(void)
{
    const struct kern_op a = product_of(100, 768, 768), near = product_of(104, 800, 770),
                         far = product_of(400, 768, 768);
    struct kern_op across = a, map = { .kind = KERN_MAP, .output_count = 1 };
    across.tensors[1].strides[3] = 768;
    across.tensors[1].strides[2] = 1;
    TEST(shader_choice_key(&a) && shader_choice_key(&a) == shader_choice_key(&near));
    TEST(shader_choice_key(&a) != shader_choice_key(&far));
    TEST(shader_choice_key(&a) != shader_choice_key(&across));
    TEST(shader_choice_key(&map) == 0);
}

static void test_choice(void)
{
    struct kern_op op = product_of(100, 768, 768);
    struct shader_choice list[8], kept = { .key = shader_choice_key(&op) };
    struct shader_choices choices = { .count = 1, .sorted = &kept };
    struct shader_work work;
    const char *reason;
    if (!TEST(shader_choice_list(&op, 0, list, ARRAY_SIZE(list)) > 0) ||
        !TEST(shader_choice_parse("gemm_any", 8, &kept)))
        return;
    kept.key = shader_choice_key(&op);
    TEST(shader_choose(&op, 0, NULL, &work, &reason) && strcmp(work.row->name, "gemm_any") != 0);
    TEST(shader_choose(&op, 0, &choices, &work, &reason) && !strcmp(work.row->name, "gemm_any"));
    op = product_of(400, 768, 768);
    TEST(shader_choose(&op, 0, &choices, &work, &reason) && strcmp(work.row->name, "gemm_any") != 0);
    TEST(shader_choice_parse("gemm_coop:3", 11, &kept) && kept.tile == 3);
    TEST(!shader_choice_parse("gemm_coop:", 10, &kept) && !shader_choice_parse("gemm_coop:0", 11, &kept));
    TEST(!shader_choice_parse("nothing", 7, &kept) && !shader_choice_parse("", 0, &kept));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (TEST(file != NULL)) {
        fputs(text, file);
        fclose(file);
    }
}

static void test_file(void)
{
    const struct graph_rows_device device = { "a device", 7, uuid, 3 }, other = { "a device", 7, other_uuid, 3 };
    struct shader_choice rows[2] = { { 0 } };
    struct shader_choices saved = { .count = 2, .sorted = rows }, loaded;
    char path[BASE_CACHE_PATH_BYTES], text[2048] = "";
    shader_choice_parse("gemm_coop:2", 11, &rows[0]);
    shader_choice_parse("conv_tile", 9, &rows[1]);
    rows[0].key = 9;
    rows[1].key = 5;
    TEST(graph_rows_load(&device, &loaded) && !loaded.count);
    graph_rows_free(&loaded);
    if (!TEST(graph_rows_save(&device, &saved) == NULL) || !TEST(graph_rows_path(&device, path)))
        return;
    TEST(graph_rows_load(&device, &loaded) && loaded.count == 2);
    if (loaded.count == 2)
        TEST(loaded.sorted[0].key == 5 && loaded.sorted[1].key == 9 && loaded.sorted[1].tile == 2);
    graph_rows_free(&loaded);
    TEST(graph_rows_load(&other, &loaded) && !loaded.count);
    graph_rows_free(&loaded);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i < length; i++) { /* any byte */
        const char before = text[i];
        text[i] ^= 1;
        write_file(path, text);
        TEST_FOR(graph_rows_load(&device, &loaded) && !loaded.count, "byte %zu", i);
        graph_rows_free(&loaded);
        text[i] = before;
    }
    text[length / 2] = '\0';
    write_file(path, text);
    TEST(graph_rows_load(&device, &loaded) && !loaded.count);
    graph_rows_free(&loaded);
    unlink(path);
}

int main(void)
{
    char folder[] = "/tmp/anydml-rows-XXXXXX";
    if (!TEST(mkdtemp(folder) != NULL))
        return test_result();
    setenv("ANYDML_CACHE_DIR", folder, 1);
    test_classes();
    test_choice();
    test_file();
    TEST(rmdir(folder) == 0); /* no other file is left */
    return test_result();
}
