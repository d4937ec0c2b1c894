/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tools/doctor/doctor_check.h"
#include "tools/doctor/doctor_report.h"
#include "tools/doctor/doctor_text.h"
#include "tools/exit_status.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

static const struct doctor_group *const groups[] = {
	&doctor_capabilities,
	&doctor_settings,
	&doctor_kernel,
	&doctor_perf,
	&doctor_bpf,
	&doctor_unwind,
	&doctor_system,
};

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
	va_list arguments;

	finding->state = state;
	va_start(arguments, format);
	(void)vsnprintf(finding->found, sizeof(finding->found), format, arguments);
	va_end(arguments);
}

bool doctor_has_capability(const struct doctor_host *host, int capability)
{
	return host->capabilities & (UINT64_C(1) << capability);
}

enum doctor_state doctor_refusal(const struct doctor_host *host)
{
	bool has_all =
		doctor_has_capability(host, CAP_SYS_ADMIN) ||
		(doctor_has_capability(host, CAP_BPF) && doctor_has_capability(host, CAP_PERFMON));

	return has_all ? DOCTOR_MISSING : DOCTOR_UNKNOWN;
}

bool doctor_is_since(const struct doctor_host *host, unsigned major, unsigned minor)
{
	return host->major > major || (host->major == major && host->minor >= minor);
}

int doctor_read_file(const char *path, char *ret_text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = 0;

	if (fd < 0)
		return -errno;
	while (length < size - 1) {
		ssize_t n = read(fd, ret_text + length, size - 1 - length);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	if (length && ret_text[length - 1] == '\n')
		length--;
	ret_text[length] = '\0';
	return 0;
}

static int load_smallest_program(void)
{
	/* r0 = 0; exit */
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(
		BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", program, ARRAY_SIZE(program), NULL);

	if (fd < 0)
		return fd;
	(void)close(fd);
	return 0;
}

static void look_at_host(struct doctor_host *ret_host)
{
	struct doctor_host host = { 0 };
	struct rlimit limit;
	struct utsname name;
	char status[8192];

	host.has_capabilities =
		doctor_read_file("/proc/self/status", status, sizeof(status)) == 0 &&
		doctor_text_capabilities(status, &host.capabilities) == 0;
	host.has_version = uname(&name) == 0 &&
			   doctor_text_version(name.release, &host.major, &host.minor) == 0;
	/* Before libbpf raises it. */
	host.memory_lock_bytes =
		getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
			? limit.rlim_cur
			: UINT64_MAX;
	host.bpf_error = load_smallest_program();
	*ret_host = host;
}

static int examine(struct doctor_report *ret_report)
{
	struct doctor_host host;
	size_t count = 0;

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		count += groups[g]->count;
	ret_report->entries = calloc(count, sizeof(*ret_report->entries));
	if (!ret_report->entries)
		return -ENOMEM;
	look_at_host(&host);
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		for (size_t i = 0; i < groups[g]->count; i++) {
			struct doctor_entry *entry = &ret_report->entries[ret_report->count++];

			entry->group = groups[g];
			entry->check = &groups[g]->checks[i];
			entry->check->function(&host, entry->check, &entry->finding);
		}
	return 0;
}

static int print_usage(FILE *file, int status)
{
	(void)fputs(
		"usage: pilotlight doctor [--json]\n"
		"\n"
		"Says what this machine offers the profiler, what is lost without what is\n"
		"missing, and how to get it. Exit status: 0 pilotlight record can work, 1 not.\n",
		file);
	return status;
}

int doctor_main(int argc, char **argv)
{
	struct doctor_report report = { 0 };
	bool wants_json = false, is_ready;
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			wants_json = true;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			return print_usage(stdout, EXIT_SUCCESS);
		} else {
			(void)fprintf(stderr, "pilotlight: doctor does not know '%s'\n", argv[i]);
			return print_usage(stderr, EXIT_USAGE);
		}
	}
	/* The probes fail on purpose; libbpf would comment on each. */
	(void)libbpf_set_print(NULL);
	r = examine(&report);
	if (r == 0)
		r = wants_json ? doctor_report_print_json(&report) : doctor_report_print(&report);
	is_ready = r == 0 && doctor_report_is_ready(&report);
	free(report.entries);
	if (r < 0)
		(void)fprintf(stderr, "pilotlight: the findings could not be written: %s\n",
			strerror(-r));
	return is_ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
