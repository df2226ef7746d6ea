/*
 * A wait that took a period or more is sampled surely and adds no error. A shorter one was drawn
 * with the probability off / weight, and adds the variance of such a draw (Horvitz and Thompson).
 */
#include "sampler/waiting/lock_waits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/user_shares.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/waiting/lock_places.h"

#define MAX_ROWS 65536	    /* for all users; further waits are added up by process */
#define MAX_NAME_READS 4096 /* of holders that were not sampled themselves */

struct lock_key {
	uint64_t pid, address, thread, holder, known_by;
};

struct lock_row {
	struct lock_key key;
	struct fact_lock_wait fact;
	bool changed;
	UT_hash_handle hh;
};

struct lock_waits {
	struct lock_row *rows;
	struct user_shares shares;
	struct lock_places *places;
	unsigned int nr_name_reads;
};

struct lock_waits *lock_waits_new(const struct sandbox *sandbox)
{
	struct lock_waits *w = xcalloc(1, sizeof(*w));

	w->places = lock_places_new(sandbox);
	user_shares_init(&w->shares, MAX_ROWS);
	return w;
}

void lock_waits_free(struct lock_waits *w)
{
	struct lock_row *r, *next;

	if (!w)
		return;
	HASH_ITER (hh, w->rows, r, next) {
		HASH_DEL(w->rows, r);
		free(r);
	}
	lock_places_free(w->places);
	user_shares_fini(&w->shares);
	free(w);
}

/*
 * The thread that the lock named. The number is the target's own, so in a PID namespace it may mean
 * nothing here, or a thread of another process: it counts only if it is one of the same process.
 */
static uint32_t owner_thread(struct lock_waits *w, struct sample_sink *out, uint32_t pid,
			     uint32_t tid)
{
	uint32_t known = sample_sink_known_thread(out, pid, tid);
	char path[64], comm[COMM_SIZE + 1] = "";
	size_t n = 0;
	FILE *f;

	if (known != PROFILE_NONE || w->nr_name_reads >= MAX_NAME_READS)
		return known;
	w->nr_name_reads++;
	snprintf(path, sizeof(path), "task/%u/comm", tid);
	f = remote_open((pid_t)pid, path);
	if (f) {
		n = fread(comm, 1, COMM_SIZE, f);
		fclose(f);
	}
	if (n && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
	return n ? sample_sink_thread(out, pid, tid, comm) : PROFILE_NONE;
}

static struct lock_row *row_of(struct lock_waits *w, struct sample_sink *out, uint32_t user,
			       struct lock_key key)
{
	char place[256] = "";
	struct lock_row *r;

	HASH_FIND(hh, w->rows, &key, sizeof(key), r);
	if (r)
		return r;
	if (user_shares_take(&w->shares, user, 1) != SHARE_TAKEN) {
		key = (struct lock_key){ key.pid, 0, PROFILE_NONE, PROFILE_NONE, HOLDER_UNKNOWN };
		HASH_FIND(hh, w->rows, &key, sizeof(key), r);
		if (r || HASH_COUNT(w->rows) >= 2 * MAX_ROWS)
			return r;
	} else {
		lock_place_text(lock_places_find(w->places, (pid_t)key.pid, key.address), place,
				sizeof(place));
	}
	r = xcalloc(1, sizeof(*r));
	r->key = key;
	r->fact = (struct fact_lock_wait){
		.pid = key.pid,
		.address = key.address,
		.thread = key.thread,
		.holder = key.holder,
		.known_by = key.known_by,
		.place = sink_cstring(out->sink, place),
	};
	HASH_ADD(hh, w->rows, key, sizeof(r->key), r);
	return r;
}

void lock_waits_add(struct lock_waits *w, struct sample_sink *out, uint32_t user, uint32_t pid,
		    uint32_t thread, const struct wait_facts *f, uint32_t waker, uint64_t weight_ns,
		    uint64_t waiting_ns)
{
	struct lock_key key = { pid, f->lock, thread, PROFILE_NONE, HOLDER_UNKNOWN };
	uint64_t off = f->off_ns ? f->off_ns : 1, us = waiting_ns / 1000;
	struct lock_row *r;

	if (f->holder)
		key.holder = owner_thread(w, out, pid, f->holder);
	if (key.holder != PROFILE_NONE) {
		key.known_by = HOLDER_OWNER;
	} else if (waker != PROFILE_NONE) {
		key.holder = waker;
		key.known_by = HOLDER_WAKER;
	}
	r = row_of(w, out, user, key);
	if (!r)
		return;
	r->changed = true;
	r->fact.samples++;
	r->fact.waits += off < weight_ns ? (weight_ns + off / 2) / off : 1;
	r->fact.waiting_ns += waiting_ns;
	if (off < weight_ns) {
		double missed = 1 - (double)off / (double)weight_ns;

		r->fact.variance_us2 += (uint64_t)((double)us * (double)us * missed);
	}
	if (off > r->fact.longest_ns)
		r->fact.longest_ns = off;
}

const char *lock_waits_symbol(struct lock_waits *w, uint32_t pid, uint64_t address)
{
	return lock_places_find(w->places, (pid_t)pid, address)->symbol;
}

void lock_waits_tell(struct lock_waits *w, struct sample_sink *out)
{
	for (struct lock_row *r = w->rows; r; r = r->hh.next) {
		if (r->changed)
			out->sink->fact(out->sink, FACT_LOCK_WAIT, &r->fact);
		r->changed = false;
	}
}
