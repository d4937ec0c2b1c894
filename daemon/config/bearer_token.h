/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the token that TCP clients must send (RFC 6750) from a file of its own: the configuration
 * is for everybody to read. The file has one line.
 */
#pragma once

#include "base/fault.h"

enum {
	BEARER_TOKEN_LEAST = 16, /* a shorter one could be guessed */
	BEARER_TOKEN_BYTES = 513,
};

/*
 * `name` is an absolute path, or the name of a credential that the service manager passes in
 * $CREDENTIALS_DIRECTORY (systemd.exec(5), LoadCredential=). Returns 0; -EACCES if the file cannot
 * be opened, -EPERM if other users may read or change it; -EINVAL if it holds no token; or another
 * -errno. Each has a fault.
 */
int bearer_token_read(const char *name, char token[BEARER_TOKEN_BYTES], struct fault *fault);
