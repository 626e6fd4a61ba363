/* authority.c: makes certificates for hosts whose TLS ends here. */
#include "egress/base/authority.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

enum {
	DAY_S = 86400,
	AUTHORITY_DAYS = 3650,
	HOST_DAYS = 30,
	FRESH_DAYS = 7, /* then a host's certificate is made anew */
	HOSTS_MAX = 1024,
	SERIAL_BYTES = 16,
	X509_V3 = 2
};

/* A certificate that was made, ready for connections. */
struct minted {
	char host[NETWORK_HOST_MAX];
	time_t at;
	SSL_CTX *context; /* owned */
};

struct authority {
	X509 *certificate;
	EVP_PKEY *key;
	EVP_PKEY *host_key;   /* of all hosts: the process is the same */
	struct minted *hosts; /* owned */
	size_t count;
};

static int
fail(struct err *e, const char *what)
{
	char text[256] = "out of memory";
	unsigned long code = ERR_get_error();

	if (code != 0)
		ERR_error_string_n(code, text, sizeof(text));
	ERR_clear_error();
	return err_set(e, ERR_INTERNAL, CODE_INTERNAL, "%s: %s", what, text);
}

static EVP_PKEY *
new_key(void)
{
	return EVP_EC_gen("P-256");
}

/* ---- certificates */

static int
add_extension(X509 *to, X509 *issuer, int kind, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *x;
	int rc;

	X509V3_set_ctx(&ctx, issuer, to, NULL, NULL, 0);
	x = X509V3_EXT_conf_nid(NULL, &ctx, kind, value);
	rc = x != NULL && X509_add_ext(to, x, -1) == 1;
	X509_EXTENSION_free(x);
	return rc;
}

static int
set_serial(X509 *c)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *n;
	int rc;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return 0;
	bytes[0] &= 0x7f; /* positive */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	rc = n != NULL &&
	    BN_to_ASN1_INTEGER(n, X509_get_serialNumber(c)) != NULL;
	BN_free(n);
	return rc;
}

/* A certificate that is not signed yet; NULL if that fails. */
static X509 *
new_certificate(EVP_PKEY *key, const char *name, int days)
{
	X509 *c = X509_new();

	/* a day earlier: the sandbox's clock is the host's, others are not */
	if (c != NULL && X509_set_version(c, X509_V3) == 1 && set_serial(c) &&
	    X509_gmtime_adj(X509_getm_notBefore(c), -DAY_S) != NULL &&
	    X509_gmtime_adj(X509_getm_notAfter(c), (long)days * DAY_S) !=
		NULL &&
	    X509_set_pubkey(c, key) == 1 &&
	    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN",
		MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1)
		return c;
	X509_free(c);
	return NULL;
}

static int
write_pem(X509 *c, EVP_PKEY *key, struct buf *certificate, struct buf *secret)
{
	BIO *a = BIO_new(BIO_s_mem()), *b = BIO_new(BIO_s_mem());
	int rc = a != NULL && b != NULL && PEM_write_bio_X509(a, c) == 1 &&
	    PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1;
	char *text;
	long len;

	if (rc) {
		len = BIO_get_mem_data(a, &text);
		buf_add(certificate, text, (size_t)len);
		len = BIO_get_mem_data(b, &text);
		buf_add(secret, text, (size_t)len);
		OPENSSL_cleanse(text, (size_t)len);
	}
	BIO_free(a);
	BIO_free(b);
	return rc;
}

int
authority_make(struct buf *certificate, struct buf *key, struct err *e)
{
	EVP_PKEY *k = new_key();
	X509 *c = k != NULL
	    ? new_certificate(k, "Sandlease egress", AUTHORITY_DAYS)
	    : NULL;
	int rc = c != NULL &&
	    X509_set_issuer_name(c, X509_get_subject_name(c)) == 1 &&
	    add_extension(c, c, NID_basic_constraints,
		"critical,CA:TRUE,pathlen:0") &&
	    add_extension(c, c, NID_key_usage, "critical,keyCertSign") &&
	    add_extension(c, c, NID_subject_key_identifier, "hash") &&
	    X509_sign(c, k, EVP_sha256()) != 0 &&
	    write_pem(c, k, certificate, key);

	X509_free(c);
	EVP_PKEY_free(k);
	return rc ? 0 : fail(e, "certificate authority");
}

/* ---- reading */

static X509 *
read_certificate(const char *pem)
{
	BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *c = b != NULL ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;

	BIO_free(b);
	return c;
}

