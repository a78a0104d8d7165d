#!/bin/sh
# check-format.sh TOP - clang-format 14 would change nothing. Exits with 77 where it is not installed.
set -eu
cd "$1"
format=
for name in clang-format-14 clang-format; do
    command -v "$name" >/dev/null 2>&1 && "$name" --version | grep -q ' version 14\.' && format=$name && break
done
if [ -z "$format" ]; then
    echo "clang-format 14 is not installed (other versions lay out differently)"
    exit 77
fi
# Says where, and how to mend it: clang-format -i FILE.
find include engine server clients tests -name '*.[ch]' -print0 |
    xargs -0 "$format" --dry-run -Werror
