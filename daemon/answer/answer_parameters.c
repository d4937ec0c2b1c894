/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_parameters.h"

#include "answer/answer_incident.h"
#include "answer/answer_reading.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "query/incident_subject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char against[] = "against.";

#define HOUR_NS (3600ULL * NSEC_PER_SEC)

enum { AGAINST_BYTES = sizeof(against) - 1 };

struct parameter {
	const char *name, *value;
};

/* Reads the pair at `*at`, which starts at 0, and advances it. */
static bool next_parameter(
	const struct answer_request *request, size_t *at, struct parameter *ret_parameter)
{
	if (*at >= request->parameters_bytes)
		return false;
	ret_parameter->name = request->parameters + *at;
	*at += strlen(ret_parameter->name) + 1;
	ret_parameter->value = request->parameters + *at;
	*at += strlen(ret_parameter->value) + 1;
	return true;
}

/* Returns whether the parameters are complete pairs of valid UTF-8. */
static bool is_well_formed(const struct answer_request *request)
{
	const char *bytes = request->parameters;
	size_t size = request->parameters_bytes, strings = 0, step;

	if (size > sizeof(request->parameters) || (size > 0 && bytes[size - 1] != '\0'))
		return false;
	for (size_t i = 0; i < size; i += step) {
		step = bytes[i] ? utf8_sequence(bytes + i, size - i) : 1;
		if (step == 0)
			return false;
		strings += bytes[i] == '\0';
	}
	return strings % 2 == 0;
}

static const char *name_against(const struct parameter *parameter)
{
	return strncmp(parameter->name, against, AGAINST_BYTES) == 0
		       ? parameter->name + AGAINST_BYTES
		       : NULL;
}

