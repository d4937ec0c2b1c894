/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of one build-id, of which some are trusted and some are not. */
#include "base/array.h"
#include "resolve/binary_table.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Each process has one file mapped, or so the table is told. */
enum { PROCESSES = 4, NOW_NS = 2000 };

static const uint8_t build_id[] = { 0xf0, 0x12, 0xed, 1, 2, 3, 4, 5 };

struct place {
	char root[64];
	struct broker *broker;
	struct process_table *processes;
	struct binary_table *binaries;
	pid_t pids[PROCESSES];
	size_t count;
	char paths[PROCESSES][96];
	struct build_id id;
};

static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	(void)strcpy(place->root, "/tmp/binary_owner_test.XXXXXX");
	assert_non_null(mkdtemp(place->root));
	assert_int_equal(build_id_set(&place->id, build_id, sizeof(build_id)), 0);
	assert_int_equal(broker_new(NULL, &place->broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &place->processes), 0);
	assert_int_equal(binary_table_new(&binary_table_default_limits, place->broker,
				 place->processes, &place->binaries),
		0);
	*state = place;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int tear_down(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < place->count; i++) {
		(void)kill(place->pids[i], SIGKILL);
		(void)waitpid(place->pids[i], NULL, 0);
	}
	binary_table_free(place->binaries);
	process_table_free(place->processes);
	broker_free(place->broker);
	(void)nftw(place->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(place);
	return 0;
}

static void write_file(const char *path, mode_t mode)
{
	static const struct fixture_symbol symbol = { "f", FIXTURE_TEXT_VADDR, 16, 2,
		FIXTURE_TEXT };
	static struct fixture elf;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	elf = (struct fixture){
		.build_id = build_id,
		.build_id_bytes = sizeof(build_id),
		.symbols = &symbol,
		.symbol_count = 1,
	};
	fixture_build(&elf);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, elf.bytes, elf.size), elf.size);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

/* A process that has a file of its own mapped; its number. Anybody may write to one that is not
 * trusted. */
static size_t add_process(struct place *place, bool is_trusted, bool is_id_known)
{
	struct process_mapping_event event = { .start = 0x10000, .end = 0x20000 };
	size_t number = place->count++;
	char path[sizeof(place->paths[0])];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/file%zu", place->root, number);
	memcpy(place->paths[number], path, sizeof(path));
	write_file(path, is_trusted ? 0755 : 0777);
	assert_int_equal(stat(path, &status), 0);
	place->pids[number] = start_process();
	event.path = path;
	if (is_id_known)
		event.build_id = place->id;
	event.inode = status.st_ino;
	assert_int_equal(
		process_table_map(place->processes, place->pids[number], 1000, &event, NULL), 0);
	return number;
}

/* What the process means by the build-id. */
static uint32_t find_by_id(struct place *place, size_t number)
{
	const struct broker_process process = { .pid = place->pids[number] };
	uint32_t binary = UINT32_MAX;

	assert_int_equal(
		binary_table_find_build_id(place->binaries, &place->id, &process, NOW_NS, &binary),
		0);
	return binary;
}

static uint32_t find_by_mapping(struct place *place, size_t number)
{
	const struct broker_process process = { .pid = place->pids[number] };
	struct process_mapping mapping;
	uint32_t binary = UINT32_MAX;

	assert_true(process_table_find(place->processes, process.pid, NOW_NS, 0x10000, &mapping));
	assert_int_equal(
		binary_table_find_mapping(place->binaries, &process, NOW_NS, &mapping, &binary), 0);
	return binary;
}

/* Does the binary have the image of that process's file, and its name? */
static bool is_file_of(const struct place *place, uint32_t binary, size_t number)
{
	struct stat file, opened;
	struct binary found;

	binary_table_get(place->binaries, binary, &found);
	return found.image && found.fd >= 0 && fstat(found.fd, &opened) == 0 &&
	       stat(place->paths[number], &file) == 0 && file.st_ino == opened.st_ino &&
	       strcmp(found.path, place->paths[number]) == 0 &&
	       build_id_equal(&found.build_id, &place->id);
}

