/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks Ruby itself what its main thread runs, after 3 ms of the thread's CPU time, at the kernel's
 * next tick: rb_profile_frames() may be called in a handler of signals. A recording of
 * signal:signal_deliver sees the same instants. Declares what it uses of Ruby, so one library
 * serves all versions. Of a block Ruby tells the method around it, and the line of the block.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef uintptr_t VALUE;

enum {
	DEPTH_MAX = 1000,
	SAMPLES_MAX = 6000,
	FRAMES_MAX = 1 << 20,
	PERIOD_NS = 3000000,
	SPECIALS = 4096, /* nil and the like are no addresses */
};

extern VALUE rb_cObject;
int rb_profile_frames(int start, int limit, VALUE *frames, int *lines);
VALUE rb_profile_frame_path(VALUE frame);
VALUE rb_profile_frame_label(VALUE frame);
VALUE rb_profile_frame_method_name(VALUE frame);
char *rb_string_value_cstr(volatile VALUE *string);
VALUE rb_data_object_wrap(VALUE class, void *data, void (*mark)(void *), void (*release)(void *));
void rb_gc_mark(VALUE object);
void rb_gc_register_mark_object(VALUE object);
void rb_define_global_function(const char *name, VALUE (*function)(), int arguments);
void Init_ruby_oracle(void);

static VALUE frames[FRAMES_MAX];
static int lines[FRAMES_MAX];
static int ends[SAMPLES_MAX];
static volatile int samples, frame_count;
static int *lines_taken; /* NULL: none */
static pthread_t main_thread;
static timer_t timer;

static void take_sample(int signal_number)
{
	int error = errno, count;

	if (samples < SAMPLES_MAX && frame_count + DEPTH_MAX <= FRAMES_MAX) {
		count = rb_profile_frames(0, DEPTH_MAX, frames + frame_count,
			lines_taken ? lines_taken + frame_count : NULL);
		frame_count += count;
		ends[samples++] = frame_count;
	}
	errno = error;
}

/* Functions that were seen are neither freed nor moved. */
static void mark(void *all)
{
	for (int i = 0; i < frame_count; i++)
		rb_gc_mark(((VALUE *)all)[i]);
}

/* Ruby's 0 and 1 are 1 and 3. */
static VALUE start_oracle(VALUE self, VALUE has_lines)
{
	struct sigaction action = { .sa_handler = take_sample, .sa_flags = SA_RESTART };
	struct itimerspec period = { { 0, PERIOD_NS }, { 0, PERIOD_NS } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
	clockid_t clock;

	lines_taken = has_lines >> 1 ? lines : NULL;
	event._sigev_un._tid = getpid();
	if (sigaction(SIGPROF, &action, NULL) || pthread_getcpuclockid(main_thread, &clock) ||
		timer_create(clock, &event, &timer) || timer_settime(timer, 0, &period, NULL))
		abort();
	return self;
}

static const char *text(VALUE string, const char *otherwise)
{
	return string < SPECIALS ? otherwise : rb_string_value_cstr(&string);
}

static void write_frame(FILE *file, int at)
{
	VALUE path = rb_profile_frame_path(frames[at]);
	VALUE name = path < SPECIALS ? rb_profile_frame_method_name(frames[at])
				     : rb_profile_frame_label(frames[at]);

	fputs(text(name, "?"), file);
	if (path >= SPECIALS)
		fprintf(file, " (%s:%d)", text(path, "?"), lines[at]);
	fputs("_[r]", file);
}

/* Writes each chain, from the outermost function on, and ends the program. */
static VALUE end_oracle(VALUE self)
{
	FILE *file = fopen(getenv("RUBY_ORACLE"), "w");

	timer_delete(timer);
	if (!file)
		abort();
	for (int i = 0, first = 0; i < samples; first = ends[i++]) {
		for (int at = ends[i] - 1; at >= first; at--) {
			write_frame(file, at);
			fputc(at > first ? ';' : ' ', file);
		}
		fputs("1\n", file);
	}
	fclose(file);
	_exit(0);
	return self;
}

void Init_ruby_oracle(void)
{
	main_thread = pthread_self();
	rb_gc_register_mark_object(rb_data_object_wrap(rb_cObject, frames, mark, NULL));
	rb_define_global_function("start_oracle", start_oracle, 1);
	rb_define_global_function("end_oracle", end_oracle, 0);
}
