/*
 * lease.pml: a model of the lease of one session, with all programs that may
 * change it.
 *
 * What is modelled
 *   - the rows of one session: its state, its lease, its sandbox's own lease.
 *     Every SQL function is one atomic step, as sql/functions/lease_apply.sql,
 *     session_start.sql, session_stop.sql and sandbox_lease.sql write it.  The
 *     rows of TABLE are those of lease_transition (t/sql/transitions.t compares).
 *   - the host's record of a sandbox (src/provider/box/record.c) and its flock:
 *     ensure, stop and destroy are one step each, which may fail, or die in the
 *     middle (record written, nothing started; record written, nothing killed).
 *   - init (src/agent/init/ops.c): its cells and its memory of seals, per
 *     incarnation; both die with it.  Messages carry incarnation and generation.
 *   - workers (src/control/start.c, launch.c, outcome.c, evidence.c, wave.c,
 *     finish.c, sandbox_control.c, cell_control.c) and reapers
 *     (src/reaper/parts.c, reconcile.c), step by step.  Between any two steps
 *     each of them may be killed (MAY_DIE) or stand still for any time: the
 *     interleaving of processes means just that.
 *   - the world: wrappers and inits die at any time, watchdogs and backoffs run
 *     out at any time.
 *   - WARM: the sandbox and the wrapper of generation 1 ran before the create.
 *   - SHARED: a sibling's session uses, starts and leaves the same sandbox.
 *     Without it the sandbox is the session's own, and ends with it.
 *
 * What is abstracted
 *   - Locks.  The advisory lock around provider calls is not here at all: it is
 *     lost whenever PostgreSQL restarts, and safety must not rest on it.  So a
 *     restart of PostgreSQL needs no step of its own.
 *   - Time: a deadline that is set may have passed, or not, at any moment.
 *   - Instances: each generation has one, so the generation stands for both.
 *     An incarnation likewise stands for its epoch.
 *   - Attempt ids: random and never reused.  Here each actor has one id and uses
 *     it again and again: an actor that begins a new attempt has forgotten the
 *     last, and no other actor ends it.
 *   - A look may always fail ("could not tell"); it says "absent" only if that
 *     is true at that moment.
 *   - A tombstone of the host's record stays for ever.  In reality it stays
 *     for an hour, and a request that is older than its deadline starts nothing.
 *   - Hosts and boots: one.
 *   - GENS generations and INCS incarnations; a start beyond them does not happen.
 *   - WORKERS + REAPERS at work at the same time; any number one after the other.
 *   - Which processes of a session there are beside its wrapper: the cell.
 *   - Waves: of a wave of stops only what concerns this session; the others have
 *     rows and cells of their own.
 *   - Suspension: a frozen session has a wrapper that lives, under a lease that
 *     owns it; freezing and thawing neither make nor end a wrapper.  Their own
 *     fence, the order, is tested by t/sql/suspend.t.
 *   - The end of a stranger (a cell whose lease is `none`): wrappers die at any
 *     time anyway.
 *
 * What is checked
 *   safety, by assert():
 *     one wrapper   when a wrapper appears no other of the session is alive
 *     released      a lease becomes `none` only when no wrapper is alive
 *     no late one   no wrapper appears of a generation that was released, and no
 *                   sandbox of an incarnation that was seen down
 *     no bystander  what is ended is no later than what its stop was for
 *     honest        a session is `ready` only by the proof of its own generation
 *     deleted       a deleted session has no wrapper and no sandbox of its own
 *   liveness, by ltl `deletion`: once the world is calm (nothing dies, every
 *   look succeeds), a session that is being deleted ends as deleted.
 *
 * Mutants: -DNO_SEAL, -DRESTART_ONLY_LOOKS, -DNO_GENERATION, -DNO_SEEN,
 * -DNO_ATTEMPT, -DNO_INCARNATION, -DNO_RECORD, -DBEGIN_AGAIN, -DNO_GONE_FENCE,
 * -DNO_KILL_FENCE each take one fence out; each must be found.  -DNO_EXPIRY and -DNO_RETRY
 * break liveness.  RESTART_ONLY_LOOKS (a restart looked without sealing) and
 * BEGIN_AGAIN (an incarnation whose start had no seen end could start twice) are
 * faults that the code had until this model showed them.
 *
 * By hand, and how to read what it finds:
 *
 *     spin -DNO_SEAL -a lease.pml
 *     cc -O1 -DSAFETY -DBFS -o pan pan.c && ./pan  # the shortest way to it
 *     spin -DNO_SEAL -t -p -g lease.pml
 *
 * The trail is a list of steps, oldest first: process, line, statement, and the
 * globals that it changed.  The first actor is the worker that has just
 * committed the create: generation 1 in incarnation 1, nothing started yet.
 * Statements of one atomic block stand together; where another process comes in
 * between, this one was paused there, and where it goes to `top`, it was killed
 * or had finished.  `start 1` and `launch 1 in 1` are printed when processes
 * appear.  The last line is the assert() that failed.
 */

