/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pilotlightd: the service. Each of its processes runs this program in one role. */
#include "answer/answer.h"
#include "base/array.h"
#include "base/log.h"
#include "broker/child_service.h"
#include "capture/perf_event_service.h"
#include "config/config.h"
#include "engine/service.h"
#include "engine/service_settings.h"
#include "sandbox/sandbox.h"
#include "send/send_job.h"
#include "supervise/journal.h"
#include "supervise/service_folders.h"
#include "supervise/service_manager.h"
#include "supervise/supervisor.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXIT_WRONG_USE = 2 }; /* also for an invalid configuration: a restart does not help */

/* The default of [Api] Group=. */
static const char GROUP[] = "pilotlight";

/* The roles in which this program starts itself. */
static const struct role {
	const char *name;
	int (*function)(int argc, char **argv);
} roles[] = {
	{ "engine", service_engine_main },
	{ "symbol-worker", worker_main },
	{ "symbol-fetch", debuginfod_fetch_main },
	{ "answer", answer_main },
	{ "sink-send", send_main },
	{ "fetch-service", child_service_main },
	{ "send-service", child_service_main },
	{ "event-service", perf_event_service_main },
};

struct options {
	const char *config; /* NULL: the default path */
	bool checks, prints, is_verbose;
};

static void print_usage(FILE *file)
{
	(void)fputs(
		"usage: pilotlightd [--config FILE] [--verbose]\n"
		"       pilotlightd --check [FILE]\n"
		"       pilotlightd --print-config [--config FILE]\n"
		"\n"
		"The always-on profiler: samples every CPU, keeps the history on this host, and\n"
		"answers `pilotlight flamegraph`, `top`, `diff` and `status`.\n"
		"\n"
		"  -c, --config FILE   the configuration, instead of " CONFIG_FILE "\n"
		"      --check [FILE]  says what is wrong with it, and ends\n"
		"      --print-config  prints it whole, with defaults and comments, and ends\n"
		"  -v, --verbose       logs more\n"
		"  -h, --help          shows this, --version the version\n"
		"\n"
		"It stays in the foreground. pilotlightd(8) and pilotlight.conf(5) say more.\n",
		file);
}

static int finish(struct output *output, int r)
{
	int error = output_finish(output);

	if (error < 0) {
		log_error("cannot write: %s", strerror(-error));
		return EXIT_FAILURE;
	}
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check(const char *path)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	char standard[PATH_MAX];
	int r;

	if (!output)
		return EXIT_FAILURE;
	config_default_path(standard);
	output_init_fd(output, STDOUT_FILENO);
	r = config_check(path ? path : standard, path ? CONFIG_MUST_EXIST : 0,
		service_settings_check, output);
	return finish(output, r);
}

static int print_config(const char *path)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct config_problems problems;
	char standard[PATH_MAX];
	struct config config;
	int r;

	if (!output)
		return EXIT_FAILURE;
	config_default_path(standard);
	r = config_load(path ? path : standard, path ? CONFIG_MUST_EXIST : 0, &config, &problems);
	if (r < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < problems.count; i++)
		log_error("%s", problems.texts[i]);
	output_init_fd(output, STDOUT_FILENO);
	config_print(&config, output);
	r = problems.all > 0 ? -EINVAL : 0;
	config_problems_done(&problems);
	config_done(&config);
	return finish(output, r);
}

/* A supervisor's read_limits(). */
static int read_limits(void *context, struct capture_limits *ret_limits, int *ret_config_fd)
{
	const struct options *options = context;

	return service_settings_read_limits(options->config, ret_limits, ret_config_fd);
}

