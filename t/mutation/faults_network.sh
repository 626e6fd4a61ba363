# shellcheck shell=bash disable=SC2016  # as faults.sh, which comes first
# faults_network.sh: faults of the network of sandboxes: policies and egress.

# ---- policies

unit domain/network "127.1 is a name" domain/network.c \
	's/is_name\(out\) && !ends_like_address\(out\)/is_name(out)/' \
	"names_and_addresses_have_one_form"
unit domain/network "a name below begins anywhere" domain/network.c \
	"s/host\\[len - below - 1\\] == '\\.' &&/true \\&\\&/" \
	"a_connection_is_compared_with_host_and_port"
unit domain/network "every port of a host is allowed" domain/network.c \
	's/return r->port == port;/return true;/' \
	"a_connection_is_compared_with_host_and_port"
unit domain/network "brackets of a policy hold a name" domain/network.c \
	"s/return memchr\\(\\*host, ':', \\*len\\) != NULL;/return true;/" \
	"an_entry_has_one_meaning_or_none"

# ---- addresses

unit common/address "a private address is allowed" common/address.c \
	's/"10\.0\.0\.0\/8"/"10.0.0.0\/9"/' \
	"a_refused_range_ends_where_it_ends"
unit common/address "metadata is allowed" common/address.c \
	's/"169\.254\.0\.0\/16"/"169.254.0.0\/17"/' \
	"no_way_to_write_a_private_address_is_allowed"
unit common/address "NAT64 is public" common/address.c \
	's/PUBLIC_V6 = "2000::\/3"/PUBLIC_V6 = "::\/1"/' \
	"no_way_to_write_a_private_address_is_allowed"
unit common/address "6to4 is public" common/address.c \
	's/"2002::\/16"/"2002::\/128"/' \
	"no_way_to_write_a_private_address_is_allowed"
unit common/address "an exception of IPv6 is one of IPv4" common/address.c \
	's/!a->v4 && IN6_IS_ADDR_V4MAPPED/false \&\& IN6_IS_ADDR_V4MAPPED/' \
	"an_exception_allows_its_range_and_no_more"
unit common/address "our own addresses are others'" common/address.c \
	's/answer\.route\.rtm_type != RTN_UNICAST/false/' \
	"this_machine_knows_its_own_addresses"

# ---- names

unit egress/dns "a response is answered as a query" egress/base/dns.c \
	's/\(msg\[2\] & 0x80\) != 0/false/' \
	"a_message_that_is_no_query_gets_no_answer"
unit egress/dns "two questions are one" egress/base/dns.c \
	's/ns_msg_count\(m, ns_s_qd\) != 1/false/' \
	"other_questions_are_refused"
unit egress/dns "every class is the Internet's" egress/base/dns.c \
	's/ns_rr_class\(rr\) != ns_c_in/false/' \
	"other_questions_are_refused"
unit egress/dns "any question gets an address" egress/base/dns.c \
	's/ && q->type == ns_t_a;/;/' \
	"only_a_question_for_an_address_gets_one"
unit egress/dns "a reason is told without EDNS" egress/base/dns.c \
	's/if \(q->edns\)/if (true)/' \
	"the_reason_is_told_to_clients_that_understand_it"
unit egress/resolver "the host's domain is added to names" egress/base/resolver.c \
	's/ \| ARES_OPT_DOMAINS//' \
	"a_name_is_asked_for_as_it_is"
unit egress/standin "names share an address" egress/base/standin.c \
	's/if \(str_equal\(s->name, host\)\)/if (true)/' \
	"names_that_meet_get_two_addresses"
unit egress/standin "a session has any number of names" egress/base/standin.c \
	's/if \(t->count == STANDINS_MAX\)/if (false)/' \
	"a_full_table_gives_no_more"
unit egress/standin "a name moves to another address" egress/base/standin.c \
	's/FIRST = 2,/FIRST = 3,/' \
	"tables_give_the_same_address_to_a_name"
unit egress/sni "SNI is compared without case folding" domain/network.c \
	's/out\[i\] = \(char\)tolower\(\(unsigned char\)text\[i\]\)/out[i] = text[i]/' \
	"a_name_is_found_once_all_of_it_is_there"
unit egress/sni "the first of two server names counts" egress/base/sni.c \
	's/host != list - ENTRY_HEAD/false/' \
	"a_name_that_could_be_read_in_two_ways_is_bad"
unit egress/sni "a hello may have any length" egress/base/sni.c \
	's/ && len < SNI_HELLO_MAX\)/)/' \
	"a_hello_has_a_limit"
unit egress/loop "a forgotten watch is told" egress/base/loop.c \
	's/\(w->events & ev\[i\]\.events\) != 0 \|\|/true ||/' \
	"a_watch_that_is_forgotten_in_the_round_is_not_told"

# ---- requests

unit web/http_request "two codings are accepted" web/http_head.c \
	's/if \(\*seen\)/if (false)/' \
	"a_request_passes_in_one_meaning_or_not_at_all"
unit web/http_request "a coding that the parser forgot is passed on" web/http_request.c \
	's/bool chunked = \(p->flags & F_CHUNKED\) != 0/bool chunked = r->head.has_coding/' \
	"a_request_passes_in_one_meaning_or_not_at_all"
unit web/http_request "a second Host is ignored" web/http_request.c \
	's/return set_once\(r->host, sizeof\(r->host\), value\) \? 0 : REFUSE/return set_once(r->host, sizeof(r->host), value), 0/' \
	"a_request_passes_in_one_meaning_or_not_at_all"
unit web/http_request "an upgrade has a body" web/http_request.c \
	's/!r->head\.has_length && !r->head\.has_coding &&$/true \&\&/' \
	"a_request_passes_in_one_meaning_or_not_at_all"
