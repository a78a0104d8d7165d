#!/bin/sh
# triton.sh - tritonclient, unmodified, against sluiced.
#
#     triton.sh SLUICED MODELS [FOLDER]
#
# MODELS is a store with the model `sentiment`. The client is installed into FOLDER, by default
# `triton` beside the daemon. Exits with 77 when Python, venv or the registry is not available.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sluiced=$(realpath "$1")
models=$(realpath "$2")
folder=${3:-$(dirname "$sluiced")/triton}
client='tritonclient[http]==2.73.0'

. "$here/venv.sh"
venv "$folder" "$client"
exec "$folder/bin/python" "$here/triton.py" "$sluiced" "$models"
