# shellcheck shell=bash disable=SC2016  # as faults.sh, which comes first
# faults_host.sh: faults in the code by which a host keeps and changes sandboxes.

# ---- the agent's answers, and the sockets of a launch

unit provider/agent_link "more wrappers are read than there is room for" provider/link/link.c \
	's/json_array_size\(list\) > AGENT_WRAPPERS_MAX/false/' \
	"an_answer_that_is_nonsense_is_not_an_empty_look"
unit provider/agent_socket "a full queue is a dead relay" provider/link/socket.c \
	'/^is_served/,/^}/s/errno == EAGAIN\);/false);/' \
	"a_relay_whose_queue_is_full_is_alive"
unit provider/agent_socket "any wrapper is the one that was launched" provider/link/socket.c \
	'/^check_launched/,/^}/s/if \(str_equal\(/if (true || str_equal(/' \
	"a_launch_of_another_wrapper_is_not_the_one_asked_for"
unit provider/agent_socket "a launch without groups leaves its sockets" provider/link/socket.c \
	'/^agent_launch/,/^}/{/&groups, e\) < 0\) \{/{n;s/sockets_unlink\(&socks\);//}}' \
	"a_launch_without_groups_leaves_no_socket"
unit provider/agent_socket "a cell limits its siblings' processes" provider/link/socket.c \
	's/if \(!str_equal\(json_str\(pids, "by"\), "cgroup"\)\)/if (true)/' \
	"a_cell_limits_itself_only_where_no_group_does"
unit provider/agent_socket "nobody limits memory without a group" provider/link/socket.c \
	's/if \(str_equal\(json_str\(memory, "by"\), "watchdog"\)\)/if (false)/' \
	"a_cell_limits_itself_only_where_no_group_does"

# ---- boxes, notes and the trash

unit provider/box "a lock outlives its box" provider/box/box.c \
	's/if \(fstat\(b->dir, &st\) == 0 && st.st_nlink > 0\)/if (true)/' \
	"a_box_that_was_buried_meanwhile_is_made_again"
unit provider/box "two who ask see each other" provider/box/box.c \
	's/flock\(fd, LOCK_SH \| LOCK_NB\)/flock(fd, LOCK_EX | LOCK_NB)/' \
	"two_who_ask_do_not_see_each_other"
unit provider/box "a lock that cannot be asked is free" provider/box/box.c \
	'/^box_held/,/^}/s/return errno == ENOENT \? 0/return true ? 0/' \
	"a_lock_that_cannot_be_asked_is_not_free"
unit provider/box "what starts meanwhile is buried" provider/box/box.c \
	'/a second look/,/^}/s/is_old_tombstone\(&b, &old, e\) < 0\)/false)/' \
	"what_starts_meanwhile_is_not_buried"
unit provider/box "a tombstone goes before the rest" provider/box/box.c \
	'/the record last/,/^}/s/for \(char \*\*n = names;/unlinkat(b.dir, "incarnation", 0); for (char **n = names;/' \
	"the_record_goes_last"
unit provider/box "a record that cannot be read is none" provider/box/box.c \
	'/^box_record/,/^}/s/return err_wrap\(.*/return 0;/' \
	"a_note_that_cannot_be_understood_is_an_error"
unit provider/box "processes that cannot be read are none" provider/box/box.c \
	'/^box_proc/,/^}/s/return err_wrap\(.*/return 0;/' \
	"a_note_that_cannot_be_understood_is_an_error"
unit provider/file "half a list is a list" provider/host/file.c \
	's/^\tif \(errno != 0\)$/\tif (false)/' \
	"a_list_that_breaks_off_is_an_error"
unit provider/file "a write that fails leaves its file" provider/host/file.c \
	'/^file_write/,/^}/s/unlinkat\(dir, temporary, 0\);//' \
	"a_write_that_fails_leaves_nothing"
