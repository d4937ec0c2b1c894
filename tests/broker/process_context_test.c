/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker copies the payload that a process publishes, and nothing else of its memory. */
#include "tests/broker/served_broker.h"
#include "tests/harness/process_context.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

static const char payload[] = "what the process tells";

static int new_broker(void **state)
{
	const enum broker_place *place = *state;
	struct placed_broker *placed = calloc(1, sizeof(*placed));

	assert_non_null(placed);
	placed_broker_start(placed, *place, NULL);
	*state = placed;
	return 0;
}

static int free_broker(void **state)
{
	struct placed_broker *placed = *state;

	placed_broker_stop(placed);
	free(placed);
	return 0;
}

/* Copies that of this process; `size` 0: there is none. Returns as the broker. */
static int copy(void **state, char *bytes, size_t room, size_t *ret_size)
{
	const struct broker_process ourselves = { .pid = getpid() };
	int fd = -1, r;
	ssize_t size;

	r = broker_copy_process_context(((struct placed_broker *)*state)->broker, &ourselves, &fd);
	/* Only root may read the memory of a process that it has not started. */
	if ((r == -EACCES || r == -EPERM) && geteuid() != 0)
		skip();
	if (r < 0)
		return r;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	size = pread(fd, bytes, room, 0);
	assert_true(size >= 0);
	*ret_size = (size_t)size;
	return close(fd);
}

static int result_of(void **state)
{
	char bytes[sizeof(payload)];
	size_t size;

	return copy(state, bytes, sizeof(bytes), &size);
}

static void expect_payload(void **state)
{
	char bytes[2 * sizeof(payload)];
	size_t size = 0;

	assert_int_equal(copy(state, bytes, sizeof(bytes), &size), 0);
	assert_int_equal(size, sizeof(payload));
	assert_memory_equal(bytes, payload, size);
}

static void memory_of_both_kinds_is_found(void **state)
{
	assert_int_equal(result_of(state), -ENOENT);
	for (int is_memfd = 0; is_memfd < 2; is_memfd++) {
		struct pilotlight_process_context *mapped = context_map(is_memfd);

		if (!mapped) {
			print_message("the kernel does not name anonymous memory\n");
			continue;
		}
		assert_int_equal(result_of(state), -EAGAIN);
		context_publish(mapped, payload, sizeof(payload), 1);
		expect_payload(state);
		context_publish(mapped, payload, sizeof(payload), 2);
		expect_payload(state);
		context_unmap(mapped);
		assert_int_equal(result_of(state), -ENOENT);
	}
}

static void lies_give_nothing(void **state)
{
	struct pilotlight_process_context *mapped = context_map(1);
	char *pages;
	static const struct {
		uint64_t payload;
		uint32_t size, version;
		int result;
	} lies[] = {
		{ 0, sizeof(payload), 2, -EFAULT },
		{ 16, sizeof(payload), 2, -EFAULT },
		{ 0xffff888000000000, sizeof(payload), 2, -EFAULT },
		{ UINT64_MAX, sizeof(payload), 2, -EFAULT },
		{ INT64_MAX, PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX, 2, -EFAULT },
		{ 1, 0, 2, -ENOEXEC },
		{ 1, PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX + 1, 2, -ENOEXEC },
		{ 1, UINT32_MAX, 2, -ENOEXEC },
		{ 1, sizeof(payload), 1, -ENOEXEC },
		{ 1, sizeof(payload), 3, -ENOEXEC },
	};

	assert_non_null(mapped);
	context_publish(mapped, payload, sizeof(payload), 1);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		mapped->payload = lies[i].payload;
		mapped->payload_bytes = lies[i].size;
		mapped->version = lies[i].version;
		assert_int_equal(result_of(state), lies[i].result);
	}
	context_publish(mapped, payload, sizeof(payload), 2);
	mapped->signature[7] = 'Y';
	assert_int_equal(result_of(state), -ENOEXEC);
	context_publish(mapped, payload, sizeof(payload), 0);
	assert_int_equal(result_of(state), -EAGAIN);
	/* The end of the payload is behind memory of one page. */
	pages = mmap(NULL, (size_t)2 * CONTEXT_MAPPING_BYTES, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	assert_int_equal(munmap(pages + CONTEXT_MAPPING_BYTES, CONTEXT_MAPPING_BYTES), 0);
	context_publish(mapped, pages + CONTEXT_MAPPING_BYTES - 4, 8, 3);
	assert_int_equal(result_of(state), -EFAULT);
	assert_int_equal(munmap(pages, CONTEXT_MAPPING_BYTES), 0);
	context_unmap(mapped);
}

/* What a process that runs for others maps for them may be named so, too. */
static void files_of_others_are_refused(void **state)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct pilotlight_process_context *mapped;

	if (geteuid() != 0)
		skip();
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CONTEXT_MAPPING_BYTES), 0);
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	mapped = mmap(NULL, CONTEXT_MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	context_publish(mapped, payload, sizeof(payload), 1);
	assert_int_equal(result_of(state), -EPERM);
	assert_int_equal(fchown(fd, 0, 0), 0);
	expect_payload(state);
	context_unmap(mapped);
	assert_int_equal(close(fd), 0);
}

/* A client that passes a file does not hide what the process tells itself, mapped before it or
 * after. */
