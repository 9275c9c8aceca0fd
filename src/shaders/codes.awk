# SPDX-License-Identifier: Apache-2.0
# kernels/mapops.def -> the numbers of enum kern_map_code for shaders.
/^MAPOP\(/ {
    split($0, part, /[(,]/)
    print "#define KERN_MAP_" part[2] " " count++
}
