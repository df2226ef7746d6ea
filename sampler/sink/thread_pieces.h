/*
 * The exact times of threads, cut where segments of a recording end: a source knows what a thread
 * did since it is watched, and a segment gets what was added in its time.
 */
#ifndef SPROF_THREAD_PIECES_H
#define SPROF_THREAD_PIECES_H

#include <stdbool.h>
#include <stdint.h>

struct fact_thread_time;
struct thread_pieces;

/* Threads beyond max_threads are not cut. */
struct thread_pieces *thread_pieces_new(uint32_t max_threads);
void thread_pieces_free(struct thread_pieces *p); /* NULL is fine */

/*
 * `row` has all times of a thread since row->start_ns; cuts off what earlier segments have.
 * `goes_on`: the thread has not ended. false: there is no room to remember what this segment has,
 * so the row must not be told before the thread ends.
 */
bool thread_pieces_cut(struct thread_pieces *p, uint32_t tid, bool goes_on,
		       struct fact_thread_time *row);
/* The next segment begins. */
void thread_pieces_turn(struct thread_pieces *p);

#endif
