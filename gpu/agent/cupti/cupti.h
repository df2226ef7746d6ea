/* Finds libcupti in this process, or loads it, and binds its functions. */
#ifndef SPROF_GPU_AGENT_CUPTI_H
#define SPROF_GPU_AGENT_CUPTI_H

#include <stdbool.h>

#include "gpu/agent/base/image.h"
#include "gpu/agent/cupti/cupti_abi.h"
#include "gpu/agent/cupti/pc_abi.h"

struct text;

/* CUPTI's functions; the optional ones may be NULL. */
struct cupti {
	int (*subscribe)(void **ret_subscriber, cupti_callback_fn callback, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*activity_enable)(uint32_t kind);
	int (*activity_disable)(uint32_t kind);
	int (*register_callbacks)(cupti_buffer_requested_fn requested,
				  cupti_buffer_completed_fn completed);
	int (*next_record)(uint8_t *buffer, size_t valid_bytes, uint8_t **record);
	int (*flush_all)(uint32_t flags);
	/* optional from here on */
	int (*nr_dropped)(void *context, uint32_t stream, size_t *ret_nr);
	int (*get_version)(uint32_t *ret_version);
	int (*get_timestamp)(uint64_t *ret_ns);
	int (*register_timestamp)(cupti_timestamp_fn timestamp);
	int (*set_attribute)(uint32_t attribute, size_t *size, void *value);
	int (*get_attribute)(uint32_t attribute, size_t *size, void *value);
	int (*callback_name)(uint32_t domain, uint32_t cbid, const char **ret_name);
	int (*result_string)(int result, const char **ret_text);
	int (*finalize)(void);
	int (*activity_enable_and_dump)(uint32_t kind);
	int (*graph_node_id)(void *node, uint64_t *ret_id);
	int (*subscribe_v2)(void **ret_subscriber, cupti_callback_fn callback, void *user,
			    struct cupti_subscriber_params *params);
	struct cupti_pc_functions pc;
};

extern struct cupti cupti;

/*
 * Finds and binds libcupti, once: the copy that is mapped, else the one that library_choose()
 * finds. 0 or -errno, reported. Not to be called from a callback.
 */
int cupti_load(void);
/* True if the bound copy was mapped by us: the program may map another. */
bool cupti_is_ours(void);
/* The copies of libcupti that the program has mapped. Returns their number; *ret is the first. */
int cupti_find_theirs(struct image *ret);
/*
 * Only maps it, silently. Called before a recorder reads the mappings, so that it has unwind rows
 * for CUPTI's frames when the first launch is walked.
 */
void cupti_map(void);
/* Adds CUPTI's words for the error, and its number. */
void cupti_add_error(struct text *text, int error);
/* Reports "cannot WHAT: " and CUPTI's words for the error. */
void cupti_report_error(uint32_t code, int error, const char *what);

#endif
