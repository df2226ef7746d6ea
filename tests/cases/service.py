# An HTTP service with a thread for each request: /report is pure Python, everything else is small.
# It prints its port.
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def render_report():
    return str(sum(i * i % 7 for i in range(50000)))

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = (render_report() if self.path == "/report" else "small").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
