/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of HTTP that come with a profile (pilotlightd(8)): seconds with nine decimals. They are
 * missing where it is not known.
 */
#pragma once

/* The windows that the profile is made of: all that overlap what was asked for, whole. */
#define PILOTLIGHT_FIELD_COVERED "X-Pilotlight-Covered-Seconds"
/* The CPU time that one sample stands for. */
#define PILOTLIGHT_FIELD_PERIOD "X-Pilotlight-Period-Seconds"
/*
 * With a table of a difference: the greatest increase of a function's own share that exceeds the
 * error of sampling, as a part of 1 with nine decimals. Missing if there is none.
 */
#define PILOTLIGHT_FIELD_INCREASE "X-Pilotlight-Increase"
