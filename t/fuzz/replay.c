/* replay.c: runs a fuzz target once over each file of its corpus. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "fuzz.h"

static void
replay(const char *path)
{
	auto_buf struct buf text = { 0 };
	FILE *f = fopen(path, "r");
	size_t n;

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	do {
		n = fread(buf_room(&text, 65536), 1, 65536, f);
		text.len += n;
	} while (n > 0);
	fclose(f);
	fuzz_one((const uint8_t *)text.data, text.len);
}

/* The corpus has the program's name; files named in argv are used instead. */
int
main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir"), *name = strrchr(argv[0], '/');
	char dir[4096], path[8192];
	struct dirent *d;
	int count = 0;
	DIR *list;

	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc > 1)
		return 0;
	snprintf(dir, sizeof(dir), "%s/t/fuzz/corpus/%s",
	    top != NULL ? top : ".", name != NULL ? name + 1 : argv[0]);
	list = opendir(dir);
	while (list != NULL && (d = readdir(list)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		printf("# %s\n", d->d_name);
		fflush(stdout); /* shows the file's name if the target aborts */
		replay(path);
		count++;
	}
	if (list != NULL)
		closedir(list);
	printf("1..1\n%s 1 - %d inputs\n", count > 0 ? "ok" : "not ok", count);
	return count > 0 ? 0 : 1;
}