#ifndef GENS
#define GENS 2
#endif
#ifndef INCS
#define INCS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef REAPERS
#define REAPERS 0
#endif
#define ACTORS (WORKERS + REAPERS)

/* ---- the rows */

mtype = { none, owns_wrapper, stop_needed, stopping };
mtype = { allocate, startup_verified, delivery_accepted, retain_warm, reuse,
	owned_absent, request_stop, begin_stop_attempt, stop_absent,
	stop_not_confirmed, stop_attempt_expired };
mtype = { initializing, ready, sleeping, asleep, failed, lost, deleting, deleted };
mtype = { absent, creating, running, stopped, destroying };

mtype session = initializing;
mtype lease = owns_wrapper;
byte gen = 1;        /* lease.generation */
byte attempt;        /* lease.attempt_id, 0: none */
mtype box = creating; /* sandbox.state */
byte inc = 1;        /* sandbox.incarnation */
bool sibling;        /* another session's lease in it is not `none` */

/*
 * Deadlines.  For safety each may have passed at any time, so it always has;
 * liveness wants to know that time goes on.
 */
#ifdef LIVENESS
bool due;             /* next_attempt_at has come */
bool overdue;         /* attempt_deadline has passed */
bool starting = true; /* a startup deadline is set */
#define DUE due
#define OVERDUE overdue
#define STARTING starting
#define SET(deadline, value) deadline = value
#else
#define DUE true
#define OVERDUE true
#define STARTING true
#define SET(deadline, value) skip
#endif

/* ---- the host */

mtype = { no_record, begun, live, ended, destroyed };
mtype rec = no_record; /* the host's record of the sandbox */
byte rec_inc;
byte past;           /* incarnations that were on record, a bit each */

bool runs[INCS + 1];   /* an init of that incarnation is alive */
byte cells[INCS + 1];  /* its wrappers of our session: a bit per generation */
byte sealed[INCS + 1]; /* its memory: generations up to this one are over */

#if INCS == 2
#define WRAPPERS (cells[1] | cells[2])
#define RUNS (runs[1] || runs[2])
#else
#define WRAPPERS (cells[1] | cells[2] | cells[3])
#define RUNS (runs[1] || runs[2] || runs[3])
#endif
#define RUNS_BY_ROW(b) ((b) == creating || (b) == running)

/* ---- what a step needs for itself */

mtype was, answer;
bool ok, applied;
byte heard;

/* ---- variables for the checks */

bool calm;          /* from here on nothing dies and every look succeeds */
byte released;      /* the highest generation whose lease was released */
byte over;          /* the highest incarnation that was settled as down */
byte held[ACTORS];  /* attempts that an actor works on */

/* ---- lease_apply.sql */

#ifdef NO_GENERATION
#define FENCE_instance true
#else
#define FENCE_instance ((of_gen) == gen)
#endif
#ifdef NO_ATTEMPT
#define FENCE_attempt true
#else
#define FENCE_attempt ((of_attempt) == attempt)
#endif
#define FENCE_nothing true
#define FENCE_due DUE
#ifdef NO_EXPIRY
#define FENCE_expired false
#else
#define FENCE_expired ((of_attempt) == attempt && OVERDUE)
#endif

#define ROW(from, event, to, fence) \
	:: (ev) == event && lease == from && fence -> was = from; lease = to; applied = true

