/*
 * Filters of a profile, the same for every command. Rules on functions are regular expressions for
 * their names, as the picture shows them; rules on samples choose times, threads, processes and
 * labels. Weights never change, and what a filter removes is counted in profile.filtered.
 */
#ifndef SPROF_FILTER_H
#define SPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/moment.h"

struct filter;
struct profile;

enum filter_rule {
	FILTER_FOCUS,  /* keep stacks with a function that matches; of several rules all must */
	FILTER_IGNORE, /* remove stacks with a function that matches */
	FILTER_HIDE,   /* remove functions that match from stacks; their self goes to the caller */
	FILTER_SHOW_FROM, /* let stacks begin at the first match; remove those without */
};

struct filter *filter_new(void);
void filter_free(struct filter *filter); /* NULL is fine */

/* `text` is as in pattern_init(). 0, or -EINVAL or -E2BIG with the reason in why[]. */
int filter_add_rule(struct filter *filter, enum filter_rule rule, const char *text, char *why,
		    size_t why_size);

/* Hides the functions for which noise_is() is true, as FILTER_HIDE does. */
void filter_hide_noise(struct filter *filter);

/* Keeps only samples whose thread held Python's global interpreter lock. */
void filter_hold_gil(struct filter *filter);

/*
 * Keep only threads with this id, or whose name matches. Of several rules one must match. Errors as
 * of filter_add_rule().
 */
int filter_add_thread(struct filter *filter, const char *number_or_text, char *why,
		      size_t why_size);
int filter_add_comm(struct filter *filter, const char *text, char *why, size_t why_size);
void filter_add_pid(struct filter *filter, uint32_t pid);

/* Keep only samples in [from, to). */
void filter_set_from(struct filter *filter, struct moment from);
void filter_set_to(struct filter *filter, struct moment to);
struct moment filter_from(const struct filter *filter);
struct moment filter_to(const struct filter *filter);
/* Are times and the host all that it has rules for? These choose recordings of a folder, too. */
bool filter_chooses_recordings(const struct filter *filter);
/* Is that interval empty, whatever the recording is? */
bool filter_has_no_time(const struct filter *filter);

/*
 * Keep only what was recorded on this host. filter_apply() does not do that: the reader of the file
 * does. NULL = on any.
 */
void filter_set_host(struct filter *filter, const char *host);
const char *filter_host(const struct filter *filter);

/*
 * Keep only samples of this event, of a profile that has several. filter_apply() does not do that:
 * the reader of the file does. NULL = the event with the most samples.
 */
void filter_set_event(struct filter *filter, const char *event);
const char *filter_event(const struct filter *filter);

/*
 * Keep only samples with this label, "KEY=VALUE", and with all others that were added: labels_has()
 * compares. 0, or -EINVAL without a "=", or -E2BIG for too many.
 */
int filter_add_label(struct filter *filter, const char *label);

/* What is live is chosen before all rules are applied. The choice is copied. */
struct live_choice;
void filter_set_live(struct filter *filter, const struct live_choice *choice);
bool filter_has_live(const struct filter *filter);

/*
 * Applies the rules of samples (times, threads, labels) to the profile. 0, or -ENODATA if the
 * profile lacks what a rule needs, named in *ret_lacks ("times", "threads", ...); the profile is
 * then unchanged.
 */
int filter_apply(const struct filter *filter, struct profile *p, const char **ret_lacks);
/*
 * Applies the rules of stacks, which keep, cut or drop them by their functions. To be called last.
 */
void filter_apply_to_stacks(const struct filter *filter, struct profile *p);

#endif
