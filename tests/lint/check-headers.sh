#!/bin/sh
# check-headers.sh CC TOP - each header compiles alone, so that no file depends on the order of its includes. The build
# has shown it of those that a .c file of the same name includes first.
set -eu
compiler=$1
cd "$2"
status=0
# Headers of vector helpers, like the files that include them, may use what their folder may.
# Those of another processor are left out.
case $(uname -m) in
x86_64) foreign='*_neon.h' wide='-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mavx512vnni -mavxvnni -mamx-tile -mamx-bf16 -mamx-int8' ;;
*) foreign='*_avx*.h' wide= ;;
esac
# shown HEADER
shown() {
    [ -e "${1%.h}.c" ] || return 1
    first=$(sed -n '/^#include/{s/.*["<]\(.*\)[">].*/\1/p;q}' "${1%.h}.c")
    case $1 in */"$first") return 0 ;; *) return 1 ;; esac
}
for header in $(find include engine server clients tests -name '*.h' ! -name "$foreign" | sort); do
    shown "$header" && continue
    case $header in engine/kernels/*) isa=$wide ;; *) isa= ;; esac
    printf '#include "%s"\nextern int no_empty_unit;\n' "$header" |
        "$compiler" -std=gnu17 -D_GNU_SOURCE= -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
            -iquote . -iquote tests -iquote server -iquote clients -Iinclude -Iengine $isa -x c - ||
        { echo "$header does not stand alone" && status=1; }
done
exit $status