static void files_of_others_are_skipped(void **state)
{
	struct pilotlight_process_context *mapped, *own[2];
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (geteuid() != 0)
		skip();
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CONTEXT_MAPPING_BYTES), 0);
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	own[0] = context_map(1);
	mapped = mmap(NULL, CONTEXT_MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	own[1] = context_map(1);
	assert_true(own[0] && own[1] && mapped != MAP_FAILED);
	context_publish(mapped, "other", 5, 1);
	for (int i = 0; i < 2; i++) {
		context_publish(own[i], payload, sizeof(payload), 1);
		own[!i]->version = 7;
		own[!i]->published_ns = 1;
		expect_payload(state);
	}
	context_unmap(mapped);
	context_unmap(own[0]);
	context_unmap(own[1]);
	assert_int_equal(close(fd), 0);
}

/* Anybody's file may have a path that ends like the name of memory. */
static void files_with_the_name_are_no_memory(void **state)
{
	static const char *const names[] = { "a [anon:OTEL_CTX]", "a [anon_shmem:OTEL_CTX]",
		"a /memfd:OTEL_CTX", "memfd:OTEL_CTX" };
	char folder[] = "/tmp/pilotlight-context-XXXXXX", path[128], inner[128];
	struct pilotlight_process_context *mapped;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(inner, sizeof(inner), "%s/a ", folder);
	assert_int_equal(mkdir(inner, 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, CONTEXT_MAPPING_BYTES), 0);
		mapped = mmap(
			NULL, CONTEXT_MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(mapped != MAP_FAILED);
		context_publish(mapped, payload, sizeof(payload), 1);
		assert_int_equal(result_of(state), -ENOENT);
		context_unmap(mapped);
		assert_int_equal(close(fd) | unlink(path), 0);
	}
	assert_int_equal(rmdir(inner) | rmdir(folder), 0);
}

/*
 * The path of a file whose file system was unmounted meanwhile begins there. The kernel's own
 * memory files are on none that can be mounted.
 */
static void files_of_other_file_systems_are_refused(void **state)
{
	char folder[] = "/tmp/pilotlight-context-XXXXXX", path[128];
	struct pilotlight_process_context *mapped;
	int fd;

	assert_non_null(mkdtemp(folder));
	if (mount("none", folder, "tmpfs", 0, NULL) < 0) {
		assert_int_equal(rmdir(folder), 0);
		skip();
	}
	(void)snprintf(path, sizeof(path), "%s/memfd:OTEL_CTX", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CONTEXT_MAPPING_BYTES), 0);
	mapped = mmap(NULL, CONTEXT_MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	context_publish(mapped, payload, sizeof(payload), 1);
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
	assert_int_equal(result_of(state), -EPERM);
	context_unmap(mapped);
	assert_int_equal(close(fd) | rmdir(folder), 0);
}

static void no_other_process_answers(void **state)
{
	const struct broker_process later = { .pid = getpid(), .start_ns = UINT64_MAX };
	const struct broker_process nobody = { .pid = 0 };
	struct broker *broker = ((struct placed_broker *)*state)->broker;
	int fd = -7;

	assert_int_equal(broker_copy_process_context(broker, &later, &fd), -ESRCH);
	assert_int_equal(broker_copy_process_context(broker, &nobody, &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

/* A process changes its context all the time, between two payloads. No copy has a part of both. */
static void torn_copies_are_dropped(void **state)
{
	static uint8_t first[512], second[640];
	struct placed_broker *placed = *state;
	struct broker_process child = { .pid = fork() };
	const time_t until = time(NULL) + 60;
	int copies = 0, fd, r;

	memset(first, 'a', sizeof(first));
	memset(second, 'b', sizeof(second));
	if (child.pid == 0) {
		struct pilotlight_process_context *mapped = context_map(1);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uint64_t i = 2; mapped; i++) {
			context_publish(mapped, i % 2 ? second : first,
				i % 2 ? sizeof(second) : sizeof(first), i);
			/* Now and then a copy must succeed. */
			if (i % 64 == 0)
				(void)usleep(50);
		}
		_exit(1);
	}
	assert_true(child.pid > 0);
	while (copies < 200 && time(NULL) < until) {
		char bytes[sizeof(first) + sizeof(second)];
		ssize_t size;

		r = broker_copy_process_context(placed->broker, &child, &fd);
		if (r == -EAGAIN || r == -ENOENT || r == -ENOEXEC)
			continue;
		if ((r == -EACCES || r == -EPERM) && geteuid() != 0)
			break;
		assert_int_equal(r, 0);
		size = pread(fd, bytes, sizeof(bytes), 0);
		assert_int_equal(size, bytes[0] == 'a' ? sizeof(first) : sizeof(second));
		assert_memory_equal(bytes, bytes[0] == 'a' ? first : second, size);
		assert_int_equal(close(fd), 0);
		copies++;
	}
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_true(copies > 0 || geteuid() != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH_PLACES(memory_of_both_kinds_is_found, new_broker, free_broker),
		IN_BOTH_PLACES(lies_give_nothing, new_broker, free_broker),
		IN_BOTH_PLACES(files_of_others_are_refused, new_broker, free_broker),
		IN_BOTH_PLACES(files_of_others_are_skipped, new_broker, free_broker),
		IN_BOTH_PLACES(files_with_the_name_are_no_memory, new_broker, free_broker),
		IN_BOTH_PLACES(files_of_other_file_systems_are_refused, new_broker, free_broker),
		IN_BOTH_PLACES(no_other_process_answers, new_broker, free_broker),
		IN_BOTH_PLACES(torn_copies_are_dropped, new_broker, free_broker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
