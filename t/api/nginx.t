#!/bin/bash
# nginx.t: tests the shipped nginx configuration with a real nginx and stand-ins
# behind it.  Runs as an ordinary user, also when started by root.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

skip() {
	if [ "${SANDLEASE_MUST_RUN:-0}" = 1 ]; then
		echo "1..1"
		echo "not ok 1 - $1"
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

command -v nginx >/dev/null || skip "nginx is not installed"
[ -e /usr/lib/nginx/modules/ngx_http_js_module.so ] ||
	skip "nginx's module js is not installed"
[ -x /usr/bin/python3 ] || skip "python3 is not installed"

# A short path, because the name of a unix socket has at most 107 bytes.
world=$(mktemp -d /tmp/sl-nginx.XXXXXX) || exit 1
trap 'rm -rf "$world"' EXIT

# The files are copied, because another user may be unable to enter the checkout.
cp -r "$top/nginx" "$top/www" "$top/t/lib" "$here"/nginx_*.py "$world" ||
	exit 1
run=()
if [ "$(id -u)" = 0 ]; then
	chown -R nobody "$world"
	run=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
cd "$world" && PYTHONDONTWRITEBYTECODE=1 "${run[@]}" /usr/bin/python3 nginx_checks.py "$world"
