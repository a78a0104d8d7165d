"""openapi_contract.py - what an OpenAPI document says of a request and its response, and a proxy that checks both.

    openapi_contract.py PORTS URL...

For each daemon's listener a proxy before it; their ports are lines of the file PORTS. A breach of the listener's own
/openapi.json becomes the response, with status 500. Schemas of responses are closed here: a member that the document
does not name is a breach. Clients need not be so strict."""

import copy
import http.client
import json
import os
import re
import sys
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012


class Breach(Exception):
    """The document and the daemon disagree."""


class Contract:
    def __init__(self, document):
        self.document = copy.deepcopy(document)
        for schema in self.document["components"]["schemas"].values():
            if schema.get("type") == "object" and "properties" in schema:
                schema.setdefault("additionalProperties", False)
        resource = Resource.from_contents(self.document, default_specification=DRAFT202012)
        self.registry = Registry().with_resource("urn:api", resource)
        self.templates = []
        for path in self.document["paths"]:
            pattern = "/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/"))
            self.templates.append((path.count("{"), re.compile(pattern + "/?" * path.startswith("/v2")), path))
        self.templates.sort(key=lambda template: template[0])  # words before parameters

    def check_value(self, what, schema, value):
        """Raises if the value does not fit the schema, whose references are into the document."""
        schema = json.loads(json.dumps(schema).replace('"#/', '"urn:api#/'))
        error = best_match(Draft202012Validator(schema, registry=self.registry).iter_errors(value))
        if error:
            raise Breach(f"{what}: {error.json_path}: {error.message[:500]}")

    def operation(self, method, path):
        """The path's template and its operation; None: there is none."""
        method = "get" if method == "HEAD" else method.lower()
        for _, pattern, template in self.templates:
            if pattern.fullmatch(path):
                return template, self.document["paths"][template].get(method)
        return path, None

    def check_request(self, method, target, headers, body):
        path, _, query = target.partition("?")
        template, operation = self.operation(method, path)
        if not operation:
            raise Breach(f"{method} {path} is not in the document")
        what = f"{method} {template}"
        known = {(p["in"], p["name"].lower()) for p in operation["parameters"]}
        for name, _ in urllib.parse.parse_qsl(query):
            if ("query", name) not in known:
                raise Breach(f"{what}: the query parameter {name} is not in the document")
        described = operation.get("requestBody")
        if body and not described and body != b"{}":
            raise Breach(f"{what}: a body is not in the document")
        if described and described["required"] and not body:
            raise Breach(f"{what}: the document requires a body")
        media = headers.get("Content-Type", "application/json").partition(";")[0]
        content = described["content"] if described else {}
        if not described:
            return
        if body and media != "multipart/form-data" and "Inference-Header-Content-Length" not in headers:
            self.check_value(f"{what}, request", content["application/json"]["schema"], json.loads(body))
        elif body and media not in content:
            raise Breach(f"{what}: {media} is not in the document")

    def check_response(self, method, target, status, media, body):
        template, operation = self.operation(method, target.partition("?")[0])
        what = f"{method} {template}, response {status}"
        response = operation["responses"].get(str(status))
        if not response:
            raise Breach(f"{what} is not in the document")
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        content = response.get("content", {})
        media = (media or "").partition(";")[0]
        if not body:
            return
        if media not in content and "*/*" not in content:
            raise Breach(f"{what}: {media} is not in the document")
        if media == "text/event-stream":
            self.check_events(what, content["application/json"]["schema"], body.decode())
        elif media.endswith("json"):
            self.check_value(what, content[media]["schema"], json.loads(body))
        elif media == "text/plain":
            body.decode()

    def check_events(self, what, schema, text):
        """Each event is what the whole response is, or an item of it if that is a list."""
        name = schema["$ref"].rpartition("/")[2]
        data = self.document["components"]["schemas"][name]["properties"].get("data")
        for line in text.splitlines():
            if line.startswith("data: {"):
                self.check_value(f"{what}, event", data["items"] if data else schema, json.loads(line[6:]))

    @classmethod
    def of(cls, url):
        with urllib.request.urlopen(url + "/openapi.json", timeout=10) as response:
            return cls(json.load(response))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    contract = host = port = None

    def log_message(self, format, *args):
        pass

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def forward(self, body):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        ours = ("transfer-encoding", "expect", "content-length", "connection")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ours}
        if body or self.command not in ("GET", "HEAD"):
            headers["Content-Length"] = str(len(body))
        connection.request(self.command, self.path, body or None, headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response, answer

    def respond(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self):
        body = self.read_body()
        response, received = self.forward(body)
        try:
            if response.status < 400:
                self.contract.check_request(self.command, self.path, self.headers, body)
            media = response.headers.get("Content-Type")
            self.contract.check_response(self.command, self.path, response.status, media, received)
        except (Breach, ValueError, KeyError) as breach:
            text = json.dumps({"error": {"message": f"{type(breach).__name__}: {breach}"}})
            print(text, file=sys.stderr, flush=True)
            self.respond(500, [("Content-Type", "application/json")], text.encode())
            return
        self.respond(response.status, response.getheaders(), received)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer


def main():
    servers = []
    for url in sys.argv[2:]:
        to = urllib.parse.urlsplit(url)
        attributes = {"contract": Contract.of(url), "host": to.hostname, "port": to.port}
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), attributes))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
    with open(sys.argv[1] + ".new", "w") as ports:
        ports.writelines(f"{server.server_port}\n" for server in servers)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    threading.Event().wait()


if __name__ == "__main__":
    main()