unit provider/gone "a tombstone in the index stays" provider/box/gone.c \
	's/return seconds \+ BOX_TOMBSTONE_SECONDS <= /return seconds + 2 * BOX_TOMBSTONE_SECONDS <= /' \
	"a_tombstone_is_listed_and_goes_after_an_hour"
unit provider/trash "whatever lies beside the trash goes" provider/host/trash.c \
	's/!str_starts\(entry->d_name, t->prefix\)/false/' \
	"what_has_no_name_of_the_trash_is_left_alone"
unit provider/trash "two sweeps fail each other" provider/host/trash.c \
	'/ENOENT: another reaper/,/return true/s/errno != ENOENT/true/' \
	"several_sweep_at_once"
unit provider/trash "one directory has all the time" provider/host/trash.c \
	'/^empty_dir/,/^}/s/if \(clock_left_ms\(deadline_ms\) == 0\)/if (false)/' \
	"a_deadline_is_kept_within_one_directory"
unit provider/trash "what cannot be removed is gone" provider/host/trash.c \
	'/^sweep_dir\(/,/^}/s/return e->kind == ERR_NONE \? 0 : -1/return 0/' \
	"what_cannot_be_removed_is_an_error"

# ---- changes by other programs between two steps

world meanwhile "a look counts for any generation" start.c \
	'/"seenGeneration"/{N;d}' \
	"a_look_counts_for_the_generation_it_was_for"
world meanwhile "a launch after the look is overlooked" start.c \
	'/^seal_absent/,/^}/s/if \(!absent\)/if (false)/' \
	"a_launch_that_arrives_after_the_look_is_found"
world meanwhile "a start that was stopped is ready" outcome.c \
	'/^outcome_verified/,/^}/s/if \(!rows_bool\(r, 0, "applied"\)\)/if (false)/' \
	"a_start_that_was_stopped_before_its_outcome_is_none"
world meanwhile "a command runs in what is being stopped" start.c \
	'/^reuse_intent/,/^}/s/if \(!rows_bool\(r, 0, "applied"\)\)/if (false)/' \
	"what_is_to_be_stopped_is_not_proved"
world meanwhile "a start is tried again for ever" start.c \
	'/^give_up/,/^}/s/s.state == SESSION_ASLEEP/false/' \
	"a_sandbox_that_dies_each_time_it_is_started_is_a_failed_start"
world meanwhile "init is asked once" wave.c \
	's/if \(one->e.code == CODE_NOT_LISTENING\)/if (false)/' \
	"init_that_listens_at_last_is_asked"
world meanwhile "half a start keeps its lease" wave.c \
	'/^look_without_init/,/^}/s/!discover_never_answered\(ctl, &s->s\)\)/true)/' \
	"a_start_that_was_killed_half_way_is_ended"
world meanwhile "another's start is taken for half of ours" discover.c \
	'/^discover_never_answered/,/^}/s/str_equal\(seen.incarnation, s->sandbox.incarnation\)/true/' \
	"a_start_of_another_incarnation_proves_nothing"
world meanwhile "what lives loses its sockets" wave.c \
	'/^remove_sockets/,/^}/s/if \(!w->stop\[i\].absent\)/if (false)/' \
	"the_sockets_of_what_lives_stay"
world meanwhile "one outcome spoils all" wave.c \
	'/^record_outcomes\(/,/^}/s/if \(w->count == 1\)/if (true)/' \
	"outcomes_are_recorded_one_by_one_when_they_must_be"
world meanwhile "any id is a sandbox's" wave.c \
	's/if \(s->located && sandbox_id_check\(.*/if (false)/' \
	"an_id_that_none_can_be_is_looked_for_nowhere"
world meanwhile "a sandbox elsewhere is ended here" wave.c \
	'/^stop_own_sandboxes/,/^}/s/!control_is_here\(ctl, &s->s\) \|\|/false ||/' \
	"a_stopped_sandbox_is_ended_by_its_own_host"
world meanwhile "another host's boot is ours" discover.c \
	'/^discover_sandbox_down/,/^}/s/if \(control_must_be_here\(ctl, s, e\) < 0\)/if (false)/' \
	"another_host_s_boot_proves_nothing"
