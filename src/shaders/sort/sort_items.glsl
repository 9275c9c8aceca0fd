// SPDX-License-Identifier: Apache-2.0
/* The sorted items: keys, unsigned numbers in the requested order, with the elements' positions, so that all items
 * differ and equal elements are ordered by position. 64-bit keys with WIDE. In scratch memory an item is its words.
 * Include core/views.glsl first. */

struct Item {
    uvec2 key; /* lower word first */
    uint position;
};

bool before(Item a, Item b)
{
#ifdef WIDE
    if (a.key.y != b.key.y)
        return a.key.y < b.key.y;
#endif
    return a.key.x < b.key.x || (a.key.x == b.key.x && a.position < b.position);
}

#ifdef WIDE
#define ITEM_WORDS 3u
#else
#define ITEM_WORDS 2u
#endif

uvec2 item_address(uint number)
{
    return add64(scratch_at(0u), mul64(4u * ITEM_WORDS, uvec2(number, 0u)));
}

Item load_item(uint number)
{
    uvec2 address = item_address(number);
    Item item;
    item.key = uvec2(Words(address).v, 0u);
#ifdef WIDE
    item.key.y = Words(add64(address, uvec2(8u, 0u))).v;
#endif
    item.position = Words(add64(address, uvec2(4u, 0u))).v;
    return item;
}

void store_item(uint number, Item item)
{
    uvec2 address = item_address(number);
    Words(address).v = item.key.x;
#ifdef WIDE
    Words(add64(address, uvec2(8u, 0u))).v = item.key.y;
#endif
    Words(add64(address, uvec2(4u, 0u))).v = item.position;
}
