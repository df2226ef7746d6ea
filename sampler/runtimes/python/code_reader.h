/*
 * Decodes records of Python code objects in child processes without rights: a record is a copy of
 * what a target wrote, and this process does not look into its names and line table. Each process
 * that is recorded has a child of its own, so that a record which takes a child over falsifies no
 * names of another process.
 */
#ifndef SPROF_CODE_READER_H
#define SPROF_CODE_READER_H

#include <stddef.h>
#include <stdint.h>

struct code_reader;
struct code_record;
struct decoded_code;
struct sandbox;

#define CODE_BATCH 16u /* records that are asked for at once */
#define CODE_BATCH_BYTES 65536u

/* The sandbox must outlive it; NULL: this process decodes. */
struct code_reader *code_reader_new(const struct sandbox *sandbox);
void code_reader_free(struct code_reader *reader);

/* A record, with the line table that follows it. */
struct code_bytes {
	const struct code_record *record;
	size_t size;
};

/*
 * Decodes at most CODE_BATCH records of the process `group`, of CODE_BATCH_BYTES together unless it
 * is one. 0; -ECHILD: the child died; -ETIMEDOUT: it took too long; -EBADMSG: it answered nonsense.
 */
int code_reader_read(struct code_reader *reader, uint64_t group, const struct code_bytes *records,
		     size_t nr, struct decoded_code *ret_codes);

#endif
