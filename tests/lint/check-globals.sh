#!/bin/sh
# check-globals.sh ALLOWED LIBRARY... - no writable globals but those that ALLOWED lists with a reason.
set -eu
allowed=$1
shift
# Symbols in writable sections. .data.rel.ro is const data with addresses in it: read-only once loaded.
# A local static is called name.NUMBER by the compiler, and name here.
objdump -t "$@" | awk -v allowed="$allowed" '
    BEGIN {
        while ((getline line < allowed) > 0)
            if (split(line, word, " ") >= 2 && word[1] !~ /^#/) known[word[1] " " word[2]] = 1
    }
    /file format/ { files++; file = $1; sub(/:$/, "", file); sub(/\.o$/, "", file); next }
    / \.(data|bss|tdata|tbss)[^ \t]*\t| \*COM\*\t/ && !/ \.data\.rel\.ro/ && $NF !~ /^\./ {
        symbol = $NF
        sub(/\.[0-9]+$/, "", symbol)
        if (!((file " " symbol) in known)) { print file ": writable global " symbol; bad = 1 }
    }
    END { exit bad || !files }'
