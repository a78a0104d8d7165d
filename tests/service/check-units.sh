#!/bin/sh
# check-units.sh BUILD - the installed units are valid, and the service is shut in: `systemd-analyze security` says at
# most 2.0. 77: no systemd here.
set -eu
build=$(realpath "$1")
command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze" >&2; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root cmake --install "$build" >"$root/log" || { cat "$root/log" >&2; exit 1; }
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
units=$root$prefix/lib/systemd/system

# Programs and manual pages are in $root, and what other units need is not: only our files count.
for unit in sluiced.service sluiced.socket sluiced-admin.socket; do
    [ -f "$units/$unit" ] || { echo "not installed: $unit" >&2; exit 1; }
    sed -e "s#=$prefix/#=$root$prefix/#" -e '/^Documentation=/d' "$units/$unit" >"$root/$unit"
done
! grep -n '@[a-z]*@' "$root"/*.s* || exit 1
complaints=$(SYSTEMD_LOG_LEVEL=notice systemd-analyze verify --man=no "$root"/sluiced.service "$root"/*.socket 2>&1) &&
    [ -z "$complaints" ] || { echo "$complaints" >&2; exit 1; }

level=$(systemd-analyze security --offline=yes --no-pager "$root/sluiced.service" |
    sed -n 's/.*Overall exposure level for sluiced.service: \([0-9.]*\) .*/\1/p')
echo "systemd-analyze security: $level"
[ -n "$level" ] && awk "BEGIN { exit !($level <= 2.0) }" || { echo "expected at most 2.0" >&2; exit 1; }
