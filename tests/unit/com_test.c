/* SPDX-License-Identifier: Apache-2.0 */
/* com: identity, two counters, private data, names; and from several threads at once. */
#define INITGUID
#include "com/com.h"
#include "test.h"

#include <stdlib.h>

static const IID iid_a = { 1, 2, 3, { 4 } }, iid_b = { 5, 6, 7, { 8 } };
static const IID *const iids[] = { &iid_a, NULL };
static int destroyed;

struct thing {
    struct com_object base;
};

static void thing_destroy(struct com_object *object)
{
    destroyed++;
    com_finish(object);
    free(object);
}

static const struct com_class thing_class = { "Thing", iids, thing_destroy, NULL };
static const IUnknownVtbl thing_vtbl = { COM_UNKNOWN_METHODS };

static struct com_object *thing_create(struct com_object *parent)
{
    struct thing *thing = calloc(1, sizeof(*thing));
    com_init(&thing->base, &thing_vtbl, &thing_class, parent);
    return &thing->base;
}

static void test_identity(void)
{
    struct com_object *thing = thing_create(NULL);
    void *a = NULL, *unknown = NULL, *none = thing;
    TEST(com_QueryInterface(thing, &iid_a, &a) == S_OK && a == thing);
    TEST(com_QueryInterface(thing, &IID_IUnknown, &unknown) == S_OK && unknown == thing);
    TEST(com_QueryInterface(thing, &iid_b, &none) == E_NOINTERFACE && !none);
    TEST(com_QueryInterface(thing, &iid_a, NULL) == E_POINTER);
    TEST(com_Release(thing) == 2 && com_Release(thing) == 1 && com_Release(thing) == 0);
    TEST(destroyed == 1);
}

static void test_two_counters(void)
{
    struct com_object *parent = thing_create(NULL), *child = thing_create(parent);
    destroyed = 0;
    TEST(com_Release(parent) == 0 && destroyed == 0); /* the child holds it */
    void *again = NULL;
    TEST(com_GetDevice(child, &iid_a, &again) == S_OK && again == parent);
    TEST(com_GetDevice(child, &iid_a, NULL) == E_INVALIDARG);
    static const IUnknownVtbl other_vtbl = { COM_UNKNOWN_METHODS };
    TEST(com_child(parent, child, &thing_vtbl) == child && !com_child(parent, NULL, &thing_vtbl));
    TEST(!com_child(parent, child, &other_vtbl) && !com_child(child, child, &thing_vtbl));
    TEST(!com_child(parent, parent, &thing_vtbl));
    TEST(com_Release(again) == 0 && destroyed == 0);
    com_ref(child);
    TEST(com_Release(child) == 0 && destroyed == 0);
    TEST(com_try_ref(child));
    com_unref(child);
    com_unref(child);
    TEST(destroyed == 2);
}

static void test_private_data(void)
{
    struct com_object *thing = thing_create(NULL), *held = thing_create(NULL);
    UINT size = 99;
    char data[8] = { 0 };
    TEST(com_GetPrivateData(thing, &iid_a, NULL, NULL) == E_INVALIDARG);
    TEST(com_GetPrivateData(thing, &iid_a, &size, NULL) == DXGI_ERROR_NOT_FOUND && size == 0);
    TEST(com_SetPrivateData(thing, &iid_a, 3, NULL) == E_INVALIDARG);
    TEST(com_SetPrivateData(thing, &iid_a, 4, "abc") == S_OK);
    TEST(com_GetPrivateData(thing, &iid_a, &size, NULL) == S_OK && size == 4);
    size = 2;
    TEST(com_GetPrivateData(thing, &iid_a, &size, data) == DXGI_ERROR_MORE_DATA && size == 4 && !data[0]);
    TEST(com_GetPrivateData(thing, &iid_a, &size, data) == S_OK && !strcmp(data, "abc"));
    TEST(com_SetPrivateData(thing, &iid_a, 0, "") == S_OK); /* an empty entry is an entry */
    TEST(com_GetPrivateData(thing, &iid_a, &size, NULL) == S_OK && size == 0);
    TEST(com_SetPrivateData(thing, &iid_a, 0, NULL) == S_OK);
    TEST(com_GetPrivateData(thing, &iid_a, &size, NULL) == DXGI_ERROR_NOT_FOUND);

    TEST(com_SetPrivateDataInterface(thing, &iid_b, (IUnknown *)held) == S_OK);
    void *out = NULL;
    size = sizeof(out);
    TEST(com_GetPrivateData(thing, &iid_b, &size, &out) == S_OK && out == held);
    TEST(com_Release(held) == 2 && com_Release(held) == 1);
    destroyed = 0;
    TEST(com_Release(thing) == 0 && destroyed == 2);
}

static void test_names(void)
{
    struct com_object *thing = thing_create(NULL);
    static const WCHAR name[] = L"a\u00e9\u20ac\U0001f600"; /* one to four bytes of UTF-8 */
    static const WCHAR half[] = { 0xd83d, 'b', 0 };         /* the first of a pair, which is no code point */
    char text[32];
    com_object_name(thing, text, sizeof(text));
    TEST(!strcmp(text, "<unnamed>"));
    TEST(com_SetName(thing, name) == S_OK);
    com_object_name(thing, text, sizeof(text));
    TEST(!strcmp(text, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    TEST(com_SetName(thing, half) == S_OK);
    com_object_name(thing, text, sizeof(text));
    TEST(!strcmp(text, "\xef\xbf\xbd"
                       "b"));
    TEST(com_SetName(thing, name) == S_OK);
    com_object_name(thing, text, 2);
    TEST(!strcmp(text, "a"));
    TEST(com_SetName(thing, NULL) == S_OK);
    com_Release(thing);
}

static void *hammer(void *argument)
{
    struct com_object *thing = argument;
    for (int i = 0; i < 2000; i++) {
        UINT size = 4;
        char data[4];
        com_AddRef(thing);
        com_SetPrivateData(thing, i & 1 ? &iid_a : &iid_b, 4, "xyz");
        com_GetPrivateData(thing, &iid_a, &size, data);
        com_SetName(thing, i & 1 ? L"name" : NULL);
        com_Release(thing);
    }
    return NULL;
}

static void test_threads(void)
{
    struct com_object *thing = thing_create(NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, hammer, thing);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    destroyed = 0;
    TEST(com_Release(thing) == 0 && destroyed == 1);
}

int main(void)
{
    test_identity();
    test_two_counters();
    test_private_data();
    test_names();
    test_threads();
    TEST(com_live_objects() == 0);
    return test_result();
}
