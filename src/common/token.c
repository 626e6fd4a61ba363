/* token.c: makes, hashes and encrypts secrets with libsodium. */
#include "common/token.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/id.h"
#include "common/mem.h"

enum {
	KEY_LEN = crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
	NONCE_LEN = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	TAG_LEN = crypto_aead_xchacha20poly1305_ietf_ABYTES,
	KEY_FILE_MAX = 4096,
	KEY_ID_LEN = 8,
	SEALED_MAX = 4 * 1024 * 1024
};
_Static_assert(crypto_hash_sha256_BYTES == TOKEN_HASH_LEN,
    "all hashes have the same length");
_Static_assert(crypto_auth_hmacsha256_BYTES == TOKEN_HASH_LEN,
    "all hashes have the same length");
#define B64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

int
token_init(struct err *e)
{
	if (sodium_init() < 0)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "libsodium cannot be initialised");
	return 0;
}

void
token_make_key(char out[TOKEN_KEY_LEN + 1])
{
	memcpy(out, "sl_", 3);
	id_random(out + 3, TOKEN_KEY_LEN - 3);
}

void
token_make(char out[TOKEN_PREVIEW_LEN + 1])
{
	id_random(out, TOKEN_PREVIEW_LEN);
}

void
token_make_webhook(char out[TOKEN_WEBHOOK_LEN + 1])
{
	memcpy(out, "whsec_", 6);
	id_random(out + 6, TOKEN_WEBHOOK_LEN - 6);
}

void
token_hash(const char *secret, char out[TOKEN_HASH_HEX_MAX])
{
	unsigned char h[TOKEN_HASH_LEN];

	crypto_generichash(h, sizeof(h), (const unsigned char *)secret,
	    strlen(secret), NULL, 0);
	sodium_bin2hex(out, TOKEN_HASH_HEX_MAX, h, sizeof(h));
}

bool
token_equal(const char *a, const char *b)
{
	size_t len = strlen(a);

	return strlen(b) == len && sodium_memcmp(a, b, len) == 0;
}

void
token_wipe(void *secret, size_t len)
{
	sodium_memzero(secret, len);
}

bool
token_base64(const char *text, struct buf *out)
{
	return base64_decode_strict(out, text, strlen(text));
}

void
token_sha256(const char *text, char out[TOKEN_HASH_HEX_MAX])
{
	unsigned char h[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(h, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(out, TOKEN_HASH_HEX_MAX, h, sizeof(h));
}

void
token_hmac(const char *secret, const char *text, char out[TOKEN_HASH_HEX_MAX])
{
	unsigned char h[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state st;

	crypto_auth_hmacsha256_init(&st, (const unsigned char *)secret,
	    strlen(secret));
	crypto_auth_hmacsha256_update(&st, (const unsigned char *)text,
	    strlen(text));
	crypto_auth_hmacsha256_final(&st, h);
	sodium_memzero(&st, sizeof(st));
	sodium_bin2hex(out, TOKEN_HASH_HEX_MAX, h, sizeof(h));
}

static int
parse_key(char *line, struct seal_keys *k)
{
	char *colon = strchr(line, ':');
	size_t len;

	if (colon == NULL || k->count == SEAL_KEYS_MAX)
		return -1;
	*colon = '\0';
	if (!str_copy(k->key[k->count].id, sizeof(k->key[0].id), line) ||
	    sodium_hex2bin(k->key[k->count].key, KEY_LEN, colon + 1,
		strlen(colon + 1), NULL, &len, NULL) != 0 ||
	    len != KEY_LEN)
		return -1;
	k->count++;
	return 0;
}

int
seal_keys_load(const char *path, struct seal_keys *k, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[KEY_FILE_MAX + 1];
	struct stat st;
	size_t number = 0;
	ssize_t n;
	int rc = 0;

	k->count = 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "seal_key_file %s", path);
	if ((st.st_mode & 077) != 0)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "seal_key_file %s: others may read it; chmod 600", path);
	n = read(fd, text, KEY_FILE_MAX);
	if (n < 0)
		return err_errno(e, "seal_key_file %s", path);
	text[n] = '\0';
	for (char *rest = text, *line; rc == 0 && rest != NULL;) {
		line = strsep(&rest, "\n");
		number++;
		if (*line != '\0' && parse_key(line, k) < 0)
			rc = err_set(e, ERR_INTERNAL, CODE_INTERNAL,
			    "seal_key_file %s: line %zu is not \"id:64 hex\"",
			    path, number);
	}
	sodium_memzero(text, sizeof(text));
	if (rc == 0 && k->count == 0)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "seal_key_file %s: holds no key", path);
	return rc;
}

