/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loss record and a history in temporary files. For one test program each. */
#pragma once

#include "engine/loss_record.h"
#include "tests/store/store_fixture.h"

static const uint8_t boot[16] = "this boot", other_boot[16] = "another boot";
static const struct source_accounts none;

enum { CPU = PILOTLIGHT_SOURCE_CPU };

static char path[64], folder[64]; /* of the record, and of the history */

static int make_files(void **state)
{
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/loss_record_test.XXXXXX");
	fd = mkstemp(path);
	fixture_folder(folder);
	return fd < 0 ? -1 : close(fd);
}

static int remove_files(void **state)
{
	fixture_remove(folder);
	return unlink(path);
}

static struct loss_record *open_record(const uint8_t boot_id[16], uint64_t service)
{
	struct loss_record *record;
	struct fault fault = { 0 };

	assert_int_equal(loss_record_open(path, boot_id, service, &record, &fault), 0);
	return record;
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, make_files, remove_files)