world meanwhile "a reboot proves nothing" discover.c \
	'/^discover_sandbox_down/,/^}/s/if \(!str_equal\(s->boot_id, ctl->provider.boot_id\)\)/if (false)/' \
	"after_a_reboot_nobody_is_asked"

# ---- a tenant's files

world admit "a full disk deletes a session" outcome.c \
	's/e->kind == ERR_NO_SPACE && l->first &&/e->kind == ERR_NO_SPACE \&\&/' \
	"a_full_disk_deletes_nothing_that_has_worked"
world admit "what somebody knows is half taken back" outcome.c \
	'/^delete_refused_create/,/^}/s/return false;/return true;/' \
	"a_create_that_somebody_knows_of_is_not_taken_back"
world start "files that cannot be looked for are lost" launch.c \
	'/^have_storage/,/^}/{/&there, e\) < 0\)/{n;s/return -1;/there = false;/}}' \
	"files_that_cannot_be_looked_for_are_not_gone"
world start "a session is ready without its files" launch.c \
	'/^launch_write_files/,/^}/s/&why\) == 0\)/\&why) <= 0)/' \
	"a_file_that_cannot_be_written_fails_the_start"
world stop "files go that nobody wants deleted" finish.c \
	's/s.state != SESSION_DELETING \|\| //' \
	"what_nobody_wants_deleted_keeps_its_files"
world stop "another host's files are finished here" finish.c \
	's/if \(control_must_be_here\(ctl, &s, e\) < 0\)/if (false)/' \
	"delete_of_what_sleeps_is_finished_by_its_own_host"
world start "a failed start is under way for ever" launch.c \
	's/if \(rc < 0 && locked\)/if (false)/' \
	"a_launch_that_fails_is_recorded_after_an_observed_absence"
world start "the sockets of the dead stay" start.c \
	'/^restart/,/^}/s/agent_unlink_sockets\(.*//' \
	"a_wrapper_that_died_is_followed_by_the_next_generation"
world port "only the first ports come back with a session" launch.c \
	'/^expose_more/,/^}/s/i < l->more_count/false/' \
	"more_ports_than_a_launch_brings_are_open_before_it_is_ready"
world admit "what is resumed meanwhile loses its files" capacity.c \
	's/if \(!rows_bool\(claimed, 0, "claimed"\)\)/if (false)/' \
	"what_is_resumed_meanwhile_keeps_its_files"
world admit "files go under living processes" capacity.c \
	's/ \|\| !gone\)/)/' \
	"a_workspace_with_processes_stays"
world admit "init's list does not count" capacity.c \
	'/^is_dead/,/^}/{/str_equal\(cells/{n;s/return false;/(void)0;/}}' \
	"a_workspace_with_processes_stays"
world snapshot "a snapshot may be of any size" snapshot_control.c \
	's/if \(s->sandbox.disk_mb > 0 && s->sandbox.disk_mb << 20 < \*bytes\)/if (false)/' \
	"one_is_no_larger_than_its_sandbox_may_be"

# ---- ports, and sessions that are frozen

world port "a relay that is gone has not closed" relay_control.c \
	'/^has_ended/,/^}/s/e->code == CODE_WRAPPER_UNAVAILABLE/false/' \
	"a_wrapper_that_is_gone_has_closed_its_ports"
world port "a relay of the next life has not closed" relay_control.c \
	'/^has_ended/,/^}/s/e->code == CODE_STALE_GENERATION/false/' \
	"a_wrapper_that_is_gone_has_closed_its_ports"
world port "a port of what starts has failed" relay_control.c \
	's/if \(!y->listens \|\| !y->here\)/if (!y->here)/' \
	"a_port_waits_for_a_session_that_starts"
world suspend "what goes on is thawed again" suspend.c \
	'/^resume_locked/,/^}/s/if \(s.state == SESSION_READY\)/if (false)/' \
	"what_is_suspended_goes_on"
