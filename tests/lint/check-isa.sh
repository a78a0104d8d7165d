#!/bin/sh
# check-isa.sh LIBRARY... - vector instructions stay in the files named after them: elsewhere they
# would run on processors that lack them.
set -eu
objdump -d --no-show-raw-insn "$@" | awk '
    function report(what) {
        if (!seen[file what]++) print file ": " what ": " $0
        bad = 1
    }
    /file format/ { file = $1; sub(/:$/, "", file); files++; next }
    file ~ /^amx/ { next }
    /[%,(]tmm[0-7]/ || /\ttile|\tldtilecfg/ { report("AMX") }
    file ~ /^avx512/ { next }
    /%zmm[0-9]|%k[0-7]/ { report("AVX-512") }
    file ~ /^avx2/ { next }
    # Every AVX instruction begins with v; so do verr, verw and the virtualisation ones, which a program has no use for.
    /^ +[0-9a-f]+:\tv[a-z]/ { report("AVX") }
    END { exit bad || !files }'