inline lease_apply(ev, of_gen, of_attempt)
{
	d_step {
	applied = false;
	was = lease;
	if
	ROW(none,         allocate,             owns_wrapper, FENCE_nothing)
	ROW(none,         request_stop,         stop_needed,  FENCE_nothing)
	ROW(owns_wrapper, startup_verified,     owns_wrapper, FENCE_instance)
	ROW(owns_wrapper, delivery_accepted,    owns_wrapper, FENCE_instance)
	ROW(owns_wrapper, retain_warm,          owns_wrapper, FENCE_instance)
	ROW(owns_wrapper, reuse,                owns_wrapper, FENCE_instance)
	ROW(owns_wrapper, owned_absent,         none,         FENCE_instance)
	ROW(owns_wrapper, request_stop,         stop_needed,  FENCE_nothing)
	ROW(stop_needed,  request_stop,         stop_needed,  FENCE_nothing)
	ROW(stopping,     request_stop,         stopping,     FENCE_nothing)
	ROW(stop_needed,  begin_stop_attempt,   stopping,     FENCE_due)
	ROW(stopping,     stop_absent,          none,         FENCE_attempt)
	ROW(stopping,     stop_not_confirmed,   stop_needed,  FENCE_attempt)
	ROW(stopping,     stop_attempt_expired, stop_needed,  FENCE_expired)
	:: else
	fi;
	if
	:: !applied
	:: else ->
		if
		:: (ev) == allocate -> gen++; SET(starting, true)
		:: (ev) == startup_verified || (ev) == reuse -> SET(starting, true)
		:: (ev) == delivery_accepted || (ev) == retain_warm -> SET(starting, false)
		:: (ev) == owned_absent || (ev) == stop_absent ->
			assert(WRAPPERS == 0); /* released */
			released = gen;
			attempt = 0; SET(starting, false); SET(due, false); SET(overdue, false)
		:: (ev) == request_stop && was != lease -> SET(due, true); SET(starting, false)
		:: (ev) == request_stop && was == lease /* the first one is kept */
		:: (ev) == begin_stop_attempt -> attempt = of_attempt; SET(overdue, false)
		:: (ev) == stop_not_confirmed || (ev) == stop_attempt_expired ->
			attempt = 0; SET(due, false); SET(overdue, false)
		fi
	fi
	}
}

/* ---- session_stop.sql, session_start.sql, sandbox_lease.sql */

/* wish: deleting, failed or sleeping; only: a generation or 0; must: also what sleeps */
inline session_request_stop(wish, only, must)
{
	if
	:: session == deleting || session == deleted
	:: else ->
		if
		:: only != 0 && only != gen /* the start that failed is not the one under way */
		:: wish == failed && session != initializing && session != ready
		:: else ->
			if
			:: wish == sleeping && (session == asleep || session == sleeping ||
			    session == failed || session == lost) ->
				if
				:: must -> lease_apply(request_stop, 0, 0)
				:: else
				fi
			:: else ->
				lease_apply(request_stop, 0, 0);
				session = wish
			fi
		fi
	fi
}

inline sandbox_settle(of_inc, to)
{
	if
	:: inc == of_inc && (box != destroying || to == absent) &&
	    (to != running || RUNS_BY_ROW(box)) ->
		box = to;
		if
		:: to != running -> over = inc
		:: else
		fi
	:: else
	fi
}

/* ok: granted */
inline sandbox_retire(of_inc, destroy)
{
	ok = inc == of_inc;
	ok = ok && lease == none && !sibling &&
	    (!(destroy) || session == deleting || session == deleted);
	if
	:: ok && (destroy) -> box = destroying
	:: else
	fi
}

/* A new incarnation unless one is wanted already. */
inline sandbox_want()
{
	if
	:: RUNS_BY_ROW(box)
	:: else -> inc++; box = creating
	fi
}
#define MAY_WANT (box != destroying && (RUNS_BY_ROW(box) || inc < INCS))

/* The look was at (lease, gen) == (s, g); if that changed it counts for nothing. */
inline session_restart()
{
	ok = false;
	if
	:: session == deleting || session == deleted || session == lost
	:: lease == stop_needed || lease == stopping
#ifndef NO_SEEN
	:: lease != s || gen != g
#endif
	:: !MAY_WANT || gen == GENS
	:: else ->
		if
		:: lease == owns_wrapper -> lease_apply(owned_absent, gen, 0)
		:: else
		fi;
		session = initializing;
		sandbox_want();
		lease_apply(allocate, 0, 0);
		g = gen; i = inc; b = box;
		ok = true
	fi
}

inline session_verified()
{
	sandbox_settle(i, running);
	lease_apply(startup_verified, g, 0);
	if
	:: applied ->
		assert(g == gen); /* honest */
		lease_apply(retain_warm, g, 0);
		if
		:: session == initializing -> session = ready
		:: else
		fi
	:: else
	fi
}

