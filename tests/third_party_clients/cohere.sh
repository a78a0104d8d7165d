#!/bin/sh
# cohere.sh - the `cohere` client for Python, unmodified, against sluiced.
#
#     cohere.sh SLUICED MODEL [FOLDER]
#
# MODEL is a directory with a reranker. The client is installed into FOLDER, by default `cohere` beside the daemon. Exits
# with 77 when Python, venv or the registry is not available.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sluiced=$(realpath "$1")
model=$(realpath "$2")
folder=${3:-$(dirname "$sluiced")/cohere}

. "$here/venv.sh"
venv "$folder" cohere==7.3.1
exec "$folder/bin/python" "$here/cohere_client.py" "$sluiced" "$model"
