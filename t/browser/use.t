#!/bin/bash
# use.t: tests the dashboard where people stumble; see dashboard.t.
BROWSER_TEST=use.mjs exec "$(dirname "$0")/dashboard.t"