/* fenced: the look was at incarnation of_inc. */
inline session_sandbox_gone(of_inc, of_gen, fenced, to)
{
	if
#ifndef NO_GONE_FENCE
	:: fenced && inc != of_inc
#endif
	:: else ->
		lease_apply(owned_absent, of_gen, 0);
		if
		:: (applied || lease == none) && (session == ready ||
		    session == initializing || session == asleep || session == sleeping) ->
			session = to
		:: else
		fi
	fi
}

inline session_stop_end(of_attempt_, gone)
{
	if
	:: gone -> lease_apply(stop_absent, 0, of_attempt_)
	:: else -> lease_apply(stop_not_confirmed, 0, of_attempt_)
	fi;
	if
	:: applied && gone && session == sleeping -> session = asleep
	:: else
	fi
}

/* ---- the host: record.c, local/ensure.c, local/end.c */

#define IS_CURRENT(n) (rec != no_record && rec_inc == n)
#define IS_PAST(n) ((past >> n) & 1)

inline kill_all()
{
	d_step {
		runs[1] = false; cells[1] = 0; sealed[1] = 0;
		runs[2] = false; cells[2] = 0; sealed[2] = 0;
#if INCS > 2
		runs[3] = false; cells[3] = 0; sealed[3] = 0;
#endif
	}
}

inline record_retire()
{
	if
	:: rec != no_record && rec_inc != 0 -> past = past | (1 << rec_inc)
	:: else
	fi
}

#ifdef BEGIN_AGAIN
#define MAY_BEGIN_AGAIN(n) (IS_CURRENT(n) && rec == begun && !RUNS)
#else
#define MAY_BEGIN_AGAIN(n) false
#endif

/* ok: it runs and answers. */
inline ensure(n)
{
	ok = false;
	if
	:: !calm /* it cannot be reached, or takes too long */
#ifdef NO_RECORD
	:: IS_CURRENT(n) && RUNS -> rec = live; ok = true
	:: !(IS_CURRENT(n) && RUNS) ->
#else
	:: IS_CURRENT(n) && (rec == begun || rec == live) && RUNS -> rec = live; ok = true
	:: IS_CURRENT(n) && !((rec == begun || rec == live) && RUNS) && !MAY_BEGIN_AGAIN(n)
	:: !IS_CURRENT(n) && rec != no_record && (IS_PAST(n) || n <= rec_inc) /* stale */
	:: rec == no_record || MAY_BEGIN_AGAIN(n) ||
	    (!IS_CURRENT(n) && !IS_PAST(n) && n > rec_inc) ->
#endif
		kill_all();
		if
		:: rec_inc != n -> record_retire()
		:: else
		fi;
		rec = begun; rec_inc = n;
		if
		:: !calm /* killed before the fork */
		:: true ->
			assert(n > over); /* no late one */
			runs[n] = true;
			printf("start %d\n", n);
			if
			:: !calm /* killed before it answered */
			:: true -> rec = live; ok = true
			fi
		fi
	fi
}

/* ok: nothing of it runs, and nothing of it will. */
inline end(n, destroy)
{
	ok = false;
	if
	:: !calm
	:: !(rec == no_record || rec_inc == n) && RUNS /* is not the one that runs */
	:: !(rec == no_record || rec_inc == n) && !RUNS && (destroy) && IS_PAST(n) &&
	    rec != destroyed /* older than the one on record */
	:: rec == no_record || rec_inc == n ||
	    (!RUNS && !((destroy) && IS_PAST(n) && rec != destroyed)) ->
		if
		:: !IS_CURRENT(n) && !IS_PAST(n) -> record_retire(); rec_inc = n
		:: else
		fi;
		if
		:: (destroy) -> rec = destroyed
		:: !(destroy) && rec != destroyed -> rec = ended
		:: else
		fi;
		if
		:: !calm /* killed before it killed */
		:: true -> kill_all(); ok = true
		fi
	fi
}

/* ---- init: cells.c, init/ops.c */

#ifdef NO_INCARNATION
/* any init takes any message */
#define HEARS(n) RUNS
#define HEARD_BY(n) (runs[n] -> n : (runs[1] -> 1 : 2))
#else
#define HEARS(n) runs[n]
#define HEARD_BY(n) n
#endif

