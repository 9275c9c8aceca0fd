/* SPDX-License-Identifier: Apache-2.0 */
/* The unsupported methods of command lists, as functions of their first arguments: in every supported ABI the caller
 * removes the arguments, so further ones are ignored. */
#ifndef D3D12_COMMAND_LIST_STUBS_H
#define D3D12_COMMAND_LIST_STUBS_H

#define ABSENT(name)   void d3d_command_list_##name(void *iface);
#define OPTIONAL(name) void d3d_command_list_##name(void *iface, void *argument);
#include "d3d12/command_list_stubs.def"
#undef ABSENT
#undef OPTIONAL

#define ABSENT(name)   .name = (void *)d3d_command_list_##name,
#define OPTIONAL(name) .name = (void *)d3d_command_list_##name,

#endif
