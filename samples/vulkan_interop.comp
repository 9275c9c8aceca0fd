#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* The moving image of vulkan_interop.c: a ball that rolls on a chequered floor, ray traced. Written as planes of red,
 * green and blue, 0 to 1, to the address in the push constants. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 8, local_size_y = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Picture { float v[]; };
layout(push_constant) uniform Push {
    uvec2 image; /* device address */
    uvec2 size;
    float time;
} push;

const vec3 light = vec3(0.48, 0.72, -0.5);
const float radius = 1.0;

vec3 ball_centre()
{
    return vec3(1.6 * sin(push.time), radius, 4.0 + 0.8 * cos(push.time));
}

/* The distance to the ball along the ray, or -1. */
float ball(vec3 from, vec3 to)
{
    vec3 away = from - ball_centre();
    float b = dot(away, to), under = b * b - dot(away, away) + radius * radius;
    return under < 0.0 || b > 0.0 ? -1.0 : -b - sqrt(under);
}

vec3 sky(vec3 to)
{
    return mix(vec3(0.95, 0.8, 0.65), vec3(0.25, 0.45, 0.8), clamp(2.0 * to.y, 0.0, 1.0));
}

vec3 floor_colour(vec3 at)
{
    float odd = mod(floor(at.x) + floor(at.z), 2.0);
    vec3 colour = mix(vec3(0.85, 0.82, 0.75), vec3(0.2, 0.25, 0.3), odd);
    return ball(at, light) > 0.0 ? 0.4 * colour : colour;
}

/* The ray's target besides the ball. */
vec3 surroundings(vec3 from, vec3 to)
{
    if (to.y >= -0.01)
        return sky(to);
    vec3 at = from - to * (from.y / to.y);
    return mix(floor_colour(at), sky(to), clamp((at.z - 6.0) / 24.0, 0.0, 1.0));
}

vec3 ball_colour(vec3 at, vec3 to)
{
    vec3 normal = (at - ball_centre()) / radius;
    float angle = 2.0 * push.time; /* it rotates: stripes make that visible */
    vec2 turned = vec2(normal.x * cos(angle) - normal.y * sin(angle), normal.x * sin(angle) + normal.y * cos(angle));
    vec3 colour = fract(atan(turned.y, turned.x) * 5.0 / 6.2831853) < 0.5 ? vec3(0.8, 0.15, 0.1) : vec3(0.95, 0.9, 0.8);
    float shade = 0.25 + 0.75 * max(dot(normal, light), 0.0);
    return mix(shade * colour, surroundings(at, reflect(to, normal)), 0.2);
}

vec3 seen(vec2 pixel)
{
    vec2 at = (pixel - 0.5 * vec2(push.size)) / float(push.size.y);
    vec3 eye = vec3(0.0, 1.6, 0.0), to = normalize(vec3(at.x, -at.y - 0.1, 1.1));
    float distance = ball(eye, to);
    return distance > 0.0 ? ball_colour(eye + distance * to, to) : surroundings(eye, to);
}

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy;
    if (any(greaterThanEqual(pixel, push.size)))
        return;
    vec3 colour = vec3(0.0);
    for (uint i = 0u; i < 16u; i++) /* rays of a pixel: the network expects images without stairs */
        colour += seen(vec2(pixel) + (vec2(i % 4u, i / 4u) + 0.5) / 4.0) / 16.0;
    uint plane = push.size.x * push.size.y, index = pixel.y * push.size.x + pixel.x;
    for (uint c = 0u; c < 3u; c++)
        Picture(push.image).v[c * plane + index] = colour[c];
}