inline seal(n, upto)
{
#ifndef NO_SEAL
	if
	:: upto > sealed[n] -> sealed[n] = upto
	:: else
	fi
#else
	skip
#endif
}

#ifdef NO_KILL_FENCE
#define IS_STALE_KILL(n, upto) false
#else
#define IS_STALE_KILL(n, upto) ((cells[n] >> (upto + 1)) != 0)
#endif

inline end_cells(n, upto)
{
	if
	:: IS_STALE_KILL(n, upto)
	:: else ->
		assert((cells[n] >> (upto + 1)) == 0); /* no bystander */
		cells[n] = 0
	fi
}

mtype = { fine, stale, refused, silence };
inline launch(n, which)
{
	if
	:: !calm -> answer = silence
	:: !HEARS(n) -> answer = silence
	:: HEARS(n) ->
		heard = HEARD_BY(n);
		if
		:: which <= sealed[heard] -> answer = stale
		:: which > sealed[heard] && cells[heard] != 0 -> answer = refused
		:: which > sealed[heard] && cells[heard] == 0 ->
			assert(WRAPPERS == 0);   /* one wrapper */
			assert(which > released); /* no late one */
			cells[heard] = cells[heard] | (1 << which);
			printf("launch %d in %d\n", which, heard);
			if
			:: !calm -> answer = silence
			:: true -> answer = fine
			fi
		fi
	fi
}

/* ---- workers and reapers */

#if ACTORS == 1
#define HELD(n) (held[0] == n)
#elif ACTORS == 2
#define HELD(n) (held[0] == n || held[1] == n)
#else
#define HELD(n) (held[0] == n || held[1] == n || held[2] == n)
#endif

/* Every step ends with one of these, which clears the step's own variables. */
inline tidy()
{
	d_step { was = 0; applied = false; ok = false; answer = 0; heard = 0 }
}
inline forget()
{
	d_step { g = 0; i = 0; k = 0; s = 0; b = 0; back = 0; gone = false; held[me] = 0 };
	tidy()
}
#define GO(where) tidy(); goto where
#define OVER forget(); goto top
#define MAY_DIE if :: !calm -> OVER :: true fi

mtype = { to_start, to_stop, to_retire, to_reconcile };

/*
 * For safety each actor may do any step next: a worker and a reaper differ only
 * in the steps they begin.  For liveness a reaper goes through the parts of its
 * pass in their order, again and again.
 */
#ifdef LIVENESS
#define CALLER !is_reaper
#define PART(n) is_reaper && part == n
#define NEXT part = (part + 1) % 7
#else
#define CALLER true
#define PART(n) true
#define NEXT skip
#endif

