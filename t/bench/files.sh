# shellcheck shell=bash
# shellcheck disable=SC2154 # variables are shared by the files of t/lib
# files.sh: measures files up and down against nginx, which does the same without a
# session: a download against GET of the same file, an upload against PUT of it.

readonly FILE_MB=128 FILE_ROUNDS=5

# speed URL: bytes a second; nothing unless the call succeeded.
speed() {
	curl -s -o /dev/null -w '%{http_code} %{speed_download}' -H "Authorization: Bearer $SANDLEASE_API_KEY" "$1" |
		awk '$1 !~ /^2/ || $2 <= 0 { exit 1 } { printf "%.0f", $2 / 1048576 }'
}

# nginx writes a body to the directory in which the file will be, so that PUT ends with a
# rename; the buffer is as large as that of uploads into sessions (nginx/wrapper.params.in).
file_server() {
	cat <<-EOT
		server {
			listen 127.0.0.1:$BENCH_PORT;
			access_log off;
			sendfile on;
			location = /file {
				alias $BENCH/file;
			}
			location /put/ {
				alias $PUT_DIR/;
				dav_methods PUT DELETE;
				client_body_temp_path $PUT_DIR;
				client_body_buffer_size 256k;
				client_max_body_size 0;
			}
		}
	EOT
}

file_answers() { [ -n "$(speed "http://127.0.0.1:$BENCH_PORT/file")" ]; }

middle_of() { sort -n | sed -n "$(((FILE_ROUNDS + 1) / 2))p"; }

# Measures in turns, so that other load on the machine slows all alike.
download_rounds() { # URL
	local i down static
	for ((i = 0; i < FILE_ROUNDS; i++)); do
		down=$(speed "$1") && static=$(speed "http://127.0.0.1:$BENCH_PORT/file") || return 1
		awk -v d="$down" -v s="$static" 'BEGIN { printf "%d %d %.3f\n", d, s, d / s }'
	done >"$BENCH/speeds"
	figure "file download" "$(awk '{ print $1 }' "$BENCH/speeds" | middle_of)" MB/s "" "$FILE_MB MB"
	figure "nginx GET, the same file" "$(awk '{ print $2 }' "$BENCH/speeds" | middle_of)" MB/s
	figure "file download / nginx GET" "$(awk '{ print $3 }' "$BENCH/speeds" | middle_of)" "" ">= 0.5"
}

upload_rounds() { # SESSION URL
	local wrapper name value unit aim note
	wrapper=$(wrapper_of "$1") &&
		/usr/bin/python3 "$HERE/upload.py" "$BENCH/file" "$2" "http://127.0.0.1:$BENCH_PORT/put/" \
			"$(daemon_pid nginx)" "$wrapper" >"$BENCH/upload" || return 1
	while IFS='|' read -r name value unit aim note; do
		figure "$name" "$value" "$unit" "$aim" "$note"
	done <"$BENCH/upload"
}

# PUT_DIR is on the disk of sandboxes.
file_figures() {
	local session url status=0
	read -r session <"$BENCH/ids"
	url=$SANDLEASE_URL/v1/sessions/$session/files/workspace
	PUT_DIR=$STACK_STATE/nginx/tmp/put
	head -c "${FILE_MB}M" /dev/urandom >"$BENCH/file" && chmod 644 "$BENCH/file" &&
		chmod 711 "$BENCH" && as "$WEB_USER" mkdir -p "$PUT_DIR" || return 1
	BENCH_PORT=$(stack_free_port)
	nginx_add_server "$(file_server)" file_answers &&
		upload_rounds "$session" "$url/" &&
		curl -fsS -o /dev/null -T "$BENCH/file" -H "Authorization: Bearer $SANDLEASE_API_KEY" "$url/file" &&
		download_rounds "$url/file" || status=1
	rm -rf "$PUT_DIR" "$BENCH/file"
	return "$status"
}
files_speed() { with_sessions file_figures 1 1; }
