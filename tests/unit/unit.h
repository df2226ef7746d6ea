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

#endif
