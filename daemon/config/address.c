/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int invalid(const char *text, struct fault *fault)
{
	return fault_set(fault, -EINVAL,
		"'%.200s' is not an address with a port: write '127.0.0.1:7447' or '[::1]:7447'",
		text);
}

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	unsigned port = 0;

	if (digits == 0 || digits > 5 || text[digits])
		return false;
	for (; *text; text++)
		port = port * 10 + (unsigned)(*text - '0');
	return port <= UINT16_MAX;
}

int address_parse(const char *text, struct address *ret_address, struct fault *fault)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(text, ':'), *host = text;
	struct addrinfo *found;
	char host_text[64];
	size_t size;

	if (!colon || !is_port(colon + 1))
		return invalid(text, fault);
	size = (size_t)(colon - text);
	hints.ai_family = AF_INET;
	if (*text == '[') {
		if (size < 2 || colon[-1] != ']')
			return invalid(text, fault);
		hints.ai_family = AF_INET6;
		host++;
		size -= 2;
	}
	if (size == 0 || size >= sizeof(host_text))
		return invalid(text, fault);
	memcpy(host_text, host, size);
	host_text[size] = '\0';
	if (getaddrinfo(host_text, colon + 1, &hints, &found) != 0)
		return invalid(text, fault);
	*ret_address = (struct address){ .size = found->ai_addrlen };
	memcpy(&ret_address->storage, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}
