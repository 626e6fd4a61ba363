#!/bin/bash
# previews.t: tests preview URLs as a browser and an attacker use them.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"
stack_begin
/usr/bin/python3 "$here/preview_checks.py"
