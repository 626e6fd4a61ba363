#!/bin/bash
# use.t: what people stumble over in the dashboard; see dashboard.t.
BROWSER_TEST=use.mjs exec "$(dirname "$0")/dashboard.t"