unit web/http_request "any byte ends a head" web/http_request.c \
	"s/r->refused = data\\[\\*used\\] != '.n'/r->refused = false/" \
	"a_nul_never_passes"
unit web/http_request "the client's key stays beside ours" web/http_request.c \
	's/if \(!is_replaced\(line, added, count\)\)/if (true)/' \
	"an_added_header_replaces_those_of_the_client"
unit web/http_request "a key in other letters is another one" web/http_request.c \
	's/strncasecmp\(added/strncmp(added/' \
	"an_added_header_replaces_those_of_the_client"
unit web/http_request "too many headers are malformed" web/http_request.c \
	's/r->too_large \|\| r->head\.too_large \|\|/r->too_large ||/' \
	"size_and_number_are_bounded"
unit web/http_request "brackets of a URL hold a name" web/http_request.c \
	"s/if \\(memchr\\(\\*host, ':', \\*host_len\\) == NULL\\)/if (false)/" \
	"an_authority_is_a_host_and_a_port"

# ---- the process that serves

egress() { red "$2" "src/egress/$3" "$4" sandlease-egress "t/egress/$1.t" "$5"; }

unit egress/sni "a second message hides in the record of the first" egress/base/sni.c \
	's/return seen == whole \? at : 0;/return at;/' \
	"a_hello_ends_where_a_record_ends"
unit egress/resolver "a tenant has any number of names under way" egress/base/resolver.c \
	's/return count >= RESOLVER_OWN_MAX;/return false;/' \
	"who_asks_for_too_many_names_keeps_no_one_else_waiting"
unit egress/resolver "a name is asked for by each who wants it" egress/base/resolver.c \
	's/\.of = find_lookup\(r, host\)/.of = NULL/' \
	"all_who_ask_for_a_name_share_one_question"
red "a public address of the host is like any other" src/common/address.c \
	's/ && !address_is_ours\(a\)//' sandlease-egress t/egress/own.t \
	"a name of the host"
egress refused "the second hello may name any server" serve/hello.c \
	's/if \(c->unchecked\)/if (true)/' \
	"another name is cut"
egress refused "the address is checked for the name only" serve/upstream.c \
	's/!uses_proxy\(c\) && !may_connect\(c, a\)/false/' \
	"127.0.0.1"
egress failures "what cannot be written is lost" reports.c \
	's/if \(!o->kept \|\| e\.kind != ERR_UNAVAILABLE\)/if (true)/' \
	"and all before it, in order"
egress failures "counts of the last second are lost" rows.c \
	's/^\t\thear_last\(p\);$//' \
	"what was counted last is written"
egress policy "what is taken away stays open" serve/session.c \
	's/deny\(s, DENY_POLICY_CHANGED, c->host, c->port, NULL\);/continue;/' \
	"a change takes effect at once"
egress policy "changes that are told come before workers" rows.c \
	's/^\t\ttold_add\(p, text\);/\t\t(void)!follow(p, text, -1, \&(struct err){ 0 });/' \
	"many changes of one tenant keep nobody waiting"
unit egress/resolver "an answer that was cut is asked for by TCP" egress/base/resolver.c \
	's/ARES_FLAG_IGNTC/0/' \
	"an_answer_that_was_cut_is_used_as_it_is"
egress floods "denials take all the room to rows" serve/deny.c \
	's/ \|\| !tell_can\(s->of\)//' \
	"a request waits while rows is slow"
egress protocols "a line that may be of HTTP passes unread" serve/look.c \
	's/c->unsure = is == FIRST_UNSURE;/c->unsure = false;/' \
	"in parts"
unit egress/line "blanks without end hide a request" egress/serve/line.c \
	's/return l->part == LINE_BEFORE \? LINE_HTTP : LINE_OTHER;/return LINE_OTHER;/' \
	"blanks_without_a_line_are_for_a_server_that_skips_them"
unit egress/line "a version of another protocol hides a request" egress/serve/line.c \
	's/\(v == VERSION_OTHER \|\| l->part != LINE_REST\)/l->part != LINE_REST/' \
	"a_line_is_judged_however_it_arrives"
egress protocols "a warning of another version hides a hello" serve/look.c \
	's/bytes\[1\] > TLS_MAJOR_MAX/bytes[1] != 3/' \
	"a warning of version 1 before the hello of TLS: is refused"
egress works "a client that reads late loses the rest" serve/end.c \
	's/if \(unread && now < c->reader_until_ms\)/if (false)/' \
	"the rest of a last answer"
egress works "what arrived of a cut answer is lost" serve/http.c \
	's/conn_cut\(c\);/conn_close(c, true);/' \
	"what there is of a cut one"
egress limits "a tunnel without a word stays" serve/look.c \
	's/!c->hasty && !look_first\(c\);/!c->hasty;/' \
	"first requests must be finished"
unit egress/resolver "names share what a server could not do" egress/base/resolver.c \
	's/ARES_FLAG_EDNS/0/' \
	"a_name_of_an_old_server_changes_nothing_for_others"
egress failures "notifications are read by statements, too" rows.c \
	's/p\.listener = store_new\(conf->database, &STORE\);/p.listener = p.store;/' \
	"a change is heard while a statement waits"
egress floods "answers that nobody reads are not counted" serve/conn.c \
	's/else if \(c->client\.ended && !c->cut && side_may_go\(&c->client\)\)/else if (c->client.ended)/' \
	"/unread counts"
egress via "half an answer of the proxy is waited for" serve/via.c \
	's/ && !side_has_end\(&c->server\)//' \
	"half an answer is one, at once"
egress works "an early answer is lost" serve/http.c \
	's/^\t\t\th->unheard = true;$/\t\t\treturn -1;/' \
	"and says that it is the last one"
