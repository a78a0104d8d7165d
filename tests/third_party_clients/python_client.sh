#!/bin/sh
# python_client.sh - a third-party client for Python, unmodified, against sluiced.
#
#     python_client.sh CLIENT.py SLUICED ARGUMENT...
#
# The packages in the head of CLIENT.py are installed into a folder of its name beside the daemon. It runs with SLUICED
# and the arguments. Exits with 77 when Python, venv or the registry is not available.
set -eu

client=$(realpath "$1")
sluiced=$(realpath "$2")
shift 2
folder=$(dirname "$sluiced")/$(basename "$client" .py)

. "$(dirname "$client")/venv.sh"
venv "$folder" $(sed -n 's/^#     "\(.*\)",$/\1/p' "$client")
exec "$folder/bin/python" -B "$client" "$sluiced" "$@"
