#!/bin/sh
# openai_client.sh - the `openai` client for Python, unmodified, against sluiced.
#
#     openai_client.sh SLUICED SLUICE [FOLDER]
#
# The client is installed into FOLDER, by default `openai` beside the daemon. Exits with 77 when Python, venv or the
# registry is not available.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sluiced=$(realpath "$1")
sluice=$(realpath "$2")
folder=${3:-$(dirname "$sluiced")/openai}

. "$here/venv.sh"
venv "$folder" openai==3.51.0
exec "$folder/bin/python" "$here/openai_client.py" "$sluiced" "$sluice"
