/*
 * cmocka.h needs these four headers before it, in this order. Unit tests include this file instead.
 */
#ifndef SPROF_TESTS_UNIT_H
#define SPROF_TESTS_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

/* For tests that take long: tests/cli/long_units.bats runs them. */
static inline void only_in_check_all(void)
{
	if (getenv("SPROF_TEST_FULL"))
		return;
	print_message("takes long: make check-all runs it\n");
	skip();
}

#endif
