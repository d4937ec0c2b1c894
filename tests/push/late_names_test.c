/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/late_names.h"

#include "pilotlight/parca_batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct late_names names;
static struct {
	struct pilotlight_parca_batch header;
	struct pilotlight_parca_binary binaries[PILOTLIGHT_PARCA_BINARIES_MAX + 1];
} batch;

static int set_up(void **state)
{
	names = (struct late_names){ 0 };
	memset(&batch, 0, sizeof(batch));
	batch.header.magic = PILOTLIGHT_PARCA_BATCH_MAGIC;
	batch.header.version = PILOTLIGHT_PARCA_BATCH_VERSION;
	return 0;
}

static void add(uint8_t id, uint64_t symbols_s, bool is_named)
{
	batch.binaries[batch.header.binaries++] = (struct pilotlight_parca_binary){
		.symbols_s = symbols_s,
		.build_id = { id, 0xab },
		.build_id_bytes = 3,
		.is_named = is_named,
	};
}

/* Begins the next batch, too. */
static void read_batch(size_t bytes)
{
	int fd = memfd_create("batch", MFD_CLOEXEC);

	assert_int_equal(write(fd, &batch, bytes), bytes);
	late_names_read(&names, fd, bytes);
	(void)close(fd);
	batch.header.binaries = 0;
}

static const char *text(void)
{
	static char formatted[LATE_NAMES_TEXT_BYTES];

	late_names_format(&names, formatted);
	return formatted;
}

static void unnamed_binaries_wait_for_names(void **state)
{
	assert_string_equal(text(), "");
	add(1, 0, false);
	add(2, 0x6500, false);
	read_batch(sizeof(batch));
	assert_string_equal(text(), "01ab00:0,02ab00:6500");
	/* They stay, and are told again with other symbols, or are named. */
	read_batch(sizeof(batch));
	add(1, 0x6501, false);
	add(2, 0x6501, true);
	add(3, 0, true);
	read_batch(sizeof(batch));
	assert_string_equal(text(), "01ab00:6501");
}

static void the_oldest_are_forgotten(void **state)
{
	for (int i = 0; i < LATE_NAMES_MAX; i++)
		add((uint8_t)i, UINT64_MAX, false);
	read_batch(sizeof(batch));
	add(LATE_NAMES_MAX, UINT64_MAX, false);
	add(LATE_NAMES_MAX + 1, UINT64_MAX, false);
	read_batch(sizeof(batch));
	assert_int_equal(names.count, LATE_NAMES_MAX);
	assert_int_equal(strncmp(text(), "02ab00:ffffffffffffffff,03ab00:", 31), 0);
	assert_true(strlen(text()) < LATE_NAMES_TEXT_BYTES);
}

static void the_longest_list_has_room(void **state)
{
	for (int i = 0; i < LATE_NAMES_MAX; i++) {
		add((uint8_t)i, UINT64_MAX, false);
		batch.binaries[i].build_id_bytes = BUILD_ID_BYTES;
	}
	read_batch(sizeof(batch));
	assert_int_equal(strlen(text()), LATE_NAMES_MAX * (LATE_NAME_TEXT_BYTES - 1) - 1);
}

/* The bytes are of a process that is not trusted. */
static void other_bytes_change_nothing(void **state)
{
	add(1, 0, false);
	batch.binaries[0].build_id_bytes = 0;
	add(2, 0, false);
	batch.binaries[1].build_id_bytes = BUILD_ID_BYTES + 1;
	read_batch(sizeof(batch));
	assert_int_equal(names.count, 0);

	add(1, 0, false);
	read_batch(sizeof(batch.header) - 1);
	add(1, 0, false);
	read_batch(sizeof(batch.header) + sizeof(batch.binaries[0]) - 1);
	assert_int_equal(names.count, 0);

	add(1, 0, false);
	batch.header.version++;
	read_batch(sizeof(batch));
	batch.header.version--;
	batch.header.magic++;
	add(1, 0, false);
	read_batch(sizeof(batch));
	assert_int_equal(names.count, 0);

	batch.header.magic--;
	for (int i = 0; i <= PILOTLIGHT_PARCA_BINARIES_MAX; i++)
		add((uint8_t)i, 0, true);
	batch.binaries[PILOTLIGHT_PARCA_BINARIES_MAX].is_named = false;
	batch.header.binaries = UINT32_MAX;
	read_batch(sizeof(batch));
	assert_int_equal(names.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(unnamed_binaries_wait_for_names, set_up),
		cmocka_unit_test_setup(the_oldest_are_forgotten, set_up),
		cmocka_unit_test_setup(the_longest_list_has_room, set_up),
		cmocka_unit_test_setup(other_bytes_change_nothing, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
