/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a renewal of the running kernel's symbols takes: the engine's budget has room for one
 * snapshot beside the old one, and BPF programs of others cause a renewal every five seconds.
 * Runs beside others: it judges its own memory.
 */
#include "resolve/kernel_symbols.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RENEWALS = 4 };

/* Of /proc/self/status, in bytes. */
static size_t status_bytes(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t kib = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtoul(line + strlen(name), NULL, 10);
	(void)fclose(file);
	return kib << 10;
}

/* From here on, VmHWM is the peak. */
static void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	assert_non_null(file);
	assert_true(fputs("5", file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void a_renewal_takes_one_more_snapshot(void **state)
{
	struct kernel_symbols *symbols;
	struct broker *broker;

	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(kernel_symbols_new(broker, &symbols), 0);
	for (int i = 0; i < RENEWALS; i++) {
		size_t before_bytes, peak_bytes, bytes;
		int r;

		reset_peak();
		before_bytes = status_bytes("VmRSS:");
		r = kernel_symbols_renew(symbols);
		if (r == -EPERM) {
			kernel_symbols_free(symbols);
			broker_free(broker);
			print_message("skipped: the kernel hides its symbols\n");
			skip();
		}
		assert_int_equal(r, 0);
		peak_bytes = status_bytes("VmHWM:") - before_bytes;
		bytes = kernel_symbols_bytes(symbols);
		print_message("# %zu bytes more for a snapshot of %zu\n", peak_bytes, bytes);
		/* The first one does not know yet how large it gets. */
		if (i > 0)
			assert_true(peak_bytes < bytes + bytes / 2);
	}
	kernel_symbols_free(symbols);
	broker_free(broker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_renewal_takes_one_more_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