proctype actor(byte me; bool is_reaper; bool creates)
{
	byte g, i, k;       /* generation and incarnation that it read or was given */
	mtype s, b;         /* the lease's and the sandbox's state that it read */
	mtype back;
	bool gone;
#ifdef LIVENESS
	byte part;
#endif

	if
#ifdef WARM
	:: creates -> g = 1; i = 1; goto prove /* the adoption is its proof */
#else
	:: creates -> g = 1; i = 1; b = creating; goto act
#endif
	:: else
	fi;

top:
end_idle:
	if
	/* ---- what a caller wants */
	:: atomic { CALLER && session != deleted && session != lost &&
	    session != deleting && lease != stopping -> /* start.c: read */
		if
		:: lease == stop_needed -> GO(stop)
		:: else -> s = lease; g = gen; i = inc; b = box; GO(look)
		fi }
	:: atomic { CALLER && session != deleted && session != deleting ->
		session_request_stop(sleeping, 0, false); GO(stop) }
	:: atomic { CALLER && session != deleted ->
		session_request_stop(deleting, 0, false); GO(stop) }
	:: atomic { CALLER && session == ready && STARTING -> /* work is admitted */
		lease_apply(delivery_accepted, gen, 0); OVER }

	/* ---- the parts of a pass */
	:: atomic { PART(0) && lease == stopping && OVERDUE -> /* watchdogs */
		NEXT; held[me] = attempt; goto watchdog }
	:: atomic { PART(1) && lease == owns_wrapper && STARTING -> /* late starts */
		NEXT; g = gen; i = inc; goto late_start }
	:: atomic { PART(2) && session == ready && lease == owns_wrapper -> /* idle */
		NEXT; session_request_stop(sleeping, 0, false); GO(stop) }
	:: atomic { PART(3) && lease == stop_needed && DUE -> NEXT; goto stop }
	:: atomic { PART(4) && session == deleting && lease == none -> NEXT; goto finish }
	:: atomic { PART(5) && RUNS_BY_ROW(box) && lease == none && !sibling -> /* idle sandboxes */
		NEXT; i = inc; goto retire }
#if !defined(SHARED) || defined(LIVENESS) /* checked with a sandbox of its own */
	:: atomic { PART(6) -> /* reconcile: the list, then the rows; it may fail */
		NEXT;
		if
		:: RUNS -> k = rec_inc
		:: else -> k = 0
		fi;
		goto compare }
#endif
#if !defined(SHARED) && !defined(LIVENESS)
	:: atomic { session == ready && lease == owns_wrapper -> /* cells: it is missing */
		g = gen; i = inc; goto missing }
#endif
#ifdef LIVENESS
	:: atomic { is_reaper && !(
	    (part == 0 && lease == stopping && overdue) ||
	    (part == 1 && lease == owns_wrapper && starting) ||
	    (part == 3 && lease == stop_needed && due) ||
	    (part == 4 && session == deleting && lease == none) ||
	    (part == 5 && RUNS_BY_ROW(box) && lease == none && !sibling)) && part != 6 ->
		NEXT; goto top } /* nothing is due, or it does not look idle */
#endif
	fi;

watchdog:
	atomic { MAY_DIE; lease_apply(stop_attempt_expired, 0, held[me]); OVER };

late_start:
	atomic { /* the wrapper is asked whether it has work */
		MAY_DIE;
		if
		:: !calm -> OVER
		:: runs[i] && (cells[i] >> g) & 1 -> lease_apply(delivery_accepted, g, 0); OVER
		:: !STARTING -> OVER /* ready meanwhile */
		:: STARTING -> session_request_stop(failed, g, false); GO(stop)
		fi
	};

#if !defined(SHARED) && !defined(LIVENESS)
missing: /* cell_control.c */
	atomic {
		MAY_DIE;
		if
		:: HEARS(i) ->
			heard = HEARD_BY(i);
			seal(heard, g);
			if
			:: cells[heard] == 0 -> tidy()
			:: else -> OVER
			fi
		:: !calm || !HEARS(i) -> OVER
		fi
	};
	atomic { MAY_DIE; session_sandbox_gone(i, g, true, asleep); OVER };
#endif

compare:
	atomic {
		MAY_DIE;
		i = inc; b = box;
		if
		:: k == 0 && RUNS_BY_ROW(b) -> back = to_reconcile; goto sandbox_gone
		:: k == 0 -> OVER /* or a start still has time */
		:: k != 0 && RUNS_BY_ROW(b) && k == i -> OVER
		:: k != 0 && !(RUNS_BY_ROW(b) && k == i) -> i = 0
		fi
	};
	atomic {
		MAY_DIE;
		if
		:: b == absent && (session == deleted || session == deleting) -> end(k, true)
		:: else -> end(k, false)
		fi;
		OVER
	};

	/* ---- start.c */
look:	atomic {
		MAY_DIE;
		if
		:: HEARS(i) ->
			heard = HEARD_BY(i);
			if
#ifdef RESTART_ONLY_LOOKS
			:: cells[heard] == 0 -> GO(restart)
#else
			:: cells[heard] == 0 && s == owns_wrapper -> GO(final)
			:: cells[heard] == 0 && s != owns_wrapper -> GO(restart) /* sealed already */
#endif
			:: s == owns_wrapper && cells[heard] == (1 << g) -> s = 0; GO(again)
			:: else -> GO(refuse)
			fi
		:: !calm || !HEARS(i)
		fi
	};
	atomic { /* is its sandbox down? */
		MAY_DIE;
		if
		:: !RUNS_BY_ROW(b) && b != destroying -> goto restart /* its end was seen */
		:: !calm && (RUNS_BY_ROW(b) || b == destroying) -> goto refuse
		:: RUNS && (RUNS_BY_ROW(b) || b == destroying) -> goto refuse
		:: !RUNS && RUNS_BY_ROW(b) -> s = 0; g = 0; b = 0; back = to_start; goto sandbox_gone
		:: !RUNS && b == destroying -> goto restart
		fi
	};

#ifndef RESTART_ONLY_LOOKS
final:	atomic { /* what was absent must not come late: seal, then list */
		MAY_DIE;
		if
		:: HEARS(i) ->
			heard = HEARD_BY(i);
			seal(heard, g);
			if
			:: cells[heard] == 0 -> GO(restart)
			:: else -> OVER /* it came after the look: look again */
			fi
		:: !calm || !HEARS(i) -> OVER
		fi
	};
#endif

restart:
	atomic {
		MAY_DIE;
		session_restart();
		if
		:: ok -> s = 0; GO(act)
		:: else -> OVER
		fi
	};

again:	atomic { /* our wrapper: reuse it, or prove it if that was not done */
		MAY_DIE;
		if
		:: session == ready -> lease_apply(reuse, g, 0)
		:: else
		fi;
		GO(prove)
	};

refuse:	atomic { MAY_DIE; session_request_stop(sleeping, 0, true); OVER };

act:	atomic {
		MAY_DIE;
		if
#ifndef SHARED
		:: g > 1 && !calm -> /* its files are gone: no other launches g */
			session_sandbox_gone(0, g, false, lost); OVER
#endif
		:: b == creating ->
			ensure(i);
			if
			:: !ok -> OVER /* stale, or undecided */
			:: !ok -> GO(failure)
			:: ok -> tidy()
			fi
		:: b != creating
		fi;
		b = 0
	};
	atomic {
		MAY_DIE;
		launch(i, g);
		if
		:: answer == fine -> tidy()
		:: answer == stale || answer == silence -> OVER
		:: answer == silence || answer == refused -> GO(failure)
		fi
	};
prove:	atomic {
		MAY_DIE;
		if
		:: HEARS(i) && cells[HEARD_BY(i)] == (1 << g)
		:: !calm || !(HEARS(i) && cells[HEARD_BY(i)] == (1 << g)) -> OVER
		:: !calm || !(HEARS(i) && cells[HEARD_BY(i)] == (1 << g)) -> goto failure
		fi
	};
	atomic { MAY_DIE; session_verified(); OVER };

failure:
	atomic {
		MAY_DIE;
		if
		:: !calm -> g = 0; b = 0; back = to_start; goto sandbox_gone /* evidence.c */
		:: true -> session_request_stop(failed, g, false); GO(stop)
		fi
	};

	/* ---- wave.c, of one */
stop:	atomic {
		MAY_DIE;
		forget();
		lease_apply(begin_stop_attempt, 0, me + 1);
		if
		:: applied -> held[me] = me + 1; tidy()
		:: else -> OVER
		fi
	};
	atomic { MAY_DIE; g = gen; i = inc; b = box };
	atomic { /* seal, then list */
		MAY_DIE;
		if
		:: HEARS(i) ->
			heard = HEARD_BY(i);
			seal(heard, g);
			if
			:: cells[heard] == 0 -> g = 0; gone = true; GO(stop_end)
			:: else -> tidy()
			fi
		:: !calm || !HEARS(i) -> g = 0; goto without_init
		fi
	};
	atomic { /* SIGTERM, SIGKILL: may come late, and name their generation */
		MAY_DIE;
		if
		:: HEARS(i) -> heard = HEARD_BY(i); end_cells(heard, g); g = 0; tidy()
		:: !calm -> g = 0 /* survives */
		:: !calm || !HEARS(i) -> g = 0; goto without_init
		fi
	};
	atomic { /* the last look */
		MAY_DIE;
		if
		:: HEARS(i) -> gone = cells[HEARD_BY(i)] == 0; goto stop_end
		:: !calm || !HEARS(i)
		fi
	};
without_init:
	atomic {
		MAY_DIE;
		if
		:: !RUNS_BY_ROW(b) && b != destroying -> gone = true; goto stop_end
		:: !calm && (RUNS_BY_ROW(b) || b == destroying) -> goto stop_end
		:: RUNS && (RUNS_BY_ROW(b) || b == destroying) -> goto stop_end
		/* its init has never answered: nothing in it was promised */
		:: RUNS && rec == begun && rec_inc == i && RUNS_BY_ROW(b) ->
			b = 0; back = to_stop; goto sandbox_gone
		:: RUNS && rec == begun && rec_inc == i && b == destroying -> gone = true
		:: !RUNS && RUNS_BY_ROW(b) -> b = 0; back = to_stop; goto sandbox_gone
		:: !RUNS && b == destroying -> gone = true
		fi
	};
stop_end:
	atomic {
		MAY_DIE;
		session_stop_end(held[me], gone);
		held[me] = 0;
		b = 0;
#ifndef SHARED
		if
		:: gone && !(applied && session == deleting) -> gone = false; GO(retire)
		:: gone && applied && session == deleting && CALLER -> gone = false; GO(finish)
		:: else
		fi;
#endif
		OVER
	};

	/* ---- sandbox_control.c */
retire:	atomic {
		MAY_DIE;
		sandbox_retire(i, false);
		if
		:: ok -> back = to_retire; GO(sandbox_gone)
		:: else -> OVER
		fi
	};

sandbox_gone:
	atomic {
		MAY_DIE;
		end(i, false);
		if
		:: ok -> tidy()
		:: !ok && back == to_stop -> back = 0; GO(stop_end)
		:: !ok && back != to_stop -> OVER
		fi
	};
	/* its sessions, then its row, then sessions that came meanwhile */
sleepers:
	atomic { MAY_DIE; k = (lease == owns_wrapper -> gen : 0) };
	atomic {
		MAY_DIE;
		if
		:: k != 0 -> session_sandbox_gone(i, k, true, asleep); k = 0
		:: else
		fi;
		if
		:: s == 0 -> tidy()
		:: else -> s = 0; GO(emptied)
		fi
	};
	atomic { MAY_DIE; sandbox_settle(i, stopped); s = stopped; GO(sleepers) };
emptied:
	atomic {
		MAY_DIE;
#ifdef SHARED
		if
		:: inc == i -> sibling = false
		:: else
		fi;
#endif
		if
		:: back == to_stop -> back = 0; gone = true; GO(stop_end)
		:: else -> OVER
		fi
	};

	/* ---- the end of a deletion */
finish:	atomic {
		MAY_DIE;
		forget();
		if
		:: session == deleting && lease == none -> i = inc
		:: else -> OVER
		fi
	};
#ifndef SHARED
	atomic {
		MAY_DIE;
		sandbox_retire(i, true);
		if
		:: ok -> tidy()
		:: else -> OVER
		fi
	};
	atomic {
		MAY_DIE;
		end(i, true);
		if
		:: ok -> tidy()
		:: else -> OVER
		fi
	};
	atomic { MAY_DIE; sandbox_settle(i, absent) };
#endif
	atomic {
		MAY_DIE;
		if
		:: session == deleting && lease == none ->
			assert(WRAPPERS == 0); /* deleted */
#ifndef SHARED
			assert(!RUNS);
#endif
			session = deleted
		:: else
		fi;
		OVER
	}
}

