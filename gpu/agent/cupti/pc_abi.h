/*
 * What libsprof-gpu.so knows of CUPTI's PC sampling (cupti_pcsampling.h, CUDA 11.3 and later). As
 * for cupti_abi.h, tests/gpu/real_headers.py compares every offset and number with NVIDIA's
 * headers. Names are CUPTI's, in lower case.
 *
 * Each struct of parameters begins with its size, from which CUPTI sees which fields there are.
 */
#ifndef SPROF_GPU_AGENT_PC_ABI_H
#define SPROF_GPU_AGENT_PC_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_STALL_NAME_BYTES 128
/*
 * CUPTI 12.4 made records longer by correlation_id. CUPTI steps through an array of records by the
 * length that it knows.
 */
#define CUPTI_API_PC_CORRELATION 22u

enum cupti_pc_mode {
	CUPTI_PC_MODE_CONTINUOUS = 1,
	CUPTI_PC_MODE_SERIALIZED = 2, /* one kernel at a time */
};

enum cupti_pc_attribute {
	CUPTI_PC_ATTR_SAMPLING_PERIOD = 1,
	CUPTI_PC_ATTR_STALL_REASON = 2,
	CUPTI_PC_ATTR_SCRATCH_BUFFER_SIZE = 3,
	CUPTI_PC_ATTR_COLLECTION_MODE = 5,
	CUPTI_PC_ATTR_SAMPLING_DATA_BUFFER = 8,
};

struct cupti_pc_stall {
	uint32_t reason; /* an index of CUPTI's */
	uint32_t samples;
};

struct cupti_pc {
	size_t size;
	uint64_t cubin_crc;
	uint64_t pc_offset; /* from the start of the function */
	uint32_t function_index, pad;
	char *function_name; /* CUPTI's, and perhaps that of other records too: not to be freed */
	size_t nr_stalls;
	struct cupti_pc_stall *stalls;
	uint32_t correlation_id; /* of CUPTI_PC_MODE_SERIALIZED, from 12.4 on */
	uint32_t pad2;
};
#define CUPTI_PC_OLD_SIZE 56 /* before 12.4 */
_Static_assert(sizeof(struct cupti_pc) == 64, "CUPTI ABI");
_Static_assert(offsetof(struct cupti_pc, correlation_id) == CUPTI_PC_OLD_SIZE, "CUPTI ABI");

struct cupti_pc_data {
	size_t size;
	size_t max_pcs;
	/* with dropped samples, and those of kernels that are not the program's */
	uint64_t total_samples;
	uint64_t dropped_samples;
	size_t nr_pcs, nr_remaining;
	uint64_t range_id;
	struct cupti_pc *pcs;
	uint64_t foreign_samples; /* of kernels that are not the program's: no records */
	uint8_t buffer_is_full;	  /* 12.x */
	uint8_t pad[7];
};
_Static_assert(offsetof(struct cupti_pc_data, buffer_is_full) == 72, "CUPTI ABI");

struct cupti_pc_setting {
	uint32_t attribute; /* enum cupti_pc_attribute */
	uint32_t status;    /* set by CUPTI: 0, or why this one is refused */
	union {
		uint64_t all[3];
		uint32_t period; /* a power of two of cycles, 5 to 31 */
		struct {
			size_t nr;
			uint32_t *reasons;
		} stalls;
		size_t bytes;
		uint32_t mode; /* enum cupti_pc_mode */
		struct cupti_pc_data *data;
	};
};
_Static_assert(sizeof(struct cupti_pc_setting) == 32, "CUPTI ABI");

struct cupti_pc_settings {
	size_t size;
	void *priv;
	void *context;
	size_t nr;
	struct cupti_pc_setting *settings;
};

struct cupti_pc_context { /* of cuptiPCSamplingEnable and Disable */
	size_t size;
	void *priv;
	void *context;
};

struct cupti_pc_get_data {
	size_t size;
	void *priv;
	void *context;
	struct cupti_pc_data *data;
};

struct cupti_pc_nr_stalls {
	size_t size;
	void *priv;
	void *context;
	size_t *ret_nr;
};

struct cupti_pc_stall_names {
	size_t size;
	void *priv;
	void *context;
	size_t nr;
	uint32_t *reasons;
	char **names; /* each of CUPTI_STALL_NAME_BYTES */
};

struct cupti_source_line {
	size_t size;
	const void *cubin;
	const char *function_name;
	size_t cubin_bytes;
	uint32_t line;
	uint32_t pad;
	uint64_t pc_offset;
	char *file, *folder; /* to be freed */
};
_Static_assert(sizeof(struct cupti_source_line) == 64, "CUPTI ABI");

struct cupti_cubin_crc {
	size_t size;
	size_t cubin_bytes;
	const void *cubin;
	uint64_t crc;
};

/* Of CUPTI_RESOURCE: resource_data.graph points to that for CUPTI_CBID_MODULE_LOADED. */
struct cupti_module_data {
	uint32_t id, pad;
	size_t cubin_bytes;
	const char *cubin; /* valid during the callback */
};
_Static_assert(offsetof(struct cupti_module_data, cubin) == 16, "CUPTI ABI");

/* NULL where this libcupti lacks them. */
struct cupti_pc_functions {
	int (*enable)(struct cupti_pc_context *params);
	int (*disable)(struct cupti_pc_context *params);
	int (*configure)(struct cupti_pc_settings *params);
	int (*get_data)(struct cupti_pc_get_data *params);
	int (*nr_stalls)(struct cupti_pc_nr_stalls *params);
	int (*stall_names)(struct cupti_pc_stall_names *params);
	/* optional from here on */
	int (*source_line)(struct cupti_source_line *params);
	int (*cubin_crc)(struct cupti_cubin_crc *params);
};

#endif
