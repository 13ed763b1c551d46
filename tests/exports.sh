#!/usr/bin/env bash
# What is visible of shared libraries is what public headers declare, and what other parts of Calder are allowed; every header can be
# included alone, from C and from C++: exports.sh SOURCE BUILD CC [CXX]
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mpi_flags=()
if [[ -e $build/python/calder/libcalder_mpi.so ]]; then
    read -r -a mpi_flags <<< "$(sed -n 's/^Cflags: -I${includedir}//p' "$build/pkgconfig/calder_mpi/calder-mpi.pc")"
fi
headers=()
for header in "$source"/include/calder/*.h; do
    [[ $header != *_mpi.h || ${#mpi_flags[@]} -gt 0 ]] && headers+=("$header")
done
for header in "${headers[@]}"; do
    strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$source/include")
    for folder in ${mpi_flags[@]+"${mpi_flags[@]}"}; do strict+=(-isystem "${folder#-I}"); done
    echo "#include <calder/$(basename "$header")>" > "$work/alone.c"
    "$cc" -std=c17 "${strict[@]}" "$work/alone.c"
    [[ -z $cxx ]] || "$cxx" -std=c++11 "${strict[@]}" -x c++ "$work/alone.c"
done

# Functions that the headers declare: what stands before a parenthesis at the beginning of a declaration, types of functions aside.
for header in "${headers[@]}"; do
    [[ $header == *_cuda.h && ! -e $build/python/calder/libcalder_cuda.so ]] || echo "#include <calder/$(basename "$header")>"
done > "$work/all.c"
"$cc" -E -P -I "$source/include" ${mpi_flags[@]+"${mpi_flags[@]}"} "$work/all.c" | grep -v '^#' | tr '\n' ' ' | sed 's/__attribute__((format([^)]*)))//g; s/[;{}]/\n/g' |
    grep -v '^ *typedef\|static inline' | sed -n 's/^ *[A-Za-z_][A-Za-z0-9_ *]*[ *]\(cal_[a-z0-9_]*\) *(.*/\1/p' | sort -u > "$work/declared"
test "$(wc -l < "$work/declared")" -gt 100

for library in "$build"/python/calder/libcalder*.so; do
    nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | grep -v '@@*CALDER_PRIVATE$' | sed 's/@.*//'
done | sort -u > "$work/visible"
if ! diff "$work/declared" "$work/visible" > "$work/differences"; then
    echo "public headers declare (<) what libraries do not show, or the libraries show (>) what no public header declares:" >&2
    grep '^[<>]' "$work/differences" >&2
    exit 1
fi
echo "$(wc -l < "$work/visible") functions are declared and visible"
