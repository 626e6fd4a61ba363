#!/bin/bash
# Tests docs/operations.md's commands for an operator by running them: nginx with TLS,
# another class, a second sealing key, preview URLs by path.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"
. "$top_srcdir/t/lib/docs.sh"

command -v openssl >/dev/null || skip_all "openssl is not installed"
stack_begin
work=$STACK_DIR/production
mkdir -p "$work/log" "$work/tmp" && chmod 755 "$work"

call() {
	# wait: against hanging, never a measure
	curl -sS --max-time 120 -H "Authorization: Bearer $SANDLEASE_API_KEY" "$@"
}
field() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d'"' -f4; }

block() { docs_block docs/operations.md "$@"; } # LANGUAGE WORD

# ---- an operator's own class

words=$(block sh 'class add' | sed 's/^sudo sandlease-admin //')
# shellcheck disable=SC2086 # words
ok "the page's class can be added" stack_admin $words
name=$(sed -E 's/class add ([a-z]+) .*/\1/' <<<"$words")
reply=$(call "$SANDLEASE_URL/v1/sessions" -d "{\"isolation\":\"session\",\"class\":\"$name\"}")
is "$(field state <<<"$reply")" ready "a session of class $name starts"
like "$reply" '"memoryMb":\{"value":8192' "and has its limits"
id=$(field id <<<"$reply")
s=$SANDLEASE_URL/v1/sessions/$id

# ---- nginx with TLS, by the page's recipe and this stack's sockets

port=$(stack_free_port)
path_port=$(stack_free_port)
http_port=$(stack_free_port)
# The page uses the defaults for these values; a test needs its own.
listen=127.0.0.1
! grep -q '^0\{31\}1 ' /proc/net/if_inet6 2>/dev/null || listen+=' [::1]'
here=("LISTEN=$listen" "PORT=$port" "PREVIEW_PORT=$path_port" "HTTP_PORT=$http_port"
	"RUN_DIR=$STACK_RUN/run" "WWW_DIR=$STACK_STATE/www" "LOG_DIR=$work/log"
	"STATE_DIR=$work/tmp" "PID_FILE=$work/pid" USER_DIRECTIVE= "ACME_DIR=$work/acme")
# recipe prints the page's block that contains `render` and WORD, without its
# commands for the system's own nginx.
recipe() { # WORD
	block sh "$1" | sed -e 's/sudo //g' -e '/nginx -t/d' -e '/^ln /d' -e '/^autoreconf /d' -e '/make install/d' \
		-e '/migrate/d' -e '/systemctl/d' \
		-e "s|/usr/local/share/sandlease/nginx/templates|$TOP/nginx|" \
		-e "s|/etc/nginx|$work|g" -e "s|/etc/ssl/sandlease|$work|g"
}
certificate() { # NAME KEY HOST
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$work/$2" \
		-out "$work/$1" -subj "/CN=$3" -addext "subjectAltName=DNS:$3"
}
certificates() {
	certificate cert.pem key.pem sandlease.example.com &&
		certificate previews.pem previews.key '*.previews.example.net' &&
		cat "$work/cert.pem" "$work/previews.pem" >"$work/both.pem"
}
over_tls() { # HOST PATH [ARG...]; connects to $address
	call --cacert "$work/both.pem" --resolve "$1:$port:${address:-127.0.0.1}" \
		"https://$1:$port$2" "${@:3}"
}

tls_nginx() {
	as "$WEB_USER" nginx -p "$work" -e "$work/log/start.log" \
		-c "$work/sandlease/nginx.conf" "$@"
}
# Starts a second nginx beside the stack's; it must end with this test.
nginx_begin() {
	trap nginx_end_too EXIT
	tls_nginx
}
nginx_end() {
	[ ! -s "$work/pid" ] || tls_nginx -s quit
}
nginx_end_too() {
	local status=$?
	nginx_end
	(exit "$status")
	stack_end
}

ok "there are certificates" certificates
mkdir -p "$work/sandlease" "$work/acme/.well-known/acme-challenge"
echo proof >"$work/acme/.well-known/acme-challenge/token"
printf '%s\n' "${here[@]}" >"$work/sandlease/site.values"
ok "the recipe makes nginx's files" bash -e -c "$(recipe CERT=)"
chown -R "$WEB_USER" "$work" 2>/dev/null
ok "nginx accepts it" tls_nginx -t
nginx_begin

like "$(over_tls sandlease.example.com /v1/health)" '"status":"ok"' "the API answers over TLS"
like "$(over_tls sandlease.example.com /v1/health -i)" 'strict-transport-security' \
	"and wants to stay on TLS"
