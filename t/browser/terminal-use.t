#!/bin/bash
# terminal-use.t: tests windows, keys, mouse and clipboard of the dashboard's
# terminal; see dashboard.t.
BROWSER_TEST=terminal-use.mjs exec "$(dirname "$0")/dashboard.t"
