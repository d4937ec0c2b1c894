/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/host_id.h"

#include "tests/config/config_folder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int read_of(const char *text, char id[HOST_ID_BYTES])
{
	struct config_folder folder;
	int r;

	config_folder_make(&folder);
	config_folder_write(&folder, "x.conf", text);
	r = host_id_read(folder.file, id);
	config_folder_remove(&folder);
	return r;
}

/* By Python: hmac.new(bytes.fromhex(machine), bytes.fromhex(application), "sha256"). */
static void an_id_is_a_keyed_hash(void **state)
{
	char id[HOST_ID_BYTES] = "";

	assert_int_equal(read_of("0123456789abcdef0123456789abcdef\n", id), 0);
	assert_string_equal(id, "8c85bec5eb4c4017a296a8bd3772a79c");
}

static void without_an_id_there_is_none(void **state)
{
	char id[HOST_ID_BYTES] = "old";

	assert_int_equal(read_of("", id), -EBADMSG);
	assert_int_equal(read_of("uninitialized\n", id), -EBADMSG);
	assert_int_equal(read_of("0123456789abcdef0123456789abcde", id), -EBADMSG);
	assert_int_equal(host_id_read("/nonexistent", id), -ENOENT);
	assert_string_equal(id, "old");
}

/* systemd's own, where there is one. */
static void it_is_that_of_systemd(void **state)
{
	char id[HOST_ID_BYTES], theirs[HOST_ID_BYTES] = "";
	FILE *pipe;

	if (host_id_read(NULL, id) < 0)
		skip();
	pipe = popen(
		"systemd-id128 machine-id --app-specific=" HOST_ID_APPLICATION " 2>/dev/null", "r");
	if (!pipe || !fgets(theirs, sizeof(theirs), pipe)) {
		if (pipe)
			(void)pclose(pipe);
		skip();
	}
	(void)pclose(pipe);
	assert_string_equal(id, theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_a_keyed_hash),
		cmocka_unit_test(without_an_id_there_is_none),
		cmocka_unit_test(it_is_that_of_systemd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
