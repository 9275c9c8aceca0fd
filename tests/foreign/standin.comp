#version 450
// SPDX-License-Identifier: Apache-2.0
// A dispatch of the application (standin.h): adds a number to the words of a storage buffer.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Words { float words[]; };
layout(push_constant) uniform Push { uint count, value; };

void main()
{
    if (gl_GlobalInvocationID.x < count)
        words[gl_GlobalInvocationID.x] += float(value);
}
