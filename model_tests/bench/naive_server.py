"""What one would write first: a server of JSON-RPC 2.0 on the standard library, which answers everything with the same counters.

It keeps connections open, writes the head and the body of an answer apart, and leaves Nagle's algorithm on, as they come. It
writes its URL to standard output, and serves until it is ended.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Naive(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # the name that the library looks for
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        counters = {"created": 0, "resolved": 0, "stale": 0, "failed": 0}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": counters}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep silent."""


def main() -> None:
    """Serve on any free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Naive) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_port}/rpc\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
