# client.py PORT PATH: asks a service of this host again and again.
import http.client
import sys

while True:
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.request("GET", sys.argv[2])
    connection.getresponse().read()
    connection.close()
