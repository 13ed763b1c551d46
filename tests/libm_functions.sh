#!/bin/sh
# The library calls no function of libm whose last bits are the C library's choice, and has no instruction that compilers fuse by themselves:
# libm_functions.sh LIBRARY CC
set -eu
exact='fma|fmin|fmax|floor|ceil|trunc|round|rint|nearbyint|ldexp|frexp|scalbn|nextafter|sqrt|copysign|fabs|fmod|modf|lround|llround'
known=$(nm -D --defined-only "$("$2" -print-file-name=libm.so.6)" | awk '{sub(/@.*/, "", $3); print $3}')
test -n "$known"
found=$(nm -A -u "$1" | sed 's/:/ /g' | awk -v known="$known" -v exact="^($exact)f?\$" '
    BEGIN { count = split(known, names, "\n"); for (i = 1; i <= count; i++) is[names[i]] = 1 }
    ($NF in is) && $NF !~ exact { print $(NF - 2) ": " $NF }')
if echo "$found" | grep .; then exit 1; fi
# gcc's vectoriser fuses products with alternating sums and differences, which changes bits and is in no source.
if command -v objdump > /dev/null && objdump -d --no-show-raw-insn "$1" | grep -E -m 5 'vfm(addsub|subadd)'; then
    echo "the compiler has fused what the source does not" >&2
    exit 1
fi
echo "no function of libm decides bits"
