"""queries.py: measures requests that read rows, over one connection.

    queries.py COUNT PATH

Prints "p50 p99" in milliseconds of COUNT requests, after as many that warm the workers.
"""
import http.client
import os
import statistics
import sys
import time


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    conn = http.client.HTTPConnection(os.environ["SANDLEASE_URL"].split("//")[1])
    headers = {"Authorization": "Bearer " + os.environ["SANDLEASE_API_KEY"]}
    times = []
    for _ in range(2 * count):
        began = time.perf_counter()
        conn.request("GET", path, None, headers)
        r = conn.getresponse()
        text = r.read()
        times.append((time.perf_counter() - began) * 1000)
        if r.status != 200:
            raise SystemExit("GET %s: %d %s" % (path, r.status, text[:500]))
    times = sorted(times[count:])
    print("%.1f %.1f" % (statistics.median(times), times[int(len(times) * .99)]))


main()
