/*
 * authority.h: makes certificates for hosts whose TLS ends here (OpenSSL).
 *
 * A request gets a secret header only if egress can read it, so the TLS of a
 * host with secrets ends in egress, which proves itself to the sandbox with a
 * certificate of the installation's own authority.  Sessions with secrets trust
 * that authority, and no other program does.
 */
#ifndef SANDLEASE_EGRESS_BASE_AUTHORITY_H
#define SANDLEASE_EGRESS_BASE_AUTHORITY_H

#include <openssl/ssl.h>

#include "common/err.h"
#include "common/str.h"

struct authority;

/* Makes a new authority: its certificate and key in PEM, added to the buffers. */
int authority_make(struct buf *certificate, struct buf *key, struct err *e)
    MUST_CHECK;

int authority_open(const char *certificate, const char *key,
    struct authority **out, struct err *e) MUST_CHECK;
void authority_close(struct authority *a);

/*
 * A TLS server's side for that host, with a certificate of today.  The caller
 * owns it.
 */
SSL *authority_server(struct authority *a, const char *host, struct err *e)
    MUST_CHECK;

/* The modes of our connections, to clients and to servers: none blocks. */
void authority_set_modes(SSL_CTX *ctx);

#endif
