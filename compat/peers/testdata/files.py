"""Serves the working directory with http.server in the version of HTTP that is
the only argument."""

import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = sys.argv[1]

    def log_message(self, format, *args):
        pass

    def end_headers(self):
        self.send_header("X-Port", str(self.client_address[1]))
        super().end_headers()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
