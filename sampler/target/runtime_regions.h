/*
 * The runtime code of a process, as far as samples landed in it: regions of whole pages between
 * pages of zeros, and the unwind rows derived from the code in them. sampler/walk/runtime_unwind.h
 * decides when they are read and what they mean.
 */
#ifndef SPROF_RUNTIME_REGIONS_H
#define SPROF_RUNTIME_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_claim;
struct unwind_table;

/*
 * The unwind rows of a region; after a fork several share them. sampler/walk/runtime_rows.h owns
 * them.
 */
struct runtime_rows {
	uint32_t number, nr_users;
	bool done;		    /* the builder has answered */
	struct unwind_table *table; /* NULL: no rules, or not yet */
	struct rule_claim *claim;   /* the rules that it names; NULL: not yet */
	uint64_t free_at_ns;	    /* set with the last user; map tables may name it until then */
};

struct runtime_region {
	uint64_t start, end;
	struct runtime_rows *rows; /* NULL: no rules for its code, or it was not read */
	bool settled;		   /* no request for `rows` is open */
	uint64_t hash;		   /* of its bytes when they were read; 0: they were not */
	uint64_t read_ns;	   /* when that was; older samples may be of other code */
	uint64_t wanted;	   /* an address that was sampled and has no rule, or 0 */
	uint64_t next_look_ns;	   /* not to be read before */
	uint32_t nr_fruitless;	   /* consecutive looks that found nothing new */
	uint32_t nr_changes;	   /* of code with rules, in short succession */
	uint64_t changed_ns;	   /* when the last was seen, or until when it gets no rules */
	uint32_t checked;	   /* the function that was last compared, */
	uint64_t checked_ns;	   /* and when */
	uint64_t next_check_ns;	   /* when all its functions are compared next */
	uint32_t nr_checks;	   /* consecutive ones without a change */
};

/* Rows of code that is gone: stacks that were walked by them may still arrive. */
struct runtime_past {
	uint64_t start, end;
	struct runtime_rows *rows;
	uint32_t epoch;	   /* the last process epoch in which the walker had them */
	uint64_t until_ns; /* no such stack arrives after this */
};

struct runtime_regions {
	struct runtime_region *list; /* sorted, disjoint */
	size_t nr, capacity;
	struct runtime_past *past;
	size_t nr_past, past_capacity;
	uint64_t low, high;    /* all runtime code lies between them; 0: there is none */
	uint64_t next_look_ns; /* no region is to be read before */
	uint32_t nr_fruitless;
};

/*
 * The region that contains an address, or NULL. Pointers to regions are valid until the next
 * change.
 */
struct runtime_region *runtime_regions_find(const struct runtime_regions *regions,
					    uint64_t address);
/* The index of the first region that ends above the address. */
size_t runtime_regions_lower_bound(const struct runtime_regions *regions, uint64_t address);
/* Adds a region, which replaces all that it overlaps. */
struct runtime_region *runtime_regions_put(struct runtime_regions *regions,
					   const struct runtime_region *region);
void runtime_region_drop_rows(struct runtime_region *region);
/* Moves a region's rows, whose code has changed, to the past. `past` has epoch and until_ns. */
void runtime_regions_outdate(struct runtime_regions *regions, struct runtime_region *region,
			     struct runtime_past past);
void runtime_regions_forget_past(struct runtime_regions *regions, uint64_t now_ns);
/* For a forked child: the regions of its parent. */
void runtime_regions_copy(struct runtime_regions *to, const struct runtime_regions *from);
void runtime_regions_clear(struct runtime_regions *regions);

#endif