static EVP_PKEY *
read_key(const char *pem)
{
	BIO *b = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *k =
	    b != NULL ? PEM_read_bio_PrivateKey(b, NULL, NULL, NULL) : NULL;

	BIO_free(b);
	return k;
}

int
authority_open(const char *certificate, const char *key, struct authority **out,
    struct err *e)
{
	struct authority *a = xcalloc(1, sizeof(*a));

	a->certificate = read_certificate(certificate);
	a->key = read_key(key);
	a->host_key = new_key();
	if (a->certificate == NULL || a->key == NULL || a->host_key == NULL) {
		authority_close(a);
		return fail(e, "certificate authority");
	}
	*out = a;
	return 0;
}

void
authority_close(struct authority *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; i < a->count; i++)
		SSL_CTX_free(a->hosts[i].context);
	free(a->hosts);
	X509_free(a->certificate);
	EVP_PKEY_free(a->key);
	EVP_PKEY_free(a->host_key);
	free(a);
}

/* ---- hosts */

static X509 *
sign_host(struct authority *a, const char *host)
{
	char names[NETWORK_HOST_MAX + 8];
	/* a longer name than this has no place there; the other one counts */
	X509 *c = new_certificate(a->host_key,
	    strlen(host) <= 64 ? host : "sandlease", HOST_DAYS);

	snprintf(names, sizeof(names), "DNS:%s", host);
	if (c != NULL &&
	    X509_set_issuer_name(c, X509_get_subject_name(a->certificate)) ==
		1 &&
	    add_extension(c, a->certificate, NID_basic_constraints,
		"critical,CA:FALSE") &&
	    add_extension(c, a->certificate, NID_ext_key_usage, "serverAuth") &&
	    add_extension(c, a->certificate, NID_authority_key_identifier,
		"keyid") &&
	    add_extension(c, a->certificate, NID_subject_alt_name, names) &&
	    X509_sign(c, a->key, EVP_sha256()) != 0)
		return c;
	X509_free(c);
	return NULL;
}

/* Only HTTP/1.1 is spoken, whatever the client offers. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *len,
    const unsigned char *offered, unsigned offered_len, void *ctx)
{
	static const unsigned char HTTP[] = "\x08http/1.1";

	(void)ssl;
	(void)ctx;
	/* *out then points into one of the two lists, which both stay */
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, len,
		   HTTP, sizeof(HTTP) - 1, offered,
		   offered_len) == OPENSSL_NPN_NEGOTIATED
	    ? SSL_TLSEXT_ERR_OK
	    : SSL_TLSEXT_ERR_NOACK;
}

void
authority_set_modes(SSL_CTX *ctx)
{
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	/* one read takes one record, also if it has no data for us */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
}

static SSL_CTX *
mint(struct authority *a, const char *host)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	X509 *c = sign_host(a, host);

	if (ctx == NULL || c == NULL || SSL_CTX_use_certificate(ctx, c) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, a->host_key) != 1 ||
	    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		ctx = NULL;
	} else {
		SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
		authority_set_modes(ctx);
		SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	}
	X509_free(c);
	return ctx;
}

static struct minted *
find_host(struct authority *a, const char *host)
{
	for (size_t i = 0; i < a->count; i++)
		if (str_equal(a->hosts[i].host, host))
			return &a->hosts[i];
	return NULL;
}

/* A place for the host: its own, a new one, or the oldest one's. */
static struct minted *
place_for(struct authority *a, const char *host)
{
	struct minted *m = find_host(a, host);

	if (m != NULL)
		return m;
	if (a->count < HOSTS_MAX) {
		a->hosts =
		    xrealloc(a->hosts, (a->count + 1) * sizeof(*a->hosts));
		m = &a->hosts[a->count++];
		*m = (struct minted){ .at = 0 };
	} else {
		m = &a->hosts[0];
		for (size_t i = 1; i < a->count; i++)
			if (a->hosts[i].at < m->at)
				m = &a->hosts[i];
	}
	str_copy(m->host, sizeof(m->host), host);
	return m;
}

SSL *
authority_server(struct authority *a, const char *host, struct err *e)
{
	struct minted *m = find_host(a, host);
	time_t now = time(NULL);
	SSL *ssl;

	if (m == NULL || now - m->at > FRESH_DAYS * DAY_S || now < m->at) {
		SSL_CTX *ctx = mint(a, host);

		if (ctx == NULL) {
			fail(e, "certificate");
			return NULL;
		}
		m = place_for(a, host);
		SSL_CTX_free(m->context);
		m->context = ctx;
		m->at = now;
	}
	ssl = SSL_new(m->context);
	if (ssl == NULL) {
		fail(e, "TLS");
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}
