#!/bin/sh
# huggingface_hub.sh - the InferenceClient of `huggingface_hub`, unmodified, against sluiced.
#
#     huggingface_hub.sh SLUICED MODELS [FOLDER]
#
# MODELS is tests/golden/pretrained. The client is installed into FOLDER, by default `huggingface_hub` beside the daemon.
# Exits with 77 when Python, venv or the registry is not available.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sluiced=$(realpath "$1")
models=$(realpath "$2")
folder=${3:-$(dirname "$sluiced")/huggingface_hub}

. "$here/venv.sh"
venv "$folder" huggingface_hub==2.4.0 numpy
exec "$folder/bin/python" "$here/huggingface_hub_client.py" "$sluiced" "$models"
