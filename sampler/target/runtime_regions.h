/*
 * Where a process has made code at run time, as far as samples landed in it: regions of whole pages
 * between pages of zeros, and the unwind rows that follow from the code in them.
 */
#ifndef SPROF_RUNTIME_REGIONS_H
#define SPROF_RUNTIME_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_table;

/* Unwind rows of one region or, after a fork, of several that are the same. runtime_rows.h makes them. */
struct runtime_rows {
	uint32_t number, nr_users;
	bool done;		    /* the builder has had it */
	struct unwind_table *table; /* NULL: nothing is understood, or not yet */
	uint64_t free_at_ns;	    /* once it has no user; until then map tables may name it */
};

void runtime_rows_use(struct runtime_rows *rows);
void runtime_rows_unuse(struct runtime_rows *rows);

struct runtime_region {
	uint64_t start, end;
	struct runtime_rows
		*rows;	  /* NULL: nothing of its code is understood, or it was not looked at */
	bool settled;	  /* it is known what became of `rows` */
	uint64_t hash;	  /* of its bytes when they were read; 0: they were not */
	uint64_t read_ns; /* when that was: older samples met other code, perhaps */
	uint64_t wanted;  /* an address that samples landed at and that has no rule, or 0 */
	uint64_t next_look_ns;	/* not before */
	uint32_t nr_fruitless;	/* looks that found nothing new, one after the other */
	uint32_t nr_changes;	/* of code that had rules, one soon after the other */
	uint64_t changed_ns;	/* when the last was seen, or how long there are no rules for it */
	uint32_t checked;	/* the function whose code was last compared, */
	uint64_t checked_ns;	/* and when */
	uint64_t next_check_ns; /* of all its functions, whether samples are new or not */
	uint32_t nr_checks;	/* that found it the same, one after the other */
};

/* Rows of code that is not there any more: stacks that were walked by them may still come. */
struct runtime_past {
	uint64_t start, end;
	struct runtime_rows *rows;
	uint32_t epoch;	   /* of the process: the last in which the walker had them */
	uint64_t until_ns; /* no stack of that comes any more */
};

struct runtime_regions {
	struct runtime_region *list; /* sorted, disjoint */
	size_t nr, capacity;
	struct runtime_past *past;
	size_t nr_past, past_capacity;
	uint64_t low, high;    /* all code without a file lies between them; 0: there is none */
	uint64_t next_look_ns; /* not before, in all of the process */
	uint32_t nr_fruitless;
};

/* The region that holds an address, or NULL. Valid until the next change, as is all below. */
struct runtime_region *runtime_regions_find(const struct runtime_regions *regions,
					    uint64_t address);
/* The index of the first region that ends above the address. */
size_t runtime_regions_lower_bound(const struct runtime_regions *regions, uint64_t address);
/* Puts a region in the place of all that it overlaps. */
struct runtime_region *runtime_regions_put(struct runtime_regions *regions,
					   const struct runtime_region *region);
void runtime_region_drop_rows(struct runtime_region *region);
/* A region's code is not what its rows were made of. `past`: what to remember of it; all else is filled. */
void runtime_regions_outdate(struct runtime_regions *regions, struct runtime_region *region,
			     struct runtime_past past);
void runtime_regions_forget_past(struct runtime_regions *regions, uint64_t now_ns);
/* A forked child has what its parent had. */
void runtime_regions_copy(struct runtime_regions *to, const struct runtime_regions *from);
void runtime_regions_clear(struct runtime_regions *regions);

#endif