/* Returns whether "against." sets this parameter or, if it is a time, any time. */
static bool is_given_against(const struct reading *reading, const char *name)
{
	struct parameter parameter;
	const char *other;
	size_t at = 0;

	if (selection_is_time(name))
		return reading->has_against_time;
	while (next_parameter(reading->request, &at, &parameter)) {
		other = name_against(&parameter);
		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static int add_selected(struct reading *reading, const struct parameter *parameter)
{
	struct selection *const *sides = reading->parameters->sides;
	int r = selection_add(
		sides[DIFFERENCE_COMPARED], parameter->name, parameter->value, reading->fault);

	if (r == 0 && sides[DIFFERENCE_BASE] && !is_given_against(reading, parameter->name))
		r = selection_add(
			sides[DIFFERENCE_BASE], parameter->name, parameter->value, reading->fault);
	return r;
}

static int fail_against(struct reading *reading, int error, const struct fault *reason)
{
	if (error == -ENOMEM)
		return error;
	return fault_set(reading->fault, error, "against: %s", reason->text);
}

static int add_against(struct reading *reading, const char *name, const struct parameter *parameter)
{
	struct selection *base = reading->parameters->sides[DIFFERENCE_BASE];
	struct fault reason = { 0 };
	int r;

	if (!base)
		return fault_set(reading->fault, -EINVAL,
			"%.40s is only for a difference; ask for one, or omit it", parameter->name);
	r = selection_add(base, name, parameter->value, &reason);
	return r < 0 ? fail_against(reading, r, &reason) : 0;
}

static int keep_once(
	struct reading *reading, enum answer_value value, const struct parameter *parameter)
{
	if (reading->values[value])
		return fault_set(reading->fault, -EINVAL, "%s is given twice; give it once",
			parameter->name);
	reading->values[value] = parameter->value;
	return 0;
}

static int read_parameter(struct reading *reading, const struct parameter *parameter)
{
	const enum answer_kind kind = reading->request->kind;
	const char *other = name_against(parameter);
	enum answer_value value;
	int r;

	if (other)
		return add_against(reading, other, parameter);
	r = answer_takes_check(kind, parameter->name, reading->fault);
	if (r < 0)
		return r;
	if (kind == ANSWER_METRICS && answer_metrics_has_parameter(parameter->name))
		return answer_metrics_add(&reading->parameters->metrics, parameter->name,
			parameter->value, reading->fault);
	value = answer_value_find(parameter->name);
	return value < ANSWER_VALUES ? keep_once(reading, value, parameter)
				     : add_selected(reading, parameter);
}

/* A moment as a value of "from" or "to". */
static int add_time(
	struct reading *reading, enum difference_side side, const char *name, uint64_t time_ns)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return selection_add(reading->parameters->sides[side], name, text, reading->fault);
}

/* What a threshold has found is compared alone, unless the user selects. */
static int select_subject(struct reading *reading, const struct incident *incident)
{
	struct selection *const *sides = reading->parameters->sides;
	char value[INCIDENT_TEXT_BYTES + 1];
	const char *parameter;
	bool is_whole;
	int r = 0;

	if (selection_has_filter(sides[DIFFERENCE_COMPARED]) ||
		selection_has_filter(sides[DIFFERENCE_BASE]) ||
		!incident_subject(incident, &parameter, value, &is_whole))
		return 0;
	reading->parameters->is_of_subject = true;
	for (int side = 0; side < DIFFERENCE_SIDE_COUNT && r == 0; side++)
		r = (is_whole ? selection_add_exact : selection_add)(
			sides[side], parameter, value, reading->fault);
	return r;
}

static int set_incident(struct reading *reading)
{
	struct incident incident = { 0 };
	int r;

	if (!reading->values[ANSWER_VALUE_INCIDENT])
		return 0;
	/* What others note is not for guests. */
	if (reading->request->scope != ANSWER_ALL)
		return fault_set(
			reading->fault, -EINVAL, "incidents are not for you to see; give a time");
	r = answer_incident_find(reading->request->history, reading->values[ANSWER_VALUE_INCIDENT],
		&incident, reading->fault);
	if (r < 0)
		return r;
	reading->parameters->incident = incident.number;
	if (reading->request->kind == ANSWER_INCIDENTS)
		return 0;
	if (reading->request->kind == ANSWER_DIFFERENCE) {
		reading->parameters->is_of_incident = true;
		answer_incident_narrow(&incident);
		r = select_subject(reading, &incident);
		if (r < 0)
			return r;
	}
	r = add_time(reading, DIFFERENCE_COMPARED, "from", incident.kept_from_ns);
	if (r == 0)
		r = add_time(reading, DIFFERENCE_COMPARED, "to", incident.kept_to_ns);
	if (r < 0 || !reading->parameters->sides[DIFFERENCE_BASE] || reading->has_against_time)
		return r;
	reading->parameters->is_before = true;
	r = add_time(reading, DIFFERENCE_BASE, "from",
		incident.kept_from_ns > HOUR_NS ? incident.kept_from_ns - HOUR_NS : 0);
	return r < 0 ? r : add_time(reading, DIFFERENCE_BASE, "to", incident.kept_from_ns);
}

/* Finds the "against." parameters first: they decide which ones the earlier side inherits. */
static int look_ahead(struct reading *reading)
{
	struct parameter parameter;
	const char *name;
	size_t at = 0;

	while (next_parameter(reading->request, &at, &parameter)) {
		name = name_against(&parameter);
		reading->has_against |= strcmp(parameter.name, "incident") == 0;
		if (!name)
			continue;
		reading->has_against = true;
		if (selection_is_time(name))
			reading->has_against_time = true;
	}
	if (reading->request->kind == ANSWER_DIFFERENCE && !reading->has_against)
		return fault_set(reading->fault, -EINVAL,
			"nothing to compare with; add a parameter such as against.from=yesterday");
	return 0;
}

static int finish(struct reading *reading)
{
	struct selection *const *sides = reading->parameters->sides;
	uint64_t now_ns = reading->request->now_ns;
	struct fault reason = { 0 };
	int r = selection_finish(sides[DIFFERENCE_COMPARED], now_ns, reading->fault);

	if (r < 0 || !sides[DIFFERENCE_BASE])
		return r;
	r = selection_finish(sides[DIFFERENCE_BASE], now_ns, &reason);
	return r < 0 ? fail_against(reading, r, &reason) : 0;
}

static void restrict_sides(struct reading *reading)
{
	if (reading->request->scope == ANSWER_ALL)
		return;
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		if (reading->parameters->sides[i])
			selection_restrict(reading->parameters->sides[i], reading->request->owner);
}

static int read_all(struct reading *reading)
{
	struct selection **sides = reading->parameters->sides;
	struct parameter parameter;
	size_t at = 0;
	int r = look_ahead(reading);

	if (r == 0)
		r = selection_new(&sides[DIFFERENCE_COMPARED]);
	if (r == 0 && reading->request->kind == ANSWER_DIFFERENCE)
		r = selection_new(&sides[DIFFERENCE_BASE]);
	if (r == 0)
		restrict_sides(reading);
	while (r == 0 && next_parameter(reading->request, &at, &parameter))
		r = read_parameter(reading, &parameter);
	if (r == 0)
		r = set_incident(reading);
	if (r == 0)
		r = answer_values_set(reading);
	if (r == 0)
		r = finish(reading);
	return r;
}

int answer_parameters_read(const struct answer_request *request,
	struct answer_parameters *ret_parameters, struct fault *fault)
{
	_cleanup_(answer_parameters_done) struct answer_parameters parameters = { 0 };
	struct reading reading = {
		.request = request,
		.parameters = &parameters,
		.fault = fault,
	};
	int r;

	if (!is_well_formed(request))
		return fault_set(fault, -EINVAL, "the parameters are not valid UTF-8; encode them");
	r = read_all(&reading);
	if (r < 0)
		return r;
	*ret_parameters = parameters;
	parameters = (struct answer_parameters){ 0 };
	return 0;
}

void answer_parameters_done(struct answer_parameters *parameters)
{
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		selection_free(parameters->sides[i]);
	answer_metrics_done(&parameters->metrics);
}
