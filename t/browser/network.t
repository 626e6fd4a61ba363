#!/bin/bash
# network.t: tests the network of sessions in the dashboard; see dashboard.t.
STACK_EGRESS=yes BROWSER_TEST=network.mjs exec "$(dirname "$0")/dashboard.t"
