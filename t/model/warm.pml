/*
 * warm.pml: a model of one member of the warm pool, until a session owns it.
 *
 * Modelled
 *   - its row (sql/functions/warm.sql) and the session that a create makes of it.
 *     Every SQL function is one atomic step.
 *   - the host: the sandbox with its wrapper, the tombstone of its incarnation,
 *     and whose files lie in the session's storage.
 *   - the filler (src/control/warm.c), two creates of two tenants
 *     (src/control/create.c, launch.c, adopt.c), and the reaper
 *     (src/reaper/members.c, reconcile.c), step by step.  Each may be killed
 *     between any two steps (MAY_DIE), or stand still for any time.
 *   - the database: a crash takes back all commits that were not written to the
 *     disk, while the programs go on.  -DFAILOVER: a claim that was written is lost,
 *     too, because another server takes over that has not got it yet.
 *   - the world: the sandbox dies at any time.
 *
 * Abstracted
 *   - After the adoption: lease.pml begins there (-DWARM).
 *   - Time: a deadline may have passed, or not, at any moment.
 *   - What no row explains is seen twice before it is destroyed.  Here once: a row
 *     cannot come back by itself, because ids are random and used once.
 *
 * Checked
 *   one tenant   a wrapper is adopted by one create, and files are used by no other
 *   no loss      what a session owns is not destroyed as a member
 *   no leak      (ltl) once nothing dies and no create comes, a sandbox that runs
 *                has a row or a session
 *
 * Mutants: -DCLAIM_ANY (a member that is being retired is claimed), -DRETIRE_UNSEEN
 * (a member is destroyed without its row saying so first), and with -DFAILOVER
 * -DNO_REFUSAL (a wrapper obeys any claim) and -DKEEP_FILES (a session whose member
 * died goes on with the files that it finds) each break a promise.  So do
 * -DLAZY_CLAIM (the claim is not waited for on the disk) and one of these two.
 */

mtype = { no_row, preparing, is_ready, retiring };
mtype row = no_row;
mtype disk_row = no_row; /* as a crash of the database leaves it */
byte owner;              /* the create that claimed it; 0: none */
byte disk_owner;
bool begun;              /* ids are chosen once */

bool runs;         /* its sandbox, with a wrapper that was proved or will be */
bool tombstone;    /* its incarnation was destroyed, and starts no more */
byte adopted;      /* the claim that its wrapper obeys */
byte files;        /* whose files lie in its storage */

bool calm;         /* nothing dies any more, and no create comes */

inline flush() { disk_row = row; disk_owner = owner }
#define MAY_DIE if :: !calm -> goto over :: true fi

inline destroy()
{
	runs = false;
	adopted = 0;
	files = 0;
	tombstone = true
}

proctype filler()
{
	atomic { row == no_row && !begun -> begun = true; row = preparing; flush() };
	atomic {
		MAY_DIE;
		if
		:: tombstone -> goto over
		:: else -> runs = true
		fi
	};
	atomic {
		MAY_DIE;
		if
		:: row == preparing && runs -> row = is_ready; flush()
		:: else
		fi
	};
over:	skip
}

#ifdef CLAIM_ANY
#define CLAIMABLE (row == is_ready || row == retiring)
#else
#define CLAIMABLE (row == is_ready)
#endif
#ifdef NO_REFUSAL
#define OBEYS(me) true
#else
#define OBEYS(me) (adopted == 0 || adopted == me)
#endif

proctype create(byte me)
{
	atomic {
		!calm && CLAIMABLE ->
		row = no_row;
		owner = me;
#ifndef LAZY_CLAIM
		flush()
#endif
	};
	atomic {
		MAY_DIE;
		if
		:: !runs && owner == me -> /* it died: the next generation begins anew */
#ifndef KEEP_FILES
			files = 0
#else
			skip
#endif
		:: !runs && owner != me -> goto over
		:: runs && OBEYS(me) ->
			assert(adopted == 0 || adopted == me); /* one tenant */
			adopted = me;
			files = me /* those of the create */
		:: runs && !OBEYS(me) -> goto refused
		fi
	};
	atomic {
		MAY_DIE;
		if
		:: owner == me ->
			assert(files == 0 || files == me); /* one tenant */
			files = me;
			flush() /* the outcome's commit */
		:: else /* the row is gone: this client is told to try again */
		fi
	};
	goto over;
refused: /* evidence.c: the sandbox and its files are destroyed */
	atomic { MAY_DIE; destroy(); if :: owner == me -> owner = 0; flush() :: else fi };
over:	skip
}

proctype reaper()
{
end_idle:
	do
	:: atomic { row == preparing || row == is_ready -> /* overdue, unfit or too many */
#ifndef RETIRE_UNSEEN
		row = retiring; flush()
#else
		skip
#endif
		}; goto retire
	:: atomic { row == retiring -> goto retire }
	:: atomic { row == no_row && owner == 0 && runs -> destroy() } /* no row explains it */
	od;
retire:
	atomic {
		assert(owner == 0); /* no loss */
		destroy()
	};
	atomic {
		if
		:: row == retiring -> row = no_row; flush()
		:: else
		fi;
		goto end_idle
	}
}

proctype world()
{
end_idle:
	do
	:: d_step { !calm && runs -> runs = false; adopted = 0 }
	:: d_step { !calm -> row = disk_row; owner = disk_owner }
#ifdef FAILOVER
	:: d_step { !calm && owner != 0 -> row = is_ready; owner = 0; flush() }
#endif
	:: d_step { !calm -> calm = true }
	od
}

init
{
	atomic { run world(); run filler(); run create(1); run create(2); run reaper() }
}

ltl no_leak { [] (calm -> <> (!runs || row != no_row || owner != 0)) }
