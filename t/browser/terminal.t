#!/bin/bash
# terminal.t: tickets and terminals as a browser has them; see dashboard.t.
BROWSER_TEST=terminal.mjs exec "$(dirname "$0")/dashboard.t"
