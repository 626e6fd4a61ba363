/* sni.c: fuzzes the first bytes of a TLS connection, in any portions. */
#include <string.h>

#include "common/mem.h"
#include "egress/base/sni.h"
#include "fuzz.h"

/* The first byte says where the rest is cut. */
int
fuzz_one(const uint8_t *data, size_t len)
{
	char name[NETWORK_HOST_MAX], part[NETWORK_HOST_MAX];
	char form[NETWORK_HOST_MAX];
	enum sni_result whole, before;
	size_t cut;

	if (len == 0)
		return 0;
	cut = data[0] * --len / 256;
	data++;
	whole = sni_read(data, len, name);
	before = sni_read(data, cut, part);
	/* more bytes change only that there were too few */
	if (before != SNI_MORE) {
		PROMISE(before == whole);
		PROMISE(strcmp(part, name) == 0);
	}
	PROMISE((whole == SNI_FOUND) == (name[0] != '\0'));
	if (whole != SNI_FOUND)
		return 0;
	PROMISE(sni_extent(data, len) > 0 && sni_extent(data, len) <= len);
	PROMISE(network_host(name, strlen(name), form));
	PROMISE(strcmp(name, form) == 0);
	return 0;
}