static int serve(struct options *options)
{
	char config[PATH_MAX], count_text[16];
	char *arguments[8] = { "pilotlightd", "engine", "--listen", count_text };
	struct supervisor_options wanted = {
		.engine_arguments = arguments,
		.read_limits = read_limits,
		.limits_context = options,
	};
	int fds[ENGINE_LISTEN_MAX];
	struct fault fault = { 0 };
	int count, n = 4, r;

	count = service_manager_take_sockets(&fault);
	if (count > ENGINE_LISTEN_MAX)
		count = fault_set(&fault, -E2BIG,
			"cannot take the sockets that were handed over: there are too many");
	if (count < 0) {
		log_error("%s", fault.text);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < count; i++)
		fds[i] = SERVICE_MANAGER_LISTEN_FD + i;
	(void)snprintf(count_text, sizeof(count_text), "%d", count);
	if (options->config) {
		(void)snprintf(config, sizeof(config), "%s", options->config);
		arguments[n++] = "--config";
		arguments[n++] = config;
	}
	if (options->is_verbose)
		arguments[n++] = "--verbose";
	wanted.listen_fds = fds;
	wanted.listen_count = (size_t)count;
	journal_begin("broker");
	/* Sets the default group: the engine may not chown, and the configuration is not read
	 * yet. */
	if (count == 0 && service_folders_make_runtime(GROUP, &fault) < 0) {
		log_warning(
			"%s; members of the group %s may not be able to ask", fault.text, GROUP);
		fault = (struct fault){ 0 };
	}
	/* After the group's lookup, for which libraries may need anything. */
	r = sandbox_forbid_broker();
	if (r < 0)
		(void)fault_set(&fault, r,
			"cannot restrict the broker's system calls by seccomp: %s", strerror(-r));
	else
		r = supervisor_run(&wanted, &fault);
	/* Sockets that were handed over belong to the manager. */
	if (count == 0)
		service_settings_remove_socket(options->config);
	if (r < 0)
		log_error("%s", fault.text[0] ? fault.text : strerror(-r));
	if (r == -EBADMSG)
		return EXIT_WRONG_USE;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Returns true, or false with the exit status. */
static bool parse(int argc, char **argv, struct options *ret_options, int *ret_status)
{
	enum { CHECK = 256, PRINT, VERSION };
	static const struct option long_options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, CHECK },
		{ "print-config", no_argument, NULL, PRINT },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, VERSION },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { 0 };
	int option;

	*ret_status = EXIT_SUCCESS;
	while ((option = getopt_long(argc, argv, "c:vh", long_options, NULL)) >= 0)
		switch (option) {
		case 'c':
			options.config = optarg;
			break;
		case CHECK:
			options.checks = true;
			break;
		case PRINT:
			options.prints = true;
			break;
		case 'v':
			options.is_verbose = true;
			break;
		case 'h':
			print_usage(stdout);
			return false;
		case VERSION:
			(void)puts("pilotlightd " PILOTLIGHT_VERSION);
			return false;
		default:
			*ret_status = EXIT_WRONG_USE;
			return false;
		}
	if (options.checks && optind == argc - 1)
		options.config = argv[optind++];
	if (optind < argc) {
		(void)fprintf(stderr,
			"pilotlightd: '%s' is not understood; see `pilotlightd --help`\n",
			argv[optind]);
		*ret_status = EXIT_WRONG_USE;
		return false;
	}
	*ret_options = options;
	return true;
}

/* If the caller closed descriptors 0 to 2, our next open() must not become standard error. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

int main(int argc, char **argv)
{
	struct fault fault = { 0 };
	struct options options;
	int status;

	fill_standard_descriptors();
	(void)signal(SIGPIPE, SIG_IGN);
	/* Our parent may have ignored it; the kernel would then reap our children itself. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* A process started through /proc/self/exe would be named "exe". */
	(void)prctl(PR_SET_NAME, "pilotlightd");
	if (argc > 1)
		for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
			if (strcmp(argv[1], roles[i].name) == 0)
				return roles[i].function(argc - 1, argv + 1);
	if (!parse(argc, argv, &options, &status))
		return status;
	log_set_level(options.is_verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	if (service_folders_check(&fault) < 0) {
		log_error("%s", fault.text);
		return EXIT_WRONG_USE;
	}
	if (options.checks)
		return check(options.config);
	if (options.prints)
		return print_config(options.config);
	return serve(&options);
}
