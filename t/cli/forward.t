#!/bin/bash
# Tests how other programs reach a session: port-forward, and ssh by ssh-config.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

one=$("$cli" create --name one) || exit 1

# ---- port-forward

# Answers every connection with the bytes it reads to their end, and their count;
# on 9001 with a file.
cat >server.pl <<'END'
use IO::Socket::INET; $SIG{CHLD} = "IGNORE"; $| = 1;
my $port = shift;
my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 50, ReuseAddr => 1) or die;
print "listening\n";
while (my $c = $l->accept) {
	next if fork;
	if ($port == 9001) { open my $f, "<", "/workspace/bytes"; local $/; print {$c} <$f>; exit 0 }
	my $all = ""; my $b;
	while (sysread $c, $b, 65536) { $all .= $b }
	print $c $all, "|", length $all, "\n"; exit 0;
}
END
head -c 3000000 /dev/urandom >bytes
"$cli" cp server.pl one:server.pl && "$cli" cp bytes one:bytes || exit 1
for port in 9000 9001; do
	curl -sS -o /dev/null -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		"$SANDLEASE_URL/v1/sessions/$one/api/process/start" \
		-d "{\"processId\": \"s$port\", \"command\": \"perl /workspace/server.pl $port\"}"
	wait_for "$PATIENCE" eval '"$cli" logs one s$port | grep -q listening'
done
"$cli" port-forward one 0:9000 0:9001 0:9002 >ports 2>err &
forward=$!
wait_for "$PATIENCE" grep -q ':9002$' ports
like "$(sed 1q ports)" "^127.0.0.1:[0-9]+ -> $one:9000\$" "port-forward says what leads where"
here() { sed -nE "s/^127.0.0.1:([0-9]+) -> .*:$1\$/\1/p" ports; }

cat >talk.py <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
s.shutdown(socket.SHUT_WR)
while data := s.recv(65536):
    sys.stdout.buffer.write(data)
END
talk() { timeout "$PATIENCE" /usr/bin/python3 talk.py "$1"; }
is "$(printf 'hello' | talk "$(here 9000)")" 'hello|5' "bytes go both ways, and so does the end of one"
{
	cat bytes
	printf '|3000000\n'
} >want
talk "$(here 9000)" <bytes >got
ok "any bytes, more than fit anywhere" cmp want got
talk "$(here 9001)" </dev/null >got
ok "and as many as the session sends" cmp bytes got
for i in 1 2 3 4 5 6 7 8; do
	printf 'number %s' "$i" | talk "$(here 9000)" >"got$i" &
	pids[i]=$!
done
wait "${pids[@]}"
is "$(cat got[1-8] | sort | tr '\n' ' ')" "$(for i in 1 2 3 4 5 6 7 8; do printf 'number %s|8 ' "$i"; done)" "many at a time"
is "$(printf x | talk "$(here 9002)")" '' "where nothing listens a connection ends"
like "$(<err)" 'port 9002: Connection refused' "and why is said"
listening=$(ss -Hltn "sport = :$(here 9000)" | awk '{ print $4 }')
is "$listening" "127.0.0.1:$(here 9000)" "it listens on this machine's own address only"
mkfifo open
talk "$(here 9000)" <open >got & # stays open
talker=$!
exec 3>open
relays() { "$cli" exec -n one -- pgrep -f '[P]eerAddr'; }
wait_for "$PATIENCE" relays
kill -INT $forward
wait $forward
is $? 130 "^C ends it"
exec 3>&-
wait $talker
none "with what was open, in the session too" "$(relays)$("$cli" exec -n one -- find /tmp -name '*forward*')"
try port-forward one 80x
is "$code" 2 "a port that is none is a mistake"
try port-forward nobody 8000
is "$code" 1 "so is a session that is not there"

# ---- ssh

"$cli" exec -n one -- test -x /usr/sbin/sshd && command -v ssh >/dev/null || {
	skip "ssh" "sshd is not in the sandbox, or ssh not here"
	done_testing
	exit
}
try ssh-config one
is "$code" 0 "ssh-config prints an entry"
like "$out" "^Host sandlease-$one"$'\n.*ProxyCommand .*/sandlease exec '"$one" "whose proxy is this program"
is "$(stat -c %a .ssh/sandlease .ssh/sandlease/key | tr '\n' ' ')" '700 600 ' "its key is for its owner only"
try ssh-config --write --host box one
is "$code|$(ssh -G -F .ssh/config box | sed -n 's/^user //p')" '0|user' "--write has ssh find it"
is "$(sed 1q .ssh/config)" 'Include sandlease/*.conf' "by a line at the top"
echo 'Host other' >>.ssh/config
try ssh-config --write --host box one
is "$(grep -c Include .ssh/config) $(grep -c 'Host other' .ssh/config) $(wc -l <.ssh/sandlease/known_hosts)" '1 1 2' "twice changes nothing, and what was there stays"

# ssh takes ~/.ssh from the password database, so the test names its file
in_box() { timeout "$PATIENCE" ssh -F .ssh/sandlease/box.conf box "$@"; }
is "$(in_box 'echo $((6 * 7)) of $USER' </dev/null)" '42 of user' "ssh runs a command"
in_box 'exit 9' </dev/null
is $? 9 "and ends as it does"
in_box 'cat >/tmp/bytes; cat /tmp/bytes' <bytes >got
ok "any bytes go both ways" cmp bytes got
printf 'ls /workspace/server.pl\n' | timeout "$PATIENCE" sftp -q -F .ssh/sandlease/box.conf -b - box >got 2>&1
like "$(<got)" '/workspace/server.pl' "sftp works"
"$cli" sleep one >/dev/null
is "$(in_box 'echo awake' </dev/null)" awake "ssh wakes a session"
cp .ssh/sandlease/known_hosts kept
sed -i 's/AAAA[^ ]*/AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/' .ssh/sandlease/known_hosts
in_box true </dev/null 2>err
is "$?" 255 "another host key is refused"
cp kept .ssh/sandlease/known_hosts

done_testing
