/*
 * AnyDML itself: its version, and the environment variables that its libraries read once, when first used.
 * Programs need this header only to know which AnyDML they are compiled with; everything else is DirectML.h,
 * anydml_d3d12.h and anydml_dxcore.h.
 *
 *   ANYDML_LOG=none|error|warn|info|debug|trace  what is written to stderr; default: warn
 *   ANYDML_THREADS=n                             worker threads of the cpu adapter; default: one per processor
 *   ANYDML_CPU_FLAGS=name,name                   instruction sets that may be used ("none": portable code only), as
 *                                                the anydml command lists them; default: all that the processor has
 *   ANYDML_ADAPTERS=cpu,vulkan,null              which adapters are listed, and in which order; default: cpu,vulkan
 */
#ifndef ANYDML_H
#define ANYDML_H

#define ANYDML_VERSION_MAJOR 0
#define ANYDML_VERSION_MINOR 1
#define ANYDML_VERSION_PATCH 0

/* One number to compare with, as 0xMMmmpp. */
#define ANYDML_VERSION ((ANYDML_VERSION_MAJOR << 16) | (ANYDML_VERSION_MINOR << 8) | ANYDML_VERSION_PATCH)

#endif
