#!/bin/bash
# What the README tells an operator to type, typed: nginx with TLS, another
# class, a second sealing key, preview URLs by path.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

command -v openssl >/dev/null || skip_all "openssl is not installed"
stack_begin
work=$STACK_DIR/production
mkdir -p "$work/log" "$work/tmp" && chmod 755 "$work"

call() {
	# wait: against hanging, never a measure
	curl -sS --max-time 120 -H "Authorization: Bearer $SANDLEASE_API_KEY" "$@"
}
field() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d'"' -f4; }

# block LANGUAGE WORD: the README's first such block that has WORD in it
block() {
	awk -v start="\`\`\`$1" -v word="$2" '
		!on && $0 == start { on = 1; text = ""; next }
		on && /^```/ { on = 0; if (index(text, word)) { printf "%s", text; exit } next }
		on { text = text $0 "\n" }
	' "$TOP/README.md"
}

# ---- a class of the operator's own

words=$(block sh 'class add' | sed 's/^sudo sandlease-admin //')
# shellcheck disable=SC2086 # words
ok "the README's class can be added" stack_admin $words
name=$(sed -E 's/class add ([a-z]+) .*/\1/' <<<"$words")
reply=$(call "$SANDLEASE_URL/v1/sessions" -d "{\"isolation\":\"session\",\"class\":\"$name\"}")
is "$(field state <<<"$reply")" ready "a session of class $name starts"
like "$reply" '"memoryMb":\{"value":8192' "and has its limits"
id=$(field id <<<"$reply")
s=$SANDLEASE_URL/v1/sessions/$id

# ---- nginx with TLS, by the README's recipe and this stack's sockets

port=$(stack_free_port)
path_port=$(stack_free_port)
recipe() {
	block sh templates/render | sed -e 's/sudo //g' \
		-e "s|/usr/local/share/sandlease/nginx/templates|$TOP/nginx|" \
		-e "s|/usr/local/share/sandlease/www|$STACK_STATE/www|" \
		-e "s|/run/sandlease|$STACK_RUN/run|" \
		-e "s|/etc/nginx|$work|g" -e "s|/var/log/nginx|$work/log|" \
		-e "s|/var/lib/nginx|$work/tmp|" -e "s|/run/nginx.pid|$work/pid|" \
		-e "s/0\.0\.0\.0/127.0.0.1/g" -e "s/'user www-data;'/''/" \
		-e "s/\b443\b/$port/g" -e "s/\b8081\b/$path_port/g"
}
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$work/key.pem" \
		-out "$work/cert.pem" -subj /CN=sandlease.example.com -addext \
		'subjectAltName=DNS:sandlease.example.com,DNS:*.previews.example.net'
}
# "add ssl_certificate and ssl_certificate_key to the first three servers"
add_certificate() {
	sed -i "s|^\tlisten .* ssl.*|&\n\tssl_certificate $work/cert.pem;\n\tssl_certificate_key $work/key.pem;|" \
		"$work/sandlease/sandlease.conf"
}
over_tls() { # HOST PATH [ARG...]
	call --cacert "$work/cert.pem" --resolve "$1:$port:127.0.0.1" \
		"https://$1:$port$2" "${@:3}"
}

tls_nginx() {
	as "$WEB_USER" nginx -p "$work" -e "$work/log/start.log" \
		-c "$work/sandlease/nginx.conf" "$@"
}
# A second nginx beside the stack's, which must not outlive us either.
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

ok "the recipe fills in the templates" bash -e -c "$(recipe)"
ok "there is a certificate" certificate
is "$(grep -cE '^\s+listen .* ssl' "$work/sandlease/sandlease.conf")" 3 \
	"three servers listen with TLS"
add_certificate
chown -R "$WEB_USER" "$work" 2>/dev/null
ok "nginx accepts it" tls_nginx -t
nginx_begin

like "$(over_tls sandlease.example.com /v1/health)" '"status":"ok"' "the API answers over TLS"
like "$(over_tls sandlease.example.com /v1/health -i)" 'Strict-Transport-Security' \
	"and wants to stay on TLS"
url=$(over_tls sandlease.example.com "/v1/sessions/$id/ports" -d '{"port": 8000}' | field url)
label=${url#*//} label=${label%%.*}
like "$(over_tls "$label.previews.example.net" /)" 'Nothing listens on port 8000' \
	"a preview below the wildcard name reaches the session"
is "$(over_tls "sandlease.example.com" / -o /dev/null -w '%{http_code}')" 200 \
	"the dashboard is there"
nginx_end

# ---- the README's names are two sites to a browser

checked() { # PREVIEW_BASE: what --check says
	{
		grep -vE '^(public_url|preview_base)' "$SANDLEASE_CONFIG"
		grep -m 1 '^public_url = ' "$TOP/README.md"
		printf 'preview_base = %s\n' "$1"
	} >"$work/checked.conf"
	"$top_builddir/sandlease-api" --config "$work/checked.conf" --check 2>&1
}
is "$(checked "$(sed -n 's/^preview_base = //p' "$TOP/README.md" | head -n 1)")" "" \
	"--check has nothing to say of the README's domains"
like "$(checked https://previews.example.com)" "warning: preview_base .* example.com" \
	"but warns of previews on the dashboard's site"

# ---- previews by path, for whom the README sends to port 8081

like "$(curl -sS "http://localhost:$STACK_PREVIEW_PORT/p/$label/")" \
	'Nothing listens on port 8000' "the path form reaches the same port"

# ---- a second sealing key, in front

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
