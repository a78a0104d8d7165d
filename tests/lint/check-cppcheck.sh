#!/bin/sh
# check-cppcheck.sh [JOBS] - cppcheck's findings in the programs; status 1 if there are any.
#
# What it is told not to look for, gcc and clang's analyzer find with fewer mistakes: version 2.10 takes an array that a
# loop fills for uninitialized, and an address in a struct of the caller's for one that outlives the call.
set -eu
exec cppcheck --enable=warning,performance,portability --inline-suppr --error-exitcode=1 --quiet --std=c11 -j "${1:-1}" \
    -Iinclude -Iengine -Iserver -Iclients --library=tests/lint/cppcheck.cfg \
    --suppress=missingIncludeSystem '--suppress=invalidPointerCast:engine/kernels/*' \
    --suppress=uninitvar --suppress=legacyUninitvar --suppress=autoVariables \
    engine server clients
