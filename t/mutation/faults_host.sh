# shellcheck shell=bash disable=SC2016  # as faults.sh, which comes first
# faults_host.sh: more of them: what the host keeps of sandboxes and does to them.

# ---- the agent's answers, and the sockets of a launch

unit provider/agent_link "more wrappers are read than there is room for" provider/agent_link.c \
	's/json_array_size\(list\) > AGENT_WRAPPERS_MAX/false/' \
	"an_answer_that_is_nonsense_is_not_an_empty_look"
unit provider/agent_socket "a full queue is a dead relay" provider/agent_socket.c \
	'/^is_served/,/^}/s/errno == EAGAIN\);/false);/' \
	"a_relay_whose_queue_is_full_is_alive"
unit provider/agent_socket "any wrapper is the one that was launched" provider/agent_socket.c \
	'/^check_launched/,/^}/s/if \(str_equal\(/if (true || str_equal(/' \
	"a_launch_of_another_wrapper_is_not_the_one_asked_for"
unit provider/agent_socket "a launch without groups leaves its sockets" provider/agent_socket.c \
	'/^agent_launch/,/^}/{/&groups, e\) < 0\) \{/{n;s/sockets_unlink\(&socks\);//}}' \
	"a_launch_without_groups_leaves_no_socket"
unit provider/agent_socket "a cell limits its siblings' processes" provider/agent_socket.c \
	's/if \(!str_equal\(json_str\(pids, "by"\), "cgroup"\)\)/if (true)/' \
	"a_cell_limits_itself_only_where_no_group_does"
unit provider/agent_socket "nobody limits memory without a group" provider/agent_socket.c \
	's/if \(str_equal\(json_str\(memory, "by"\), "watchdog"\)\)/if (false)/' \
	"a_cell_limits_itself_only_where_no_group_does"

# ---- boxes, notes and the trash

unit provider/box "a lock outlives its box" provider/box.c \
	's/if \(fstat\(b->dir, &st\) == 0 && st.st_nlink > 0\)/if (true)/' \
	"a_box_that_was_buried_meanwhile_is_made_again"
unit provider/box "two who ask see each other" provider/box.c \
	's/flock\(fd, LOCK_SH \| LOCK_NB\)/flock(fd, LOCK_EX | LOCK_NB)/' \
	"two_who_ask_do_not_see_each_other"
unit provider/box "a lock that cannot be asked is free" provider/box.c \
	'/^box_held/,/^}/s/return errno == ENOENT \? 0/return true ? 0/' \
	"a_lock_that_cannot_be_asked_is_not_free"
unit provider/box "what starts meanwhile is buried" provider/box.c \
	'/a second look/,/^}/s/is_old_tombstone\(&b, &old, e\) < 0\)/false)/' \
	"what_starts_meanwhile_is_not_buried"
unit provider/box "a tombstone goes before the rest" provider/box.c \
	's/if \(!str_equal\(\*n, "incarnation"\) &&/if (/;s/^\tunlinkat\(b.dir, "incarnation", 0\);//' \
	"the_record_goes_last"
unit provider/box "a record that cannot be read is none" provider/box.c \
	'/^box_record/,/^}/s/return err_wrap\(.*/return 0;/' \
	"a_note_that_cannot_be_understood_is_an_error"
unit provider/box "processes that cannot be read are none" provider/box.c \
	'/^box_proc/,/^}/s/return err_wrap\(.*/return 0;/' \
	"a_note_that_cannot_be_understood_is_an_error"
unit provider/file "half a list is a list" provider/file.c \
	's/^\tif \(errno != 0\)$/\tif (false)/' \
	"a_list_that_breaks_off_is_an_error"
unit provider/file "a write that fails leaves its file" provider/file.c \
	'/^file_write/,/^}/s/unlinkat\(dir, temporary, 0\);//' \
	"a_write_that_fails_leaves_nothing"
unit provider/trash "whatever lies beside the trash goes" provider/trash.c \
	's/!str_starts\(entry->d_name, h->prefix\)/false/' \
	"what_has_no_name_of_the_trash_is_left_alone"
unit provider/trash "one directory has all the time" provider/trash.c \
	'/^empty/,/^}/s/if \(clock_left_ms\(deadline_ms\) == 0\)/if (false)/' \
	"a_deadline_is_kept_within_one_directory"
unit provider/trash "what cannot be removed is gone" provider/trash.c \
	'/^sweep\(/,/^}/s/return e->kind == ERR_NONE \? 0 : -1/return 0/' \
	"what_cannot_be_removed_is_an_error"
