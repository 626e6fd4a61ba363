#!/bin/bash
# Tests ports: a row asks its relay for a change until the relay has confirmed; and
# revocations.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"

expose() { # ID PORT HASH [ONLY_NEW [SECONDS [HOST [BASE_URL]]]]
	q "EXECUTE port_expose('$(sid "$1")', 'acme', '$2', NULL, '$3', 's-$3', ${5:-NULL},
		'${4:-false}', ${6:-NULL}, ${7:-NULL})" |
		cut -d'|' -f2
}
close() { q "EXECUTE port_close('$(sid "$1")', 'acme', '$2')"; }
rotate() { q "EXECUTE port_rotate('$(sid "$1")', 'acme', '$2', '$3', 's-$3')" | wc -l; }
# port ID PORT: "token|pending|cut|closing"
port() {
	q "SELECT token_hash, pending, cut, closing_at IS NOT NULL FROM port
		WHERE session_id = '$(sid "$1")' AND port = $2"
}
order() { q "SELECT change_order FROM port WHERE session_id = '$(sid "$1")' AND port = $2"; }
settled() { q "EXECUTE port_settled('$(sid "$1")', '$2', '${3:-$(order "$1" "$2")}')"; } # ID PORT [ORDER]
# due [HOST [SINCE]]: the ports that are due for a pass that began at SINCE
due() { q "EXECUTE due_ports('${1:-h1}', '${2:-infinity}', '10')" | cut -d'|' -f1,2 | tr '\n' ' '; }
may() { q "SELECT port_exposed('$(sid "$1")', $2)"; }

# ---- expose, rotate, close

create a >/dev/null && verify a 1 >/dev/null
is "$(expose a 8080 one)|$(port a 8080)" "t|one|t|f|f" "what is exposed waits for its relay"
is "$(due)|$(due h2)" "$(sid a)|8080 |" "the reaper of its host finds it"
began=$(q "SELECT clock_timestamp()")
q "EXECUTE port_tried('$(sid a)', '8080', '$(order a 8080)')" >/dev/null
is "$(due h1 "$began")|$(due)" "|$(sid a)|8080 " "one that did not answer comes again in the next pass"
first=$(order a 8080)
is "$(settled a 8080)|$(port a 8080)|$(due)" "t|one|f|f|f|" "until the relay has confirmed"
is "$(expose a 8080 two)|$(port a 8080)" "f|one|f|f|f" "exposed again it stays as it is"
is "$(expose a 8080 two true)" "" "and is not new"
is "$(rotate a 8080 two)|$(port a 8080)" "1|two|t|t|f" "rotated it has another token, and what is open is cut"
is "$((($(order a 8080) - first) % 2))" 0 "in the order of changes there is room for the cut"
is "$(settled a 8080 "$first")|$(port a 8080)" "f|two|t|t|f" "an earlier change that is confirmed late confirms nothing"
is "$(settled a 8080)|$(port a 8080)" "t|two|f|f|f" "its own does"
is "$(close a 8080)|$(port a 8080)|$(may a 8080)" "8080|two|t|f|t|f" "who closes it lets nobody in from then on"
is "$(q "EXECUTE auth_preview('$(sid a)', '8080', 'two', '30', 'false', 'tr', 'h1')")" "" "not with its token either"
is "$(q "SELECT port_json(p)->>'status' FROM port p")" closing "it is shown as closing"
is "$(settled a 8080 "$first")|$(port a 8080)" "f|two|t|f|t" "what was confirmed late is not the end of it"
is "$(rotate a 8080 three)" 0 "what is closing is not rotated"
closing=$(order a 8080)
is "$(close a 8080)|$(order a 8080)" "8080|$closing" "to close it twice is one change"
is "$(due)" "$(sid a)|8080 " "the reaper finds it, too"
is "$(expose a 8080 three true)|$(port a 8080)|$(may a 8080)" "t|three|t|t|f|t" \
	"exposed while it is closing it is another one: the old token stays away, what is open is cut"
is "$(settled a 8080 "$closing")|$(may a 8080)" "f|t" "the closing that is confirmed late takes nothing away"
close a 8080 >/dev/null
is "$(settled a 8080)|$(port a 8080)" "t|" "a relay that has closed is the end of the row"
is "$(settled a 8080 "$closing")" f "and there is nothing more to confirm"

# ---- the host and URL of a port

told() { q "SELECT host, base_url FROM port WHERE session_id = '$(sid a)' AND port = 8080"; }
expose a 8080 four false NULL "'public'" "'https://a.example'" >/dev/null
is "$(told)" "public|https://a.example" "it is what was wished for"
expose a 8080 five >/dev/null
is "$(told)" "public|https://a.example" "without a wish it stays"
is "$(q "EXECUTE auth_preview('$(sid a)', '8080', 'four', '30', 'false', 'tr', 'h1')" | cut -d'|' -f10)" \
	public "the gate is told"
close a 8080 >/dev/null
expose a 8080 six >/dev/null
is "$(told)" "localhost|" "another URL begins anew"
close a 8080 >/dev/null
settled a 8080 >/dev/null

# ---- expiry

expose a 8081 one false "'100'" >/dev/null && settled a 8081 >/dev/null
is "$(q "EXECUTE ports_expire('10')")" "" "before its time a port stays"
must "UPDATE port SET expires_at = clock_timestamp() - interval '1 s'"
is "$(q "EXECUTE ports_expire('10')")|$(port a 8081)" "$(sid a)|8081|one|t|f|t" "after it, it is closed as others are"
is "$(q "EXECUTE ports_expire('10')")" "" "once"
is "$(expose a 8081 two)|$(port a 8081)" "t|two|t|t|f" "exposed again it is another one"
settled a 8081 >/dev/null

