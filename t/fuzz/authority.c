/* authority.c: fuzzes "host:port", which policies parse in the same way. */
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"
#include "fuzz.h"
#include "web/http_request.h"

enum { FALLBACK = 80 };

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_buf struct buf text = { 0 };
	char form[NETWORK_HOST_MAX];
	struct network_rule r;
	const char *host, *why;
	size_t host_len = 0;
	uint16_t port = 0;

	buf_add(&text, data, len);
	buf_str(&text, "");
	if (!http_authority(text.data, FALLBACK, &host, &host_len, &port))
		return 0;
	PROMISE(port != 0);
	PROMISE(host_len > 0);
	PROMISE(host >= text.data &&
	    host + host_len <= text.data + strlen(text.data));
	/* nothing is left out but a port and brackets */
	PROMISE((size_t)(host - text.data) == (text.data[0] == '['));
	if (!network_host(host, host_len, form))
		return 0;
	PROMISE(network_rule_parse(text.data, &r, &why) == 0);
	PROMISE(strcmp(r.host, form) == 0);
	PROMISE(port == (r.port != 0 ? r.port : FALLBACK));
	return 0;
}
