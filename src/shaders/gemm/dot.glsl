// SPDX-License-Identifier: Apache-2.0
/* Products of four signed bytes at a time, by integer dot products (SPV_KHR_integer_dot_product). */
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int dot_bytes(int a, int b, spirv_literal int format);

#define ONES 0x01010101

ivec4 dot_each(int a, ivec4 b)
{
    return ivec4(dot_bytes(a, b.x, 0), dot_bytes(a, b.y, 0), dot_bytes(a, b.z, 0), dot_bytes(a, b.w, 0));
}

#define MULTIPLY_ADD(a, b, sum) ((sum) + dot_each(a, b))