world suspend "what was stopped goes on" suspend.c \
	's/if \(!rows_bool\(r, 0, "applied"\)\)/if (false)/' \
	"what_was_stopped_while_it_went_on_is_started_again"
world suspend "an order that was overtaken condemns" suspend.c \
	's/if \(!is_overtaken\(&why\) &&/if (/' \
	"an_order_that_was_overtaken_stops_nothing"
world suspend "ports stay as they were when it was frozen" suspend.c \
	's/if \(rows_bool\(r, 0, "has_ports"\)\)/if (false)/' \
	"a_port_that_changed_meanwhile_is_told_when_it_goes_on"

# ---- processes and sandboxes of this host

unit provider/proc "a number is a process" provider/host/proc.c \
	's/now.pid == p->pid && now.start == p->start/now.pid == p->pid/' \
	"a_process_is_its_number_and_its_start"
unit provider/proc "a zombie lives" provider/host/proc.c \
	"s/\\*found = out->state != 'Z' && out->state != 'X';//" \
	"a_zombie_is_absent"
conforms() { red "$1" "src/provider/$2" "$3" t/provider/conformance t/provider/conformance-local.t "$4"; }
conforms "another boot's processes are killed" local/end.c \
	'/^kill_recorded/,/^}/s/if \(!str_equal\(pr.boot_id, p->boot_id\)\)/if (false)/' \
	"a_process_of_this_boot_is_not_killed_for_another_s"
conforms "a lock without an owner is not waited for" local/end.c \
	's/if \(rc < 0 && e->kind != ERR_BUSY\)/if (rc < 0)/' \
	"a_lock_without_an_owner_is_waited_for"
conforms "an end is begun past the fence" local/end.c \
	'/^record_the_end/,/^}/s/record_check_end\(r, incarnation, \*runs, destroy, e\) < 0/false/' \
	"ends_are_begun_side_by_side_behind_the_fence"
conforms "a sandbox that runs again is gone" local/seen.c \
	's/add_box_names\(stores, NULL, out, count\);//;s/add_box_names\(groups, NULL, out, count\);//' \
	"one_that_was_destroyed_and_runs_again_is_listed"
conforms "a destroyed sandbox leaves its log" local/end.c \
	's/box_forget\(&b\);//' \
	"of_what_is_destroyed_a_tombstone_is_left"
conforms "what cannot be told does not run" local/seen.c \
	'/^local_may_run/,/^}/s/\*out = true;/*out = false;/' \
	"a_process_of_this_boot_is_not_killed_for_another_s"
conforms "a start that is slow is killed" local/ensure.c \
	's/if \(rc == 0 \|\| e->code == CODE_TIMED_OUT\)/if (rc == 0)/' \
	"a_start_that_is_slow_may_come_yet"
conforms "a failed start leaves its socket" local/ensure.c \
	'/^clean_up/,/^}/s/unlink\(path\);//' \
	"a_start_that_fails_says_why_and_leaves_nothing"
conforms "any text is an incarnation" local/ensure.c \
	's/if \(check_spec\(s, e\) < 0 \|\|/if (/' \
	"an_incarnation_is_made_of_letters"
conforms "what cannot be read is not listed" local/seen.c \
	'/^local_list/,/^}/s/seen\[n\].presence = PRESENCE_UNKNOWN;/continue;/' \
	"one_that_cannot_be_read_is_listed_as_unknown"
conforms "another installation's sandbox is seen" local/seen.c \
	's/if \(!\*ours\) \{/if (false) {/' \
	"a_list_has_what_is_ours_and_nothing_else"
conforms "whoever is silent never answered" local/seen.c \
	's/out->unanswered = r.state == RECORD_STARTING;/out->unanswered = true;/' \
	"a_list_has_what_is_ours_and_nothing_else"
conforms "a group that cannot be found is empty" local/local.c \
	'/^cell_gone/,/^}/{/&count, e\) < 0\)/{n;s/return -1;/count = 0;/}}' \
	"one_that_cannot_be_read_is_listed_as_unknown"
