"""``operate.py PORT VERB [TYPE]``: asks the test process that listens there to do what an operator does."""

import sys
from http.client import HTTPConnection
from urllib.parse import quote

port, *words = sys.argv[1:]
connection = HTTPConnection("127.0.0.1", int(port), timeout=100)
connection.request("POST", "/" + "/".join(quote(word, safe="") for word in words))
answer = connection.getresponse()
sys.exit(0 if answer.status == 200 else f"{answer.status} {answer.reason}")
