"""client.py - classifies and completes with a running daemon; needs nothing but Python.

    python3 client.py [http://127.0.0.1:8080]
"""
import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"


def post(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


print(post("/predict", {"inputs": "A wonderful film."}))
print(post("/v1/completions", {"model": "shakespeare", "prompt": "ROMEO:", "max_tokens": 40})
      ["choices"][0]["text"])