red "the kernel's count does not count" src/provider/local/local.c \
	'/^cell_gone/,/^}/s/if \(count > 0\)/if (false)/' \
	t/provider/conformance t/provider/conformance-cgroup.t \
	"a_wrapper_is_launched_proved_seen_and_killed"

# ---- files on the disk

unit provider/storage "a disk that is not mounted has lost everything" provider/store/storage.c \
	'/^storage_exists/,/^}/s/ \|\| storage_check\(p, e\) < 0//' \
	"without_storage_nobody_can_tell"
api api/storage "another disk is this host's" provider/store/storage_id.c \
	'/^storage_check/,/^}/s/str_equal\(id, p->storage_id\)/true/' \
	"another disk is refused until somebody says that it is right"
api api/storage "a host takes what it finds" control/storage_claim.c \
	'/^storage_claim/,/^}/s/if \(p->ops->storage_id == NULL\)/if (true)/' \
	"a disk that is not mounted makes nobody lost"
reaper api/snapshots "nobody looks for the files of snapshots" reaper/snapshots.c \
	's/^\tcorrect_rows\(p, text\);/\t(void)correct_rows;/' \
	"the reaper finds that files are gone and that they are back"
api api/snapshots "what is found missing is not told" control/launch.c \
	's/if \(e->code == CODE_SNAPSHOT_LOST\)/if (false)/' \
	"whoever needs it finds that its files are gone"
unit provider/storage "what cannot be looked for is lost" provider/store/storage.c \
	's/return errno == ENOENT \|\| errno == ENOTDIR$/return true/' \
	"without_storage_nobody_can_tell"
unit provider/storage "half of a session's files are all" provider/store/storage.c \
	's/KEPT = 2/KEPT = 1/' \
	"half_of_it_is_not_there"
unit provider/storage "a link is a directory" provider/store/storage.c \
	'/^is_dir/,/^}/s/AT_SYMLINK_NOFOLLOW/0/' \
	"half_of_it_is_not_there"
unit provider/storage "any path is a session's" provider/store/storage.c \
	'/^storage_drop\(/,/^}/s/if \(check_session\(session, e\) < 0\)/if (false)/' \
	"only_a_session_s_own_files_are_dropped"
unit provider/storage "a copy outlives its session" provider/store/storage.c \
	'/^storage_drop\(/,/^}/s/storage_drop_copy\(p, box, session, e\) < 0 \|\|/false ||/' \
	"only_a_session_s_own_files_are_dropped"
unit provider/storage "half a copy is a session's" provider/store/copy.c \
	's/^\tif \(seen.state == JOB_RUNS\)$/\tif (false)/' \
	"what_is_being_written_is_left_alone"
unit provider/storage "any report is one of success" provider/store/job.c \
	's/number == NULL && out->entries >= 0 && out->bytes >= 0/number == NULL/' \
	"a_report_is_believed_when_it_makes_sense"
unit provider/storage "a job is begun twice" provider/store/job.c \
	's/O_RDWR \| O_CREAT \| O_EXCL \| O_CLOEXEC/O_RDWR | O_CREAT | O_CLOEXEC/' \
	"a_report_is_believed_when_it_makes_sense"
unit provider/storage "a snapshot is dropped while it is written" provider/store/snapshot.c \
	'/^snapshot_drop/,/^}/s/if \(seen.state == JOB_RUNS\)/if (false)/' \
	"what_is_being_written_is_left_alone"
unit provider/storage "any path is a snapshot's" provider/store/snapshot.c \
	'/^snapshot_drop/,/^}/s/if \(check_ref\(s, e\) < 0 \|\| /if (/' \
	"only_names_of_snapshots_are_dropped"
unit provider/storage "spares fill the disk" provider/store/snapshot.c \
	's/whole.bytes >= room_left\(p\) \|\|/false ||/' \
	"spares_are_for_disks_with_room"