int
seal_keys_create(const char *path, struct err *e)
{
	auto_fd int fd =
	    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	unsigned char key[KEY_LEN];
	char id[KEY_ID_LEN + 1], hex[2 * KEY_LEN + 1];
	int ok;

	if (fd < 0)
		return err_errno(e, "%s", path);
	crypto_aead_xchacha20poly1305_ietf_keygen(key);
	id_random(id, KEY_ID_LEN);
	sodium_bin2hex(hex, sizeof(hex), key, sizeof(key));
	ok = dprintf(fd, "%s:%s\n", id, hex);
	sodium_memzero(key, sizeof(key));
	sodium_memzero(hex, sizeof(hex));
	if (ok < 0)
		return err_errno(e, "%s", path);
	return 0;
}

void
seal(const struct seal_keys *k, const char *owner, const char *plain,
    size_t len, struct buf *out)
{
	size_t total = NONCE_LEN + len + TAG_LEN;
	auto_free unsigned char *box = xmalloc(total);
	size_t b64 = sodium_base64_encoded_len(total, B64);
	unsigned long long boxed;

	randombytes_buf(box, NONCE_LEN);
	crypto_aead_xchacha20poly1305_ietf_encrypt(box + NONCE_LEN, &boxed,
	    (const unsigned char *)plain, len, (const unsigned char *)owner,
	    strlen(owner), NULL, box, k->key[0].key);
	buf_fmt(out, "%s:", k->key[0].id);
	sodium_bin2base64(buf_room(out, b64), b64, box, total, B64);
	out->len += b64 - 1; /* b64 includes the NUL */
}

static const unsigned char *
find_key(const struct seal_keys *k, const char *sealed, size_t id_len)
{
	for (size_t i = 0; i < k->count; i++)
		if (strlen(k->key[i].id) == id_len &&
		    memcmp(k->key[i].id, sealed, id_len) == 0)
			return k->key[i].key;
	return NULL;
}

int
seal_open(const struct seal_keys *k, const char *owner, const char *sealed,
    struct buf *plain, struct err *e)
{
	const char *colon = strchr(sealed, ':');
	const unsigned char *key = NULL;
	auto_free unsigned char *box = NULL;
	unsigned long long opened;
	size_t max, total = 0;

	if (colon != NULL)
		key = find_key(k, sealed, (size_t)(colon - sealed));
	if (key == NULL)
		return err_set(e, ERR_INTERNAL, CODE_SEAL_KEY_MISSING,
		    "sealed with a key that seal_key_file no longer holds");
	max = strlen(colon + 1);
	if (max > SEALED_MAX)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "a sealed value is too long");
	box = xmalloc(max);
	if (sodium_base642bin(box, max, colon + 1, max, NULL, &total, NULL,
		B64) != 0 ||
	    total < NONCE_LEN + TAG_LEN ||
	    crypto_aead_xchacha20poly1305_ietf_decrypt(
		(unsigned char *)buf_room(plain, total), &opened, NULL,
		box + NONCE_LEN, total - NONCE_LEN,
		(const unsigned char *)owner, strlen(owner), box, key) != 0)
		return err_set(e, ERR_INTERNAL, CODE_SEAL_BROKEN,
		    "a sealed value cannot be decrypted");
	plain->len += opened;
	plain->data[plain->len] = '\0';
	return 0;
}
