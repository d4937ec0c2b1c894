/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses to listen on by TCP, as numbers: asking a name service could take for ever (I5). */
#pragma once

#include "base/fault.h"

#include <sys/socket.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
	};
	socklen_t size;
};

/*
 * "127.0.0.1:7447", "[::1]:7447". Returns 0, or -EINVAL with a fault that names the text and shows
 * how it could be written.
 */
int address_parse(const char *text, struct address *ret_address, struct fault *fault);
