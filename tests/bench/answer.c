/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of one answer: `answer HISTORY OUTPUT NOW [NAME VALUE]...` answers in this process,
 * without a symbol cache unless $PILOTLIGHT_SYMBOL_CACHE is set. NOW is in seconds since 1970;
 * "against.NAME" requests a difference, "kind heatmap" a heat map, "kind timeline" a time line.
 * tests/bench/store.sh shows how to make a history.
 */
#include "answer/answer.h"
#include "base/clock.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct answer_request request = {
	.version = ANSWER_VERSION,
	.kind = ANSWER_PROFILE,
	.scope = ANSWER_ALL,
	.bytes_max = 1 << 30,
	.memory_max = 64 << 20,
	.timeout_s = 60,
};

static void add(const char *text)
{
	size_t size = strlen(text) + 1;

	if (size > sizeof(request.parameters) - request.parameters_bytes)
		errx(2, "too many parameters");
	memcpy(request.parameters + request.parameters_bytes, text, size);
	request.parameters_bytes += (uint32_t)size;
	if (strncmp(text, "against.", strlen("against.")) == 0)
		request.kind = ANSWER_DIFFERENCE;
}

int main(int argc, char **argv)
{
	const char *cache = getenv("PILOTLIGHT_SYMBOL_CACHE");
	struct answer_reply reply;
	struct rusage usage;
	uint64_t wall_ns, cpu_ns;
	int fd;

	if (argc < 4 || argc % 2 != 0)
		errx(2, "usage: answer HISTORY OUTPUT NOW [NAME VALUE]...");
	(void)snprintf(request.history, sizeof(request.history), "%s", argv[1]);
	(void)snprintf(
		request.symbol_cache, sizeof(request.symbol_cache), "%s", cache ? cache : "");
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		err(1, "%s", argv[2]);
	request.now_ns = strtoull(argv[3], NULL, 10) * NSEC_PER_SEC;
	for (int i = 4; i < argc; i += 2)
		if (strcmp(argv[i], "kind") == 0) {
			request.kind = strcmp(argv[i + 1], "timeline") == 0 ? ANSWER_TIMELINE
									    : ANSWER_HEATMAP;
		} else {
			add(argv[i]);
			add(argv[i + 1]);
		}

	wall_ns = clock_monotonic_ns();
	cpu_ns = clock_process_cpu_ns();
	answer_make(&request, fd, &reply);
	wall_ns = clock_monotonic_ns() - wall_ns;
	cpu_ns = clock_process_cpu_ns() - cpu_ns;
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("%d %s%s: %.3f s (%.3f s CPU), %" PRIu64 " bytes, peak %.1f MiB\n", reply.status,
		reply.content_type, reply.text, (double)wall_ns / 1e9, (double)cpu_ns / 1e9,
		reply.bytes, (double)usage.ru_maxrss / 1024);
	(void)close(fd);
	return reply.status == 200 ? 0 : 1;
}
