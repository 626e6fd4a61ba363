/* limits_view.c: shows programs in a cell the limits of their class. */
#include "agent/cell/limits_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/base/procmem.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	KB_PER_MB = 1024,
	REFRESH_MS = 1000,
	CPUINFO_MAX = 256 * 1024,
	PIECE = 4096
};

/* The directory of our files, until the cell's own /tmp hides it. */
#define STAGE "/tmp"
#define CPU_DIR STAGE "/sys/devices/system/cpu"

static const unsigned long FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC;

/* ---- texts */

void
limits_view_meminfo(int64_t total_kb, int64_t own_kb, int64_t files_kb,
    struct buf *out)
{
	int64_t used = own_kb + files_kb;
	int64_t left = used < total_kb ? total_kb - used : 0;
	const struct {
		const char *name;
		int64_t kb;
	} ROWS[] = {
		{ "MemTotal:", total_kb },
		{ "MemFree:", left },
		{ "MemAvailable:", left },
		{ "Buffers:", 0 },
		{ "Cached:", files_kb },
		{ "SwapCached:", 0 },
		{ "Active:", own_kb },
		{ "Inactive:", files_kb },
		{ "SwapTotal:", 0 },
		{ "SwapFree:", 0 },
		{ "Dirty:", 0 },
		{ "Writeback:", 0 },
		{ "AnonPages:", own_kb },
		{ "Mapped:", 0 },
		{ "Shmem:", files_kb },
		{ "Slab:", 0 },
		{ "SReclaimable:", 0 },
		{ "SUnreclaim:", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
		buf_fmt(out, "%-15s %11" PRId64 " kB\n", ROWS[i].name,
		    ROWS[i].kb);
}

size_t
limits_view_cpus(const char *text, int64_t count)
{
	static const char KEY[] = "processor";
	const char *at = text;

	for (int64_t seen = 0; *at != '\0';) {
		if (strncmp(at, KEY, sizeof(KEY) - 1) == 0 && ++seen > count)
			break;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return (size_t)(at - text);
}

/* ---- mounting */

static int
write_file(const char *path, const char *text, size_t len, struct err *e)
{
	auto_fd int fd =
	    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return err_errno(e, "write %s", path);
	return 0;
}

static int
bind_read_only(const char *from, const char *where, struct err *e)
{
	if (mount(from, where, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, where, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS,
		NULL) < 0)
		return err_errno(e, "bind %s on %s", from, where);
	return 0;
}

static int
show_memory(const struct launch *l, int *meminfo, struct err *e)
{
	auto_buf struct buf text = { 0 };

	limits_view_meminfo(l->shown_memory_mb * KB_PER_MB, 0, 0, &text);
	if (write_file(STAGE "/meminfo", text.data, text.len, e) < 0)
		return -1;
	/* the tenant owns the file: only the read-only mount protects it */
	if (chmod(STAGE "/meminfo", 0644) < 0 ||
	    (*meminfo = open(STAGE "/meminfo", O_WRONLY | O_CLOEXEC)) < 0)
		return err_errno(e, "meminfo");
	return bind_read_only(STAGE "/meminfo", "/proc/meminfo", e);
}

/* Reads no more than needed: the kernel makes the text while it is read. */
static int
read_cpuinfo(int64_t count, struct buf *out, struct err *e)
{
	auto_fd int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	char piece[PIECE];
	ssize_t n = 1;

	if (fd < 0)
		return err_errno(e, "/proc/cpuinfo");
	while (n > 0 && out->len < CPUINFO_MAX) {
		n = read(fd, piece, sizeof(piece));
		if (n < 0)
			return err_errno(e, "/proc/cpuinfo");
		buf_add(out, piece, (size_t)n);
		if (limits_view_cpus(out->data, count) < out->len)
			break;
	}
	return 0;
}

static int
show_cpuinfo(const struct launch *l, struct err *e)
{
	auto_buf struct buf info = { 0 };

	if (read_cpuinfo(l->shown_cpus, &info, e) < 0 ||
	    write_file(STAGE "/cpuinfo", info.data,
		limits_view_cpus(info.data, l->shown_cpus), e) < 0)
		return -1;
	return bind_read_only(STAGE "/cpuinfo", "/proc/cpuinfo", e);
}

/*
 * Writes `online`, by which the C library counts processors, and the like.  One
 * file has the three names: a page each would be a lot for an idle session.
 */
static int
show_online(const struct launch *l, struct err *e)
{
	static const char ONLINE[] = CPU_DIR "/online";
	static const char *const SAME[] = { CPU_DIR "/present",
		CPU_DIR "/possible" };
	char range[48];
	int len = l->shown_cpus == 1
	    ? snprintf(range, sizeof(range), "0\n")
	    : snprintf(range, sizeof(range), "0-%" PRId64 "\n",
		  l->shown_cpus - 1);

	if (write_file(ONLINE, range, (size_t)len, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(SAME); i++)
		if (link(ONLINE, SAME[i]) < 0)
			return err_errno(e, "link %s", SAME[i]);
	return 0;
}

/*
 * Mounts a /sys that has nothing but these directories.  cgroup_view_mount()
 * needs those below /sys/fs.
 */
static int
show_sys(const struct launch *l, struct err *e)
{
	static const char *const DIRS[] = { STAGE "/sys", STAGE "/sys/devices",
		STAGE "/sys/devices/system", CPU_DIR, STAGE "/sys/fs",
		STAGE "/sys/fs/cgroup", STAGE "/sys/fs/cgroup/memory" };

	if (access("/sys", F_OK) < 0)
		return 0; /* this root file system has no /sys */
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++)
		if (mkdir(DIRS[i], 0755) < 0)
			return err_errno(e, "mkdir %s", DIRS[i]);
	if (l->shown_cpus > 0 && show_online(l, e) < 0)
		return -1;
	return bind_read_only(STAGE "/sys", "/sys", e);
}

int
limits_view_mount(const struct launch *l, int *meminfo, struct err *e)
{
	if (l->shown_memory_mb == 0 && l->shown_cpus == 0)
		return 0;
	if (mount("tmpfs", STAGE, "tmpfs", FLAGS,
		"size=512k,nr_inodes=32,mode=755") < 0)
		return err_errno(e, "mount the view of limits");
	if ((l->shown_memory_mb > 0 && show_memory(l, meminfo, e) < 0) ||
	    (l->shown_cpus > 0 && show_cpuinfo(l, e) < 0))
		return -1;
	return show_sys(l, e);
}

/* ---- updating the used memory */

static struct {
	int fd;
	_Atomic int64_t total_kb, next_ms;
} view = { .fd = -1 };

void
limits_view_open(int meminfo, int64_t memory_mb)
{
	view.fd = meminfo;
	atomic_store(&view.total_kb, memory_mb * KB_PER_MB);
	/* the first command need not wait for an update: little is used yet */
	atomic_store(&view.next_ms, clock_ms() + REFRESH_MS);
}

void
limits_view_resize(int64_t memory_mb)
{
	auto_buf struct buf text = { 0 };

	if (view.fd < 0)
		return;
	atomic_store(&view.total_kb, memory_mb * KB_PER_MB);
	limits_view_meminfo(memory_mb * KB_PER_MB, 0, 0, &text);
	(void)!pwrite(view.fd, text.data, text.len, 0);
}

/* The size of the files in the cell's tmpfs, which are memory. */
static int64_t
file_kb(void)
{
	static const char *const PLACES[] = { "/tmp", "/dev/shm" };
	int64_t kb = 0;

	for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
		struct statvfs v;

		if (statvfs(PLACES[i], &v) == 0)
			kb += (int64_t)((v.f_blocks - v.f_bfree) *
			    (v.f_frsize / 1024));
	}
	return kb;
}

void
limits_view_refresh(void)
{
	auto_buf struct buf text = { 0 };
	int64_t now = clock_ms(), next = atomic_load(&view.next_ms);

	/* the thread that moves next_ms does the update, the others return */
	if (view.fd < 0 || now < next ||
	    !atomic_compare_exchange_strong(&view.next_ms, &next,
		now + REFRESH_MS))
		return;
	limits_view_meminfo(atomic_load(&view.total_kb), procmem_all() / 1024,
	    file_kb(), &text);
	(void)!pwrite(view.fd, text.data, text.len, 0);
}
