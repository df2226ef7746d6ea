/*
 * Formats shares, times, sizes and margins for people. Everything is integer arithmetic, so every
 * machine prints the same bytes.
 */
#include "output/text/number.h"

#include <math.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"

uint64_t number_scale(uint64_t part, uint64_t scale, uint64_t whole)
{
	if (!whole)
		return 0;
	return (uint64_t)(((unsigned __int128)part * scale + whole / 2) / whole);
}

void number_add_percent(struct buffer *b, uint64_t part, uint64_t whole)
{
	uint64_t hundredths = number_scale(part, 10000, whole);

	if (!hundredths)
		buffer_add_string(b, part ? "<0.01%" : "0%");
	else if (hundredths < 100)
		buffer_printf(b, "0.%02u%%", (unsigned)hundredths);
	else if (hundredths < 995)
		buffer_printf(b, "%u.%u%%", (unsigned)((hundredths + 5) / 100),
			      (unsigned)((hundredths + 5) / 10 % 10));
	else
		buffer_printf(b, "%u%%", (unsigned)((hundredths + 50) / 100));
}

void number_add_change(struct buffer *b, double change)
{
	static const uint64_t unit = 1000000000;

	buffer_add_char(b, change < 0 ? '-' : '+');
	number_add_percent(b, (uint64_t)llround(fabs(change) * (double)unit), unit);
}

/*
 * Appends three digits of a value in the first unit that fits; each of `units` is a thousand of the
 * one before.
 */
static void add_scaled(struct buffer *b, uint64_t value, const char *const *units, unsigned last)
{
	unsigned unit = 0;
	uint64_t thousandths = value * 1000;

	while (unit < last && thousandths >= 999500) {
		thousandths = (thousandths + 500) / 1000;
		unit++;
	}
	if (!unit)
		buffer_printf(b, "%u %s", (unsigned)value, units[0]);
	else if (thousandths < 9995)
		buffer_printf(b, "%.2f %s", (double)((thousandths + 5) / 10) / 100, units[unit]);
	else if (thousandths < 99950)
		buffer_printf(b, "%.1f %s", (double)((thousandths + 50) / 100) / 10, units[unit]);
	else
		buffer_printf(b, "%llu %s", (unsigned long long)((thousandths + 500) / 1000),
			      units[unit]);
}

void number_add_time(struct buffer *b, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	if (ns >= UINT64_MAX / 1000) /* more than six centuries: whole seconds are enough */
		buffer_printf(b, "%llu s", (unsigned long long)(ns / 1000000000));
	else
		add_scaled(b, ns, units, 3);
}

void number_add_bytes(struct buffer *b, uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };

	if (bytes >= UINT64_MAX / 1000)
		buffer_printf(b, "%llu PB", (unsigned long long)(bytes / 1000000000000000));
	else
		add_scaled(b, bytes, units, 5);
}

void number_add_operations(struct buffer *b, double n)
{
	static const char units[] = " kMGTPEZYRQ";
	int unit = 0, decimals;

	while (n >= 999.5 && units[unit + 1]) {
		n /= 1000;
		unit++;
	}
	decimals = !unit || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
	buffer_printf(b, "%.*f %.*sFLOP", decimals, n, unit != 0, &units[unit]);
}

void number_add_value(struct buffer *b, enum profile_column column, uint64_t value)
{
	switch ((enum column_unit)column_table[column].unit) {
	case UNIT_NS: number_add_time(b, value); break;
	case UNIT_BYTES: number_add_bytes(b, value); break;
	case UNIT_COUNT: buffer_add_u64(b, value); break;
	}
}

uint64_t number_margin(uint64_t part, uint64_t total)
{
	double n = (double)part;

	if (part >= total)
		return 0;
	return (uint64_t)llround(1.96 * sqrt(n * (1 - n / (double)total)));
}

void number_add_more(struct buffer *b, uint64_t nr, const char *one, const char *many)
{
	buffer_add_u64(b, nr);
	buffer_printf(b, " more %s (-n 0 shows all)\n", nr == 1 ? one : many);
}
