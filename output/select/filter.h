/*
 * What of a profile is looked at: the same rules for every command. Rules on functions are regular
 * expressions on their names, as the picture shows them; rules on samples look at time, thread and
 * process. Weights are never changed: what is left out is counted in profile.filtered.
 */
#ifndef SPROF_FILTER_H
#define SPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;
struct profile;

enum filter_rule {
	FILTER_FOCUS,  /* only stacks with such a function; all of several are needed */
	FILTER_IGNORE, /* no stacks with such a function */
	FILTER_HIDE,   /* such functions are taken out of stacks; their self time is the caller's */
	FILTER_SHOW_FROM, /* stacks begin at the first such function; without one they are left out */
};

struct filter *filter_new(void);
void filter_free(struct filter *filter); /* NULL is fine */

/*
 * `text` is as in pattern_init(). 0, or -EINVAL or -E2BIG with a reason in why[].
 */
int filter_add_rule(struct filter *filter, enum filter_rule rule, const char *text, char *why,
		    size_t why_size);

/* Hides what noise_is() says is plumbing, as FILTER_HIDE does. */
void filter_hide_noise(struct filter *filter);

/* Only samples whose thread held Python's global interpreter lock. */
void filter_hold_gil(struct filter *filter);

/* Only threads of this number, or whose name fits; any of several. Errors as filter_add_rule(). */
int filter_add_thread(struct filter *filter, const char *number_or_text, char *why,
		      size_t why_size);
int filter_add_comm(struct filter *filter, const char *text, char *why, size_t why_size);
void filter_add_pid(struct filter *filter, uint32_t pid);

/* Only samples of [from_ns, to_ns) since the recording began; UINT64_MAX: to its end. */
void filter_set_from(struct filter *filter, uint64_t from_ns);
void filter_set_to(struct filter *filter, uint64_t to_ns);
/* Is there no time between the two? */
bool filter_has_no_time(const struct filter *filter);

/*
 * Takes out of the profile what the rules say. 0, or, with the profile as it was, -ENODATA with what
 * it has none of in *ret_lacks ("times", "threads", ...).
 */
int filter_apply(const struct filter *filter, struct profile *p, const char **ret_lacks);

#endif
