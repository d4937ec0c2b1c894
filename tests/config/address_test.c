/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void both_families_are_read(void **state)
{
	struct fault fault = { 0 };
	struct address address;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	assert_int_equal(address_parse("127.0.0.1:7447", &address, &fault), 0);
	assert_int_equal(address.size, sizeof(in));
	memcpy(&in, &address.storage, sizeof(in));
	assert_int_equal(in.sin_family, AF_INET);
	assert_int_equal(ntohs(in.sin_port), 7447);
	assert_int_equal(ntohl(in.sin_addr.s_addr), INADDR_LOOPBACK);

	assert_int_equal(address_parse("[::1]:65535", &address, &fault), 0);
	assert_int_equal(address.size, sizeof(in6));
	memcpy(&in6, &address.storage, sizeof(in6));
	assert_int_equal(in6.sin6_family, AF_INET6);
	assert_int_equal(ntohs(in6.sin6_port), 65535);
	assert_memory_equal(&in6.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
}

static void other_addresses_are_refused(void **state)
{
	static const char *const texts[] = { "", ":", ":80", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:999999", "127.0.0.1:-1",
		"127.0.0.1: 80", "127.0.0.1:80 ", "localhost:80", "::1:80", "[::1]", "[]:80",
		"[::1:80", "::1]:80", "[127.0.0.1]:80",
		"[00000000000000000000000000000000000000000000000000000000000000000000000001]:80" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fault fault = { 0 };
		struct address address = { .size = 7 };

		assert_int_equal(address_parse(texts[i], &address, &fault), -EINVAL);
		assert_int_equal(address.size, 7);
		assert_non_null(strstr(fault.text, "127.0.0.1:7447"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_families_are_read),
		cmocka_unit_test(other_addresses_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
