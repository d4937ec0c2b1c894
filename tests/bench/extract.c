/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extract [-o FILE] BINARY|- DEBUG|- [ALTERNATE]
 *
 * The cost of making a symbol file: runs an extraction in this process and prints its CPU time, its
 * peak of anonymous memory and its result. Another thread, whose time does not count, reads the
 * memory about every millisecond. Pages of files, also of the scratch file, do not count.
 */
#include "extract/extraction.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

struct memory_watch {
	pthread_t thread;
	atomic_bool is_over;
	unsigned long peak_kib;
};

static unsigned long anonymous_kib(void)
{
	_cleanup_fclose_ FILE *status = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %lu kB", &kib) == 1)
			break;
	return kib;
}

static void *watch(void *context)
{
	struct memory_watch *memory = context;
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (!atomic_load(&memory->is_over)) {
		unsigned long kib = anonymous_kib();

		if (kib > memory->peak_kib)
			memory->peak_kib = kib;
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

static double thread_cpu_s(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int open_input(const char *path)
{
	int fd;

	if (!path || strcmp(path, "-") == 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "extract: cannot open \"%s\": %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

static int open_scratch(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		perror("extract: no scratch file");
		exit(1);
	}
	return fd;
}

/* The identity of the binary or of the debug file; made up without a build-id and a hash. */
static void fill_identity(int fd, struct pilotlight_symbol_request *request)
{
	struct symbol_identity identity;

	if (symbol_identity_read_file(fd, &identity) < 0)
		return;
	request->identity_kind = identity.kind;
	request->identity_bytes = identity.id.size;
	memcpy(request->identity, identity.id.bytes, sizeof(request->identity));
}

static int print_counts(int fd)
{
	static const struct {
		enum pilotlight_symbol_section_id section;
		const char *name;
	} sections[] = {
		{ PILOTLIGHT_SYMBOL_BOUNDARIES, "boundaries" },
		{ PILOTLIGHT_SYMBOL_FRAMES, "frames" },
		{ PILOTLIGHT_SYMBOL_ROWS, "rows" },
		{ PILOTLIGHT_SYMBOL_FILES, "files" },
		{ PILOTLIGHT_SYMBOL_STRINGS, "bytes of strings" },
	};
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_symbol_header *header;
	int r;

	r = symbol_file_open(fd, &file);
	if (r < 0) {
		fprintf(stderr, "extract: what was written is no symbol file: %s\n", strerror(-r));
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		printf("%12llu %s\n",
			(unsigned long long)symbol_file_count(file, sections[i].section),
			sections[i].name);
	header = symbol_file_header(file);
	printf("contents %#x; lost: %u units, %u ranges outside of the code, %u names, %u symbol "
	       "tables\n",
		header->contents, header->units_failed, header->ranges_outside,
		header->names_failed, header->symbols_failed);
	return 0;
}

static int run(const struct extraction_files *files, const char *origin)
{
	struct pilotlight_symbol_request request = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.has_binary = files->binary_fd >= 0,
		.has_debug = files->debug_fd >= 0,
		.has_alternate = files->alternate_fd >= 0,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 16ULL << 30,
	};
	struct memory_watch memory = { .peak_kib = 0 };
	struct pilotlight_symbol_report report;
	struct stat status;
	double start_s;
	int r;

	(void)snprintf(request.origin, sizeof(request.origin), "%s", origin);
	fill_identity(files->binary_fd >= 0 ? files->binary_fd : files->debug_fd, &request);
	if (pthread_create(&memory.thread, NULL, watch, &memory) != 0) {
		perror("extract: no thread");
		return -1;
	}
	start_s = thread_cpu_s();
	r = extraction_run(files, &request, &report);
	start_s = thread_cpu_s() - start_s;
	atomic_store(&memory.is_over, true);
	(void)pthread_join(memory.thread, NULL);

	printf("%12.2f s of CPU time\n%12.1f MiB of anonymous memory at most\n%12.1f MiB of "
	       "scratch\n",
		start_s, (double)memory.peak_kib / 1024, (double)report.scratch_bytes / 1048576);
	if (r < 0) {
		fprintf(stderr, "extract: \"%s\": %s\n", origin, strerror(-r));
		return r;
	}
	if (fstat(files->output_fd, &status) == 0)
		printf("%12.1f MiB of symbol file; debug file %staken, alternate %staken\n",
			(double)status.st_size / 1048576, report.has_taken_debug ? "" : "not ",
			report.has_taken_alternate ? "" : "not ");
	return print_counts(files->output_fd);
}

int main(int argc, char **argv)
{
	struct extraction_files files = { .output_fd = -1 };
	const char *output = NULL;
	int option;

	while ((option = getopt(argc, argv, "o:")) != -1) {
		if (option != 'o')
			return 2;
		output = optarg;
	}
	argv += optind;
	argc -= optind;
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "Usage: extract [-o FILE] BINARY|- DEBUG|- [ALTERNATE]\n");
		return 2;
	}
	files.binary_fd = open_input(argv[0]);
	files.debug_fd = open_input(argv[1]);
	files.alternate_fd = open_input(argv[2]);
	files.package_fd = -1;
	files.scratch_fd = open_scratch();
	files.output_fd = output ? open(output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
				 : open_scratch();
	if (files.output_fd < 0) {
		fprintf(stderr, "extract: cannot write \"%s\": %s\n", output, strerror(errno));
		return 1;
	}
	return run(&files, argv[files.binary_fd >= 0 ? 0 : 1]) < 0;
}
