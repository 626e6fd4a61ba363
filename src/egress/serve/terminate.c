/*
 * terminate.c: ends the TLS of hosts that have secrets, and begins another one
 * to the server.
 */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "common/log.h"
#include "common/str.h"
#include "egress/base/authority.h"
#include "egress/serve/serve.h"

bool
terminate_client(struct conn *c)
{
	struct egress *g = c->of->of;
	struct err e = { 0 };
	SSL *ssl = g->authority != NULL
	    ? authority_server(g->authority, c->host, &e)
	    : NULL;

	if (ssl == NULL || SSL_set_fd(ssl, c->client.fd) != 1) {
		log_line(LOG_ERROR, "terminate", "%s: %s", c->host, e.msg);
		SSL_free(ssl);
		return false;
	}
	c->client.ssl = ssl;
	return true;
}

/* Trusts what the machine trusts, or the operator's file. */
SSL_CTX *
terminate_context(const struct conf *conf, struct err *e)
{
	static const unsigned char HTTP[] = "\x08http/1.1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (ctx == NULL ||
	    (conf->egress_ca_file[0] == '\0'
		    ? SSL_CTX_set_default_verify_paths(ctx)
		    : SSL_CTX_load_verify_file(ctx, conf->egress_ca_file)) !=
		1 ||
	    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_alpn_protos(ctx, HTTP, sizeof(HTTP) - 1) != 0) {
		SSL_CTX_free(ctx);
		ERR_clear_error();
		err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "egress_ca_file: certificates cannot be read: %s",
		    conf->egress_ca_file);
		return NULL;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	authority_set_modes(ctx);
	return ctx;
}

bool
terminate_server(struct conn *c)
{
	SSL *ssl = SSL_new(c->of->of->client_tls);

	if (ssl == NULL || SSL_set_tlsext_host_name(ssl, c->host) != 1 ||
	    SSL_set1_host(ssl, c->host) != 1 ||
	    SSL_set_fd(ssl, c->server.fd) != 1) {
		SSL_free(ssl);
		ERR_clear_error();
		return false;
	}
	SSL_set_connect_state(ssl);
	c->server.ssl = ssl;
	return true;
}

void
terminate_why(const struct conn *c, char *out, size_t size)
{
	long rc = c->server.ssl != NULL ? SSL_get_verify_result(c->server.ssl)
					: X509_V_OK;

	snprintf(out, size, "TLS with the server failed%s%s",
	    rc != X509_V_OK ? ": " : "",
	    rc != X509_V_OK ? X509_verify_cert_error_string(rc) : "");
}