static void a_forgery_is_nobody_elses(void **state)
{
	struct place *place = *state;
	size_t forger = add_process(place, false, true), victim = add_process(place, true, true);
	uint32_t forged = find_by_id(place, forger), right;

	assert_true(is_file_of(place, forged, forger));
	right = find_by_id(place, victim);
	assert_int_not_equal(right, forged);
	assert_true(is_file_of(place, right, victim));
	assert_int_equal(find_by_mapping(place, victim), right);
	/* Whoever says that he is the trusted one gets what it has. */
	assert_int_equal(find_by_id(place, forger), right);
}

static void forged_build_ids_do_not_replace_the_real_file(void **state)
{
	struct place *place = *state;
	size_t forger = add_process(place, false, false), victim = add_process(place, true, false);
	uint32_t forged = find_by_mapping(place, forger), right = find_by_mapping(place, victim);

	assert_true(is_file_of(place, forged, forger));
	assert_true(is_file_of(place, right, victim));
	assert_int_equal(find_by_id(place, victim), right);
}

static void processes_of_one_owner_share_his_binary(void **state)
{
	struct place *place = *state;
	size_t one = add_process(place, false, true), two = add_process(place, false, true);
	uint32_t binary = find_by_id(place, one);

	assert_true(is_file_of(place, binary, one));
	assert_int_equal(find_by_id(place, one), binary);
	assert_int_equal(find_by_id(place, two), binary);
	assert_int_equal(find_by_mapping(place, two), binary);
	assert_int_equal(binary_table_count(place->binaries), 1);
}

/* Nobody knows which file a process means that is not known: a trusted one, or none. */
static void strangers_mean_trusted_files(void **state)
{
	struct place *place = *state;
	size_t stranger = PROCESSES - 1, victim;
	struct binary found;
	uint32_t binary;

	place->pids[stranger] = 0x3ffffffe;
	(void)add_process(place, false, true);
	binary = find_by_id(place, stranger);
	binary_table_get(place->binaries, binary, &found);
	assert_null(found.image);
	victim = add_process(place, true, true);
	assert_int_equal(find_by_id(place, victim), binary);
	assert_true(is_file_of(place, binary, victim));
	assert_int_equal(find_by_id(place, stranger), binary);
}

/* An image that there is no memory for is not another's. */
static void failing_allocations_confuse_nobody(void **state)
{
	struct place *place = *state;
	size_t forger = add_process(place, false, true), victim = add_process(place, true, true);
	size_t n;

	for (n = 0;; n++) {
		const struct broker_process process = { .pid = place->pids[n % 2 ? victim : forger],
			.start_ns = 0 };
		uint32_t binary = UINT32_MAX;
		bool has_failed;
		int r;

		binary_table_free(place->binaries);
		place->binaries = NULL;
		assert_int_equal(binary_table_new(&binary_table_default_limits, place->broker,
					 place->processes, &place->binaries),
			0);
		fail_allocation(n / 2);
		r = binary_table_find_build_id(
			place->binaries, &place->id, &process, NOW_NS, &binary);
		has_failed = allocation_failed();
		assert_true(r == 0 || (has_failed && r == -ENOMEM));
		if (r == 0 && is_file_of(place, binary, forger))
			assert_int_equal(process.pid, place->pids[forger]);
		if (!has_failed && n % 2)
			break;
	}
	assert_true(n >= 8);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(a_forgery_is_nobody_elses),
		IN_PLACE(forged_build_ids_do_not_replace_the_real_file),
		IN_PLACE(processes_of_one_owner_share_his_binary),
		IN_PLACE(strangers_mean_trusted_files),
		IN_PLACE(failing_allocations_confuse_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
