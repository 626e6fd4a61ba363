/* trust.c: makes the session's programs trust a certificate authority. */
#include "agent/wrapper/trust.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/files/temp_file.h"
#include "agent/shell/envset.h"
#include "common/mem.h"
#include "common/str.h"

enum { BUNDLE_MAX = 4 * 1024 * 1024, MODE = 0644, CHUNK = 65536 };

static const char AUTHORITY[] = "/home/user/.sandlease/ca.pem";
static const char BUNDLE[] = "/home/user/.sandlease/ca-certificates.crt";

/* Where distributions keep the certificates that the system trusts. */
static const char *const SYSTEM[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* Reads the first of these files that there is; none is no error. */
static void
read_system(struct buf *to)
{
	for (size_t i = 0; i < ARRAY_LEN(SYSTEM); i++) {
		auto_fd int fd = open(SYSTEM[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = 1;

		while (fd >= 0 && n > 0 && to->len < BUNDLE_MAX) {
			n = read(fd, buf_room(to, CHUNK), CHUNK);
			to->len += n > 0 ? (size_t)n : 0;
		}
		if (fd >= 0)
			return;
	}
}

static int
write_file(const char *path, const char *data, size_t len, struct err *e)
{
	return temp_file_write_file(path,
	    &(struct temp_file_source){ .data = data, .len = len, .fd = -1 },
	    MODE, e);
}

int
trust_write(const char *certificate, struct err *e)
{
	auto_buf struct buf all = { 0 };

	if (strstr(certificate, "-----BEGIN CERTIFICATE-----") == NULL)
		return err_field(e, "certificate", "must be a certificate");
	read_system(&all);
	buf_str(&all, "\n");
	buf_str(&all, certificate);
	if (write_file(AUTHORITY, certificate, strlen(certificate), e) < 0)
		return -1;
	if (write_file(BUNDLE, all.data, all.len, e) < 0)
		return -1;
	envset_trust(AUTHORITY, BUNDLE);
	return 0;
}
