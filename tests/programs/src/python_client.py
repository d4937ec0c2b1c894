# Asks a server on this machine for its pages, one after the other.
import http.client
import itertools
import sys
import time

for number in itertools.count():
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
        connection.request("GET", ["/", "/json/50"][number % 2])
        connection.getresponse().read()
        connection.close()
    except OSError:
        time.sleep(0.1)
