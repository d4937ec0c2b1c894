/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/host_id.h"

#include "base/cleanup.h"
#include "base/hex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <sha2.h>

enum { ID_BYTES = 16, INNER = 0x36, OUTER = 0x5c };

static bool parse(const char *text, uint8_t id[ID_BYTES])
{
	for (size_t i = 0; i < ID_BYTES; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		id[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* One hash of HMAC: over the padded key, and a message. */
static void hash(const uint8_t key[ID_BYTES], uint8_t pad, const uint8_t *message, size_t size,
	uint8_t digest[SHA256_DIGEST_LENGTH])
{
	uint8_t block[SHA256_BLOCK_LENGTH];
	SHA2_CTX context;

	memset(block, pad, sizeof(block));
	for (size_t i = 0; i < ID_BYTES; i++)
		block[i] ^= key[i];
	SHA256Init(&context);
	SHA256Update(&context, block, sizeof(block));
	SHA256Update(&context, message, size);
	SHA256Final(digest, &context);
}

int host_id_read(const char *path, char id[HOST_ID_BYTES])
{
	_cleanup_fclose_ FILE *file = fopen(path ? path : "/etc/machine-id", "re");
	uint8_t machine[ID_BYTES], application[ID_BYTES], digest[SHA256_DIGEST_LENGTH];
	char text[2 * ID_BYTES + 1] = "";

	if (!file)
		return -errno;
	if (!fgets(text, sizeof(text), file) || !parse(text, machine) ||
		!parse(HOST_ID_APPLICATION, application))
		return -EBADMSG;
	hash(machine, INNER, application, sizeof(application), digest);
	hash(machine, OUTER, digest, sizeof(digest), digest);
	/* systemd makes it a UUID of version 4. */
	digest[6] = (uint8_t)((digest[6] & 0x0f) | 0x40);
	digest[8] = (uint8_t)((digest[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < ID_BYTES; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
