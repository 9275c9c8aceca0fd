// SPDX-License-Identifier: Apache-2.0
/* Sorting in shared memory. Include sort/sort_items.glsl first. */

shared uint low_keys[SORT_CHUNK];
#ifdef WIDE
shared uint high_keys[SORT_CHUNK];
#endif
shared uint positions[SORT_CHUNK];

Item get_item(uint slot)
{
    Item item;
    item.key = uvec2(low_keys[slot], 0u);
#ifdef WIDE
    item.key.y = high_keys[slot];
#endif
    item.position = positions[slot];
    return item;
}

void put_item(uint slot, Item item)
{
    low_keys[slot] = item.key.x;
#ifdef WIDE
    high_keys[slot] = item.key.y;
#endif
    positions[slot] = item.position;
}

/* After all others. */
Item last_item()
{
    Item item;
    item.key = uvec2(0xffffffffu, 0xffffffffu);
    item.position = 0xffffffffu;
    return item;
}

/* Sorts each `segment` slots, a power of two: a bitonic network whose comparisons all put the smaller item first. The
 * first step of a stage compares item i of a block of `size` with item size - 1 - i, the others with item i + reach. */
void sort_segments(uint segment)
{
    for (uint size = 2u; size <= segment; size *= 2u)
        for (uint reach = size / 2u; reach > 0u; reach /= 2u) {
            barrier();
            for (uint p = gl_LocalInvocationID.x; p < SORT_CHUNK / 2u; p += GROUP_SIZE) {
                uint first = p / reach * 2u * reach + p % reach;
                uint second = 2u * reach == size ? first ^ (size - 1u) : first + reach;
                Item a = get_item(first), b = get_item(second);
                if (before(b, a)) {
                    put_item(first, b);
                    put_item(second, a);
                }
            }
        }
    barrier();
}