unit provider/storage "spares stay on a full disk" provider/store/snapshot.c \
	's/if \(room_left\(p\) > 0\)/if (true)/' \
	"spares_are_for_disks_with_room"
unit provider/cgroup "more hierarchies are read than there is room for" provider/cgroup/text.c \
	's/ \|\| json_array_size\(at\) > CGROUP__MAX\)/)/' \
	"a_tree_is_read_as_it_was_written"
unit provider/cgroup "any leaf is the service's" provider/cgroup/find.c \
	's/ \|\| !str_equal\(leaf, "\/api"\)\)/)/' \
	"the_setting_finds_the_delegated_groups"
conforms "another installation's sessions are removed" local/parts.c \
	'/^open_ours/,/^}/s/if \(!ours\)/if (false)/' \
	"another_installation_s_sessions_are_not_listed"
conforms "half a ballast stays" local/disk.c \
	'/rc = posix_fallocate/,/^}/s/unlink\(path\);//' \
	"half_a_ballast_is_none"
red "who lives in a cell is not in its sandbox" src/provider/cgroup/procs.c \
	'/^visit_groups/,/^}/s/cgroup_is_ours\(\*n\)/false/' \
	t/provider/conformance t/provider/conformance-cgroup.t \
	"a_group_without_a_directory_is_found"
world port "a port that changed meanwhile is settled" relay_control.c \
	's/return done \? 0 : 1;/return 0;/' \
	"a_port_that_changed_meanwhile_is_told_again"
world port "a relay that listens is made again" relay_control.c \
	's/agent_exposes\(&ctl->provider, &y.target, port, true\)\)\)/false))/' \
	"a_relay_that_listens_is_not_made_again"
world look "a dead init's cells stay frozen" discover.c \
	's/if \(seen.presence == PRESENCE_RUNNING\)/if (false)/' \
	"a_sandbox_that_runs_and_is_silent_is_thawed"
world suspend "a freeze that was overtaken has failed" suspend.c \
	's/if \(!frozen && is_overtaken\(&why\)\)/if (false)/' \
	"an_order_that_was_overtaken_stops_nothing"
world meanwhile "a change of env is told once" launch_diff.c \
	's/ROUNDS = 4/ROUNDS = 1/' \
	"a_wrapper_has_the_environment_of_its_row"
world meanwhile "nobody makes the next attempt of a stop" stop.c \
	's/if \(due_ms < \*until_ms\)/if (false)/' \
	"who_waits_for_a_stop_makes_its_next_attempt"
world meanwhile "what was taken out of env stays" launch_diff.c \
	's/agent_env\(&ctl->provider, t, env, true,/agent_env(\&ctl->provider, t, env, false,/' \
	"a_wrapper_has_the_environment_of_its_row"
world port "a cut is as new as the opening" relay_control.c \
	's/y->order - 1/y->order/' \
	"a_cut_comes_before_the_opening_it_is_for"
agent sandbox/writable "changes of the root are nobody's disk" init/disk_usage.c \
	's/if \(i < PARTS_ALWAYS \|\| .*/if (i < PARTS_ALWAYS)/' \
	"what it writes counts for its disk"
agent sandbox/writable "the sandbox's root stays mounted" cell/root.c \
	's/if \(umount2\("\.", MNT_DETACH\) < 0\)/if (false)/' \
	"nothing that a session does to its root keeps it from waking"
agent sandbox/writable "/home can be renamed" cell/root.c \
	's/if \(mount\("home", "home", .*/if (false)/' \
	"nothing that a session does to its root keeps it from waking"
agent sandbox/writable "root's switches are open" cell/root.c \
	'/^lock_sysctls/,/^}/s/MS_RDONLY \| //' \
	"nothing that a session does to its root keeps it from waking"
agent sandbox/writable "chown has an effect" base/sysfilter.c \
	's/if \(root && install/if (root \&\& ROOT_PROGRAM[0].code > 0xfff \&\& install/' \
	"packages are installed"
