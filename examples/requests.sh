#!/bin/sh
# requests.sh - one request of each kind to a running daemon: sh requests.sh [http://127.0.0.1:8080]
set -eu
url=${1:-http://127.0.0.1:8080}

curl -sS --fail-with-body "$url/v1/models"
curl -sS --fail-with-body "$url/v1/completions" -H 'content-type: application/json' \
    -d '{"model":"shakespeare","prompt":"ROMEO:","max_tokens":40}'
curl -sS --fail-with-body "$url/predict" -H 'content-type: application/json' -d '{"inputs":"A wonderful film."}'