url=$(over_tls sandlease.example.com "/v1/sessions/$id/ports" -d '{"port": 8000}' | field url)
label=${url#*//} label=${label%%.*}
like "$(over_tls "$label.previews.example.net" /)" 'Nothing listens on port 8000' \
	"a preview below the wildcard name reaches the session"
is "$(over_tls "sandlease.example.com" / -o /dev/null -w '%{http_code}')" 200 \
	"the dashboard is there"
# this app prints its headers and redirects to the address it takes for its own
app='import http.server as h
class H(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", "http://localhost:8002/next")
        self.end_headers()
        self.wfile.write(str(self.headers).encode())
h.HTTPServer(("127.0.0.1", 8002), H).serve_forever()'
call "$s/api/process/start" -d "{\"command\": \"echo $(base64 -w0 <<<"$app") | base64 -d | python3 -\"}" >/dev/null
call -N "$s/api/port-watch" -d '{"port": 8002, "mode": "tcp"}' >/dev/null
app_url=$(over_tls sandlease.example.com "/v1/sessions/$id/ports" \
	-d '{"port": 8002, "hostname": "previews.example.net"}' | field url)
app_host=${app_url#https://} app_host=${app_host%/}
heard=$(over_tls "$app_host" / --http1.1 -i -H "Origin: https://$app_host:$port" | tr -d '\r')
like "$heard" $'\n'"Host: localhost:8002"$'\n' "the app hears that it is on localhost"
like "$heard" $'\n'"Origin: http://localhost:8002"$'\n' "and so is its own page"
like "$heard" $'\n'"X-Forwarded-Proto: https"$'\n' "with TLS before it"
like "$heard" $'\n'"X-Forwarded-Port: $port"$'\n' "on this port"
like "$heard" $'\n'"Location: https://$app_host:$port/next"$'\n' "it sends on to the public address"
is "$(grep -cF "$SANDLEASE_API_KEY" <<<"$heard")" 0 "the key is not for it"

over_http() { # HOST PATH: prints where HTTP redirects to
	curl -sS -o "$work/out" --resolve "$1:$http_port:${address:-127.0.0.1}" -w '%{http_code} %{redirect_url}' \
		"http://$1:$http_port$2"
}
is "$(over_tls sandlease.example.com /v1/health -o /dev/null -w '%{http_version}')" 2 "it is HTTP/2"
is "$(over_http sandlease.example.com /v1/health)" "308 https://sandlease.example.com/v1/health" \
	"port 80 sends one to https"
is "$(over_http "$label.previews.example.net" '/a?b')" "308 https://$label.previews.example.net/a?b" \
	"previews, too"
is "$(over_http sandlease.example.com /.well-known/acme-challenge/token)$(<"$work/out")" "200 proof" \
	"but what a certificate authority looks for is there"

if [[ $listen = *::1* ]]; then
	address='[::1]'
	is "$(over_tls sandlease.example.com /v1/health -o /dev/null -w '%{http_code} %{http_version} %{remote_ip}')" \
		"200 2 ::1" "the API answers over IPv6"
	like "$(over_tls "$label.previews.example.net" /)" 'Nothing listens on port 8000' "so do previews"
	is "$(over_http sandlease.example.com /v1/health)" "308 https://sandlease.example.com/v1/health" \
		"and port 80"
	address=
else
	skip "IPv6" "this machine has none"
fi
mkdir "$work/defaults"
ok "without addresses" sh "$TOP/nginx/render" "$work/defaults" PUBLIC_HOST=sandlease.example.com \
	PREVIEW_DOMAIN=previews.example.net "CERT=$work/cert.pem" "KEY=$work/key.pem"
is "$(grep -Eoh 'listen [^ ;]+:(443|80)\>' "$work/defaults"/*.conf | LC_ALL=C sort -u | xargs)" \
	"listen 0.0.0.0:443 listen 0.0.0.0:80 listen [::]:443 listen [::]:80" "it listens on all, IPv4 and IPv6"

# ---- an upgrade writes the files again, and keeps the operator's values

files() { (cd "$work/sandlease" && sha256sum -- *.conf *.params *.values); }
before=$(files)
echo '# edited by hand' >>"$work/sandlease/sandlease.conf"
ok "the upgrade's recipe needs no values" bash -e -c "$(recipe 'restart sandlease-api')"
is "$(files)" "$before" "names, certificates and ports are as before"
like "$(tail -n 1 "$work/sandlease/old/sandlease.conf")" 'edited by hand' "what was edited is kept"
ok "a value is changed by giving it once" sh "$TOP/nginx/render" "$work/sandlease" KEY_MAX=7
ok "and is kept" sh "$TOP/nginx/render" "$work/sandlease"
like "$(grep sandlease_key "$work/sandlease/limits.conf")" ' 7;' "for good"
ok "nginx accepts it" tls_nginx -t
for bad in oops =x 'W/x=1' 'e; s/=1'; do
	is "$(sh "$TOP/nginx/render" "$work/sandlease" "$bad" 2>&1)" "render: not NAME=value: $bad" "a bad argument is named: $bad"
done
like "$(sh "$TOP/nginx/render" "$work/sandlease" CRET=x 2>&1)" 'no value CRET' "so is a name that is none"
nginx_end

# ---- the last release kept no values: operators edited its files by hand

# Makes files as the last release's README said: filled templates, and
# certificates added to the servers.
last_release_files() {
	mkdir "$work/last" && git -C "$TOP" archive "$last" nginx | tar -xf - -C "$work/last" &&
		sh "$work/last/nginx/render" "$work/sandlease" LISTEN=127.0.0.1 "${here[@]}" PUBLIC_HOST=sandlease.example.com \
			PREVIEW_DOMAIN=previews.example.net WORKERS=1 &&
		sed -i -e "s|listen 127.0.0.1:$port.*|listen 127.0.0.1:$port ssl; ssl_certificate $work/cert.pem;\
			ssl_certificate_key $work/key.pem;|" "$work/sandlease/sandlease.conf"
}
upgrade_from_last() {
	rm -rf "$work/sandlease"
	ok "the last release makes its files" last_release_files
	ok "nginx accepts them" tls_nginx -t
	local before out
	before=$(cd "$work/sandlease" && sha256sum -- *)
	out=$(sh "$TOP/nginx/render" "$work/sandlease" 2>&1)
	is "$? $(cd "$work/sandlease" && sha256sum -- *)" "1 $before" "without values nothing is changed"
	like "$out" 'PUBLIC_HOST is neither given nor in .*sandlease/site.values' "and it says which one is missing"
	printf '%s\n' "${here[@]}" >"$work/sandlease/site.values"
	ok "with them, given once, it upgrades" bash -e -c "$(recipe CERT=)"
	ok "nginx accepts that" tls_nginx -t
	like "$(<"$work/sandlease/old/sandlease.conf")" 'ssl_certificate_key' "what was edited is kept"
	nginx_begin
	like "$(over_tls sandlease.example.com /v1/health)" '"status":"ok"' "the API answers over TLS"
	nginx_end
}
last=$("$TOP/t/lib/last-release")
if [ -n "$last" ]; then
	upgrade_from_last
else
	skip "the last release's files" "there is no history to take them from"
fi

# ---- a browser takes the page's two names for two sites

checked() { # PREVIEW_BASE: prints the output of --check, without lines about the kernel
	{
		grep -vE '^(public_url|preview_base)' "$SANDLEASE_CONFIG"
		grep -m 1 '^public_url = ' "$TOP/docs/operations.md"
		printf 'preview_base = %s\n' "$1"
	} >"$work/checked.conf"
	"$top_builddir/sandlease-api" --config "$work/checked.conf" --check 2>&1 |
		grep -v 'should be at least'
}
is "$(checked "$(sed -n 's/^preview_base = //p' "$TOP/docs/operations.md" | head -n 1)")" "" \
	"--check has nothing to say of the page's domains"
like "$(checked https://previews.example.com)" "warning: preview_base .* example.com" \
	"but warns of previews on the dashboard's site"

# ---- --check, and a start, say what is missing

# broken SETTING VALUE: prints what --check says of this setting, and its exit
# status.
broken() {
	grep -v "^$1 " "$SANDLEASE_CONFIG" >"$work/broken.conf"
	printf '%s = %s\n' "$1" "$2" >>"$work/broken.conf"
	"$top_builddir/sandlease-api" --config "$work/broken.conf" --check 2>&1
	echo "status $?"
}
like "$(broken seal_key_file "$work/none.keys")" "none.keys: No such file.*status 1" "no seal key"
like "$(broken run_dir "$work/none/run")" "cannot make directory .*none/run.*status 1" "no run_dir"
like "$(broken database "host=$STACK_RUN/pg dbname=nothing_here user=sandlease passfile=$STACK_STATE/etc/pgpass")" 'nothing_here" does not exist.*status 1' \
	"no such database"
like "$(broken agent_path "$work/none")" "agent_path .*none.*status 1" "no agent"
broken seal_key_file "$work/none.keys" >/dev/null
like "$(timeout "$PATIENCE" "$top_builddir/sandlease-api" --config "$work/broken.conf" 2>&1; echo "status $?")" \
	"none.keys: No such file.*status 1" "without its seal key the service does not start"

# ---- previews by path, on port 8081 as the page says

like "$(curl -sS "http://localhost:$STACK_PREVIEW_PORT/p/$label/")" \
	'Nothing listens on port 8000' "the path form reaches the same port"

# ---- a second sealing key, before the first

rotate() {
	local keys=$STACK_STATE/etc/seal.keys new=$STACK_STATE/etc/new.keys
	stack_admin seal-key "$new" &&
		as "$SVC_USER" sh -c "cat '$keys' >>'$new' && mv '$new' '$keys'" &&
		api_stop && api_start
}
ok "a new key is put in front and the workers restarted" rotate
is "$(call "$s/ports" | field url)" "$url" "what the old key sealed still opens"
is "$(call "$s/ports" -d '{"port": 8001}' -o /dev/null -w '%{http_code}')" 201 \
	"and the new one seals"

is "$(call -X DELETE "$s" | field state)" deleted "nothing is left"

done_testing
