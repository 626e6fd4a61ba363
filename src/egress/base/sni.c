/* sni.c: reads the server name of a TLS connection's first message. */
#include "egress/base/sni.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	HANDSHAKE = 0x16, /* the type of the first record */
	RECORD_HEAD = 5,  /* a record's type, version and length */
	MESSAGE_HEAD = 4, /* a message's type, and its length in three bytes */
	TYPE_HOST = 0,    /* of an entry of the extension */
	ENTRY_HEAD = 3    /* its type, and its length in two bytes */
};

struct hello {
	bool seen;
	enum sni_result result;
	char *name; /* borrowed; NETWORK_HOST_MAX bytes */
};

/* The extension: length of the list, then one entry: type, length, name. */
static enum sni_result
read_extension(const uint8_t *ext, size_t len, char *name)
{
	size_t list, host;

	if (len < 2 + ENTRY_HEAD)
		return SNI_BAD;
	list = (size_t)ext[0] << 8 | ext[1];
	host = (size_t)ext[3] << 8 | ext[4];
	/* exactly one entry: a server might look at another than we do */
	if (list != len - 2 || ext[2] != TYPE_HOST ||
	    host != list - ENTRY_HEAD ||
	    !network_host((const char *)ext + 2 + ENTRY_HEAD, host, name))
		return SNI_BAD;
	return SNI_FOUND;
}

static int
on_hello(SSL *ssl, int *alert, void *arg)
{
	struct hello *h = SSL_get_app_data(ssl);
	const uint8_t *ext;
	size_t len;

	(void)alert;
	(void)arg;
	h->seen = true;
	h->result = SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name,
			&ext, &len) == 1
	    ? read_extension(ext, len, h->name)
	    : SNI_ABSENT;
	return SSL_CLIENT_HELLO_ERROR; /* no handshake follows */
}

/* Made once, for all connections. */
static SSL_CTX *
context(void)
{
	static SSL_CTX *ctx;

	if (ctx != NULL)
		return ctx;
	ctx = SSL_CTX_new(TLS_server_method());
	if (ctx == NULL)
		abort(); /* out of memory */
	SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
	return ctx;
}

size_t
sni_extent(const uint8_t *data, size_t len)
{
	uint8_t head[MESSAGE_HEAD] = { 0 };
	size_t at = 0, seen = 0;

	while (len - at >= RECORD_HEAD && data[at] == HANDSHAKE) {
		size_t n = (size_t)data[at + 3] << 8 | data[at + 4];
		size_t whole = MESSAGE_HEAD;

		at += RECORD_HEAD;
		if (n > len - at)
			return 0;
		for (size_t i = 0; i < n && seen + i < MESSAGE_HEAD; i++)
			head[seen + i] = data[at + i];
		seen += n;
		at += n;
		whole += (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
		if (seen >= MESSAGE_HEAD && seen >= whole)
			return seen == whole ? at : 0;
	}
	return 0;
}

enum sni_result
sni_read(const uint8_t *data, size_t len, char name[NETWORK_HOST_MAX])
{
	struct hello h = { .result = SNI_BAD, .name = name };
	BIO *in, *out;
	SSL *ssl;
	int rc, why;

	name[0] = '\0';
	if (len == 0)
		return SNI_MORE;
	if (data[0] != HANDSHAKE)
		return SNI_BAD;
	in = BIO_new_mem_buf(data,
	    (int)(len > SNI_HELLO_MAX ? SNI_HELLO_MAX : len));
	out = BIO_new(BIO_s_null());
	ssl = SSL_new(context());
	if (in == NULL || out == NULL || ssl == NULL)
		abort(); /* out of memory */
	/* at the end of the bytes more may come: not an end of file */
	BIO_set_mem_eof_return(in, -1);
	SSL_set_bio(ssl, in, out);
	SSL_set_app_data(ssl, &h);
	rc = SSL_accept(ssl);
	why = SSL_get_error(ssl, rc);
	if (!h.seen && why == SSL_ERROR_WANT_READ && len < SNI_HELLO_MAX)
		h.result = SNI_MORE;
	else if (sni_extent(data, len) == 0)
		h.result = SNI_BAD;
	if (h.result != SNI_FOUND)
		name[0] = '\0';
	SSL_free(ssl);
	ERR_clear_error();
	return h.result;
}
