/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses numeric TCP listen addresses. Host names are refused: a name service may block (I5). */
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
 * Parses "127.0.0.1:7447" or "[::1]:7447". Returns 0, or -EINVAL with a fault that quotes the text
 * and shows a valid form.
 */
int address_parse(const char *text, struct address *ret_address, struct fault *fault);
