/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library of many functions that are called through its own PLT, each once. */
#define TIMES_4(what, n) what(n##0) what(n##1) what(n##2) what(n##3)
#define TIMES_16(what, n) \
	TIMES_4(what, n##0) TIMES_4(what, n##1) TIMES_4(what, n##2) TIMES_4(what, n##3)
#define TIMES_64(what, n) \
	TIMES_16(what, n##0) TIMES_16(what, n##1) TIMES_16(what, n##2) TIMES_16(what, n##3)
#define TIMES_256(what, n) \
	TIMES_64(what, n##0) TIMES_64(what, n##1) TIMES_64(what, n##2) TIMES_64(what, n##3)

#define DEFINE(n)                                     \
	void lazy_##n(void);                          \
	__attribute__((noinline)) void lazy_##n(void) \
	{                                             \
		__asm__ volatile("" : : : "memory");  \
	}
#define CALL(n) lazy_##n();

TIMES_256(DEFINE, f)

void call_all(void);
void call_all(void)
{
	TIMES_256(CALL, f)
	__asm__ volatile("" : : : "memory");
}