/* The events that no actor decides. */
proctype world()
{
end_idle:
	do
	:: d_step { !calm && runs[1] && cells[1] != 0 -> cells[1] = 0 }
	:: d_step { !calm && runs[2] && cells[2] != 0 -> cells[2] = 0 }
	:: d_step { !calm && runs[1] -> runs[1] = false; cells[1] = 0; sealed[1] = 0 }
	:: d_step { !calm && runs[2] -> runs[2] = false; cells[2] = 0; sealed[2] = 0 }
#if INCS > 2
	:: d_step { !calm && runs[3] -> runs[3] = false; cells[3] = 0; sealed[3] = 0 }
#endif
#ifdef SHARED
	/* a sibling wants the sandbox, which perhaps starts; the sibling leaves */
	:: atomic { !sibling && MAY_WANT ->
		sandbox_want();
		sibling = true;
		ensure(inc);
		if
		:: ok -> sandbox_settle(inc, running)
		:: else
		fi;
		ok = false }
	:: sibling -> sibling = false
#endif
#ifdef LIVENESS
#ifndef NO_RETRY
	:: d_step { lease == stop_needed && !due -> due = true }
#endif
	:: d_step { lease == stopping && !overdue && (!calm || !HELD(attempt)) -> overdue = true }
	:: d_step { !calm -> calm = true }
#endif
	od
}

init
{
	byte n;

	atomic {
#ifdef WARM /* the create has claimed a member of the warm pool: warm.pml */
		box = running;
		rec = live;
		rec_inc = 1;
		runs[1] = true;
		cells[1] = 1 << 1;
#endif
		run world();
		do
		:: n < ACTORS -> run actor(n, n >= WORKERS, n == 0); n++
		:: else -> break
		od;
		n = 0
	}
}

#ifdef LIVENESS
ltl deletion { (<> calm) -> [] (session == deleting -> <> (session == deleted)) }
#endif
