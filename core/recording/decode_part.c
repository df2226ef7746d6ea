/*
 * Recordings of one boot have the same clock, and their times stay as they are. Only the time of
 * day tells how far apart recordings of different boots are, or with a suspend in between.
 */
#include "core/recording/decode.h"

#include <string.h>

#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"

#define SAME_CLOCK_NS 1000000000ll /* the time of day may be set by less between recordings */

void decoder_begin_part(struct decoder *d, const struct recfile_part *part)
{
	d->is_part = true;
	d->part = *part;
	d->zero_realtime_ns = d->p->meta.start_realtime_ns - d->p->meta.start_ns;
	if (!d->part.zero_realtime_ns)
		d->part.zero_realtime_ns = d->zero_realtime_ns;
}

uint32_t decoder_boot(struct decoder *d)
{
	const struct profile *p = d->p;

	if (!d->knows_boot && d->is_part && d->part.number_of_boot)
		d->boot = d->part.number_of_boot(d->part.context, profile_str(p, p->meta.hostname),
						 profile_str(p, p->meta.boot));
	d->knows_boot = true;
	return d->boot;
}

uint32_t decoder_host(const struct decoder *d)
{
	struct profile *p = d->p;
	uint32_t host = p->meta.hostname;

	if (!d->is_part)
		return 0;
	if (!host)
		host = profile_cstring(p, "[not known]");
	if (p->first_host == PROFILE_NONE)
		p->first_host = host;
	return host == p->first_host ? 0 : host;
}

bool decoder_wants_host(struct decoder *d)
{
	const char *host = profile_str(d->p, d->p->meta.hostname);

	d->is_of_other_host =
		d->is_part && d->part.host && d->p->meta.hostname && strcmp(host, d->part.host);
	return !d->is_of_other_host;
}

uint64_t decoder_time(const struct decoder *d, uint64_t time_ns)
{
	int64_t shift = (int64_t)(d->zero_realtime_ns - d->part.zero_realtime_ns);

	if (!d->is_part || (shift < SAME_CLOCK_NS && shift > -SAME_CLOCK_NS))
		return time_ns;
	if (shift < 0 && time_ns <= (uint64_t)-shift)
		return 1; /* 0 is unknown */
	return time_ns + (uint64_t)shift;
}

bool decoder_is_in_window(const struct decoder *d, uint64_t time_ns)
{
	uint64_t realtime = time_ns + d->zero_realtime_ns;

	return realtime >= d->part.from_realtime_ns && realtime < d->part.to_realtime_ns;
}

bool decoder_wants(struct decoder *d, struct profile_sample *sample)
{
	if (!d->is_part || !sample->time_ns)
		return true;
	if (!decoder_is_in_window(d, sample->time_ns)) {
		d->nr_cut++;
		return false;
	}
	sample->time_ns = decoder_time(d, sample->time_ns);
	return true;
}

bool decoder_place_event(struct decoder *d, struct fact_event *event)
{
	const uint64_t column = event->column;
	const struct fact_event *there;

	if (!d->is_part || !column_is_event(column))
		return true;
	d->columns[column] = column_for_event(d->p, profile_str(d->p, (uint32_t)event->name));
	if (d->columns[column] == NR_COLUMNS)
		return false;
	event->column = d->columns[column];
	there = column_event(d->p, event->column);
	if (there && there->period != event->period)
		event->period = 0;
	return true;
}

void decoder_move_samples(struct decoder *d, size_t first_sample)
{
	struct profile_sample *samples = d->p->samples;
	size_t nr = first_sample;

	for (size_t i = first_sample; i < d->p->nr_samples; i++) {
		samples[nr] = samples[i];
		samples[nr].column = d->columns[samples[i].column];
		nr += samples[nr].column != NR_COLUMNS;
	}
	d->p->nr_samples = nr;
}
