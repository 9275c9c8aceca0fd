# SPDX-License-Identifier: Apache-2.0
# kernels/core/mapops.def -> the numbers of enum kern_map_code for shaders, and a case for each expression.
/^MAP(OP|EXPR|TRUTH)\(/ {
    split($0, part, /[(,]/)
    print "#define KERN_MAP_" part[2] " " count++
    expr = $0
    sub(/^[^,]*,[^,]*,[^,]*, */, "", expr)
    sub(/\)( *\/\*.*)?$/, "", expr)
    if (part[1] == "MAPEXPR")
        exprs = exprs " \\\n    case KERN_MAP_" part[2] ": { precise REAL y = REAL(" expr "); return y; }"
    if (part[1] == "MAPTRUTH")
        truths = truths " \\\n    case KERN_MAP_" part[2] ": return truth(" expr ", REAL(1));"
}
END {
    print "#define MAP_EXPRS" exprs
    print "#define MAP_TRUTHS" truths
}
