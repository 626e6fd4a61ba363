#!/bin/bash
# apps.t: tests development servers as people start them, behind a preview with a
# real domain: they answer, hot reload works, and frameworks' checks pass.
#
# Vite and webpack-dev-server are installed from the lock file beside this, once
# per machine (node_directory in t/lib/node.sh), 78 MB; both run their compilers
# as WebAssembly, so that the lock file is the same for every machine.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$(node_directory "$here")}

# a sandbox sees only the programs in /usr; these versions run with Debian's Node
[ -x /usr/bin/node ] || skip_all "node is not in /usr/bin"
node_install "$here" "$SANDLEASE_NODE_DIR" || skip_all "Vite cannot be installed"
/usr/bin/python3 -c 'import django' 2>/dev/null || skip_all "Django is not installed"
exec "$top/t/lib/stack.sh" with /usr/bin/python3 -B "$here/app_checks.py"