# ---- wrappers that can be told

close a 8081 >/dev/null
must "UPDATE session SET state = 'initializing' WHERE id = '$(sid a)'"
is "$(due)" "" "a wrapper that is starting is told when it is ready"
must "UPDATE session SET state = 'asleep', suspended_at = clock_timestamp() WHERE id = '$(sid a)'"
is "$(due)" "" "one that is suspended when it goes on"
must "UPDATE session SET state = 'initializing', suspended_at = NULL WHERE id = '$(sid a)';
	UPDATE session SET state = 'ready' WHERE id = '$(sid a)'"
must "UPDATE lease SET state = 'stop_needed', reason = 'x', next_attempt_at = 'epoch' WHERE session_id = '$(sid a)'"
is "$(due)" "" "one that is being stopped is not told"
must "UPDATE lease SET state = 'owns_wrapper' WHERE session_id = '$(sid a)'"
expose a 8082 one >/dev/null
stop a sleep >/dev/null
is "$(due)" "$(sid a)|8081 " "what is stopped has no relay: what was closing is over"
expose a 8083 one >/dev/null && rotate a 8083 two >/dev/null
restart a none 1 >/dev/null
is "$(port a 8081)" "" "a start begins without what was closing"
is "$(port a 8082)|$(port a 8083)" "one|f|f|f|two|f|f|f" "and with all the others"
is "$(q "SELECT ports FROM session_env_ports('$(sid a)', true)")" "8082,8083" "which it is given"
expose a 8084 one >/dev/null
is "$(q "SELECT port FROM port WHERE pending")" 8084 "what comes after that waits until it is ready"
verify a 2 "\"incarnation\": \"inc2-a\"" >/dev/null
is "$(due)" "$(sid a)|8084 " "and then for its relay"
must "EXECUTE port_tried('$(sid a)', '8084', '$(order a 8084)')"
rotate a 8082 three >/dev/null
is "$(due)" "$(sid a)|8082 $(sid a)|8084 " "who was tried in vain comes after the others"
settled a 8082 >/dev/null && settled a 8084 >/dev/null
lost() { q "EXECUTE lost_relays('${2:-h1}', '$1', '10')" | cut -d'|' -f2 | tr '\n' ' '; }
is "$(lost "[\"$(sid a).2.8082.sock\", \"$(sid a).1.8083.sock\"]")" "8083 8084 " \
	"a port without a socket of this generation has lost its relay"
is "$(lost '[]' h2)" "" "of this host"
close a 8082 >/dev/null
is "$(lost '[]')" "8083 8084 " "but not one that is closing"
request a delete session-delete >/dev/null
is "$(q "SELECT count(*) FROM port")" 0 "a deleted session's ports go with it"

# ---- a revoked key

must "INSERT INTO api_key (id, tenant, org, user_id, scope, hash) VALUES ('v', 'acme', 'acme', 'u', 'tenant', 'hash-v')"
for s in b c; do
	create $s >/dev/null && verify $s 1 >/dev/null
	expose $s 8080 one >/dev/null && settled $s 8080 >/dev/null
done
create d >/dev/null && verify d 1 >/dev/null && stop d sleep >/dev/null
create e '"tenant": "other", "org": "other"' >/dev/null && verify e 1 >/dev/null
must "INSERT INTO port (session_id, port, token_hash, token_sealed, pending)
	VALUES ('$(sid d)', 8080, 'one', 's', false), ('$(sid e)', 8080, 'one', 's', false)"
bounces() { q "EXECUTE due_bounces('${1:-h1}', '10')" | cut -d'|' -f1 | tr '\n' ' '; }
is "$(q "EXECUTE key_revoke('nobody')")" "" "a key that is not there"
is "$(q "EXECUTE key_revoke('v')")|$(q "SELECT revoked_at IS NOT NULL FROM api_key WHERE id = 'v'")" "acme|t" "one that is"
is "$(port b 8080)|$(port c 8080)" "one|t|t|f|one|t|t|f" \
	"whatever is open on ports of its tenant's sessions is cut, their URLs stay"
is "$(bounces)|$(bounces h2)" "$(sid b) $(sid c) |" "and so are WebSockets"
is "$(port d 8080)|$(port e 8080)" "one|f|f|f|one|f|f|f" "not of what sleeps, nor of others"
is "$(q "SELECT tenant, subject, detail->>'user' FROM audit WHERE kind = 'key_revoked'")" "acme|v|u" "it is on record"
at() { q "SELECT bounce_at FROM session WHERE id = '$(sid b)'"; }
was=$(at)
must "SELECT tenant_cut('acme')"
must "EXECUTE session_bounced('$(sid b)', '$was')"
is "$(bounces)" "$(sid b) $(sid c) " "what was done for one revocation is not done for the next"
must "EXECUTE session_bounced('$(sid b)', '$(at)')"
is "$(bounces)" "$(sid c) " "what was done is over"
stop c sleep >/dev/null
is "$(bounces h2)" "$(sid c) " "what is stopped has no connections, and any host may say so"
restart c none 1 >/dev/null
is "$(bounces)$(q "SELECT bounce_at IS NULL FROM session WHERE id = '$(sid c)'")" t "nor has what has just begun"

done_testing
