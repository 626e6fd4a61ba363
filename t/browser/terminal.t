#!/bin/bash
# terminal.t: tests tickets and terminals in a browser; see dashboard.t.
BROWSER_TEST=terminal.mjs exec "$(dirname "$0")/dashboard.t"
