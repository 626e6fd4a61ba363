/*
 * sni.h: reads the server name of a TLS connection's first message.
 *
 * The parser is OpenSSL's: it gets the bytes, reports the ClientHello and is
 * stopped there.  Nothing is decrypted or answered.
 */
#ifndef SANDLEASE_EGRESS_BASE_SNI_H
#define SANDLEASE_EGRESS_BASE_SNI_H

#include <stddef.h>
#include <stdint.h>

#include "domain/network.h"

enum { SNI_HELLO_MAX = 16 * 1024 }; /* a longer ClientHello is refused */

enum sni_result {
	SNI_MORE,   /* the message is not complete */
	SNI_FOUND,  /* a name that a host can have */
	SNI_ABSENT, /* no name */
	SNI_BAD /* not TLS, a name that no host has, or more than one message */
};

/* `name` is in the form of network_host(). */
enum sni_result sni_read(const uint8_t *data, size_t len,
    char name[NETWORK_HOST_MAX]);

/*
 * How many bytes the first message of the handshake takes, with the heads of
 * its records.  0: it is not complete, or the next one begins in its last
 * record, where sni_read() would not see it.
 */
size_t sni_extent(const uint8_t *data, size_t len);

#endif
