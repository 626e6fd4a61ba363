#!/bin/bash
# forgery.t: tests that an app's answers do nothing on the dashboard's origin; see
# dashboard.t.
BROWSER_TEST=forgery.mjs exec "$(dirname "$0")/dashboard.t"
