#!/bin/sh
# check-format.sh TOP - clang-format would change nothing. Version 14 decides: others lay out some lines
# differently. Where another one finds nothing to change that is as good; where it does, it is not
# known which is right, and the exit code is 77.
set -eu
cd "$1"
files=$(find include engine server clients tests -name '*.[ch]')
decides=
format=
for name in clang-format-14 clang-format; do
    command -v "$name" >/dev/null 2>&1 || continue
    format=${format:-$name}
    "$name" --version | grep -q ' version 14\.' && decides=1 format=$name && break
done
if [ -z "$format" ]; then
    echo "SKIPPED: clang-format is not installed"
    exit 77
fi
# Says where, and how to mend it: clang-format -i FILE.
# shellcheck disable=SC2086 # a list of files without blanks
if [ "$decides" ]; then
    exec "$format" --dry-run -Werror $files
fi
# shellcheck disable=SC2086
"$format" --dry-run -Werror $files 2>/dev/null && exit
echo "SKIPPED: version 14 decides, and $("$format" --version) would change some of the files"
exit 77
