/*
 * Draws each line as steps. Of many points that fall on one column of the picture, the highest and
 * the last are kept, so that peaks stay visible.
 */
#include "output/flame/memory_chart.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/live_blocks.h"
#include "core/profile/profile.h"
#include "core/profile/process_end.h"
#include "output/text/number.h"
#include "output/text/text.h"

#define MAX_LINES 6    /* colours, in page.css */
#define MAX_KNOWN 256  /* GPUs of processes; further ones are ignored */
#define MAX_EXACT 4000 /* points of a line */
#define WIDTH 1000
#define TOP 18 /* of the plot; the label of the peak is above it */
#define BOTTOM 100
#define HEIGHT 116

/*
 * A GPU as one process sees it, or the memory of a process; `points` are rows of the table, in
 * order of time.
 */
struct line {
	uint64_t pid, device;
	uint32_t *points;
	size_t nr, capacity;
	uint32_t peak;
};

struct chart {
	const struct profile *p;
	const char *title, *label;
	bool host;    /* not of GPUs: sampled memory of processes */
	bool tensors; /* line.device is 2 * the device, or that plus 1 for reserved memory */
	const struct fact_gpu_memory *rows;
	size_t nr_rows;
	struct line *lines; /* by peak, highest first */
	size_t nr_lines, lines_capacity;
	uint64_t from_ns, to_ns, most_bytes;
	bool several_processes;
};

/* NULL if there are too many lines. */
static struct line *line_of(struct chart *c, const struct fact_gpu_memory *row)
{
	struct line *line;

	for (size_t i = c->nr_lines; i--;)
		if (c->lines[i].pid == row->pid && c->lines[i].device == row->device)
			return &c->lines[i];
	if (c->nr_lines == MAX_KNOWN)
		return NULL;
	c->lines = xgrow(c->lines, &c->lines_capacity, ++c->nr_lines, sizeof(*c->lines));
	line = &c->lines[c->nr_lines - 1];
	*line = (struct line){ .pid = row->pid, .device = row->device };
	return line;
}

static int compare_lines(const void *a, const void *b, void *rows)
{
	const struct fact_gpu_memory *r = rows;
	const struct line *x = a, *y = b;

	return ORDER(r[y->peak].used_bytes, r[x->peak].used_bytes) ?: ORDER(x->pid, y->pid)
	       ?: ORDER(x->device, y->device);
}

static void collect(struct chart *c)
{
	c->from_ns = c->p->meta.start_ns;
	c->to_ns = c->p->meta.end_ns;
	for (uint32_t i = 0; i < c->nr_rows; i++) {
		const struct fact_gpu_memory *row = &c->rows[i];
		struct line *line = line_of(c, row);

		if (!line ||
		    (line->nr && row->time_ns < c->rows[line->points[line->nr - 1]].time_ns))
			continue; /* points go forward in time */
		line->points =
			xgrow(line->points, &line->capacity, line->nr + 1, sizeof(*line->points));
		line->points[line->nr++] = i;
		if (line->nr == 1 || row->used_bytes > c->rows[line->peak].used_bytes)
			line->peak = i;
		if (row->used_bytes > c->most_bytes)
			c->most_bytes = row->used_bytes;
		if (row->time_ns < c->from_ns)
			c->from_ns = row->time_ns;
		if (row->time_ns > c->to_ns)
			c->to_ns = row->time_ns;
		c->several_processes |= row->pid != c->rows[0].pid;
	}
	if (c->nr_lines)
		qsort_r(c->lines, c->nr_lines, sizeof(*c->lines), compare_lines, (void *)c->rows);
}

static uint64_t x_of(const struct chart *c, uint64_t time_ns)
{
	return number_scale(time_ns - c->from_ns, WIDTH, c->to_ns - c->from_ns);
}

static uint64_t y_of(const struct chart *c, uint64_t bytes)
{
	return BOTTOM - number_scale(bytes, BOTTOM - TOP, c->most_bytes);
}

/* Keeps the highest and the last point of each column; returns their number. */
static size_t thin_out(const struct chart *c, struct line *line)
{
	size_t kept = 0, first = 0;

	if (line->nr <= MAX_EXACT)
		return line->nr;
	while (first < line->nr) {
		uint64_t x = x_of(c, c->rows[line->points[first]].time_ns);
		size_t end = first, highest = first;

		for (; end < line->nr && x_of(c, c->rows[line->points[end]].time_ns) == x; end++)
			if (c->rows[line->points[end]].used_bytes >
			    c->rows[line->points[highest]].used_bytes)
				highest = end;
		line->points[kept++] = line->points[highest];
		if (highest != end - 1)
			line->points[kept++] = line->points[end - 1];
		first = end;
	}
	return kept;
}

static void add_tensor_name(struct buffer *b, const struct chart *c, const struct line *line)
{
	const struct fact_tensor_memory *m;
	size_t nr;

	m = facts_rows(c->p, FACT_TENSOR_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++)
		if (m[i].pid == line->pid && m[i].device == line->device / 2) {
			const char *name = profile_str(c->p, (uint32_t)m[i].name);

			text_add_xml(b, name, strlen(name));
			break;
		}
	if (line->device % 2)
		buffer_add_string(b, " reserved");
	if (c->several_processes)
		buffer_printf(b, " (process %" PRIu64 ")", line->pid);
}

static void add_name(struct buffer *b, const struct chart *c, const struct line *line)
{
	const struct fact_gpu_device *d;

	if (c->host) {
		buffer_printf(b, "process %" PRIu64, line->pid);
		return;
	}
	if (c->tensors) {
		add_tensor_name(b, c, line);
		return;
	}
	buffer_printf(b, "GPU %" PRIu64, line->device);
	d = facts_gpu_device(c->p, line->pid, line->device);
	if (d && d->name) {
		const char *name = profile_str(c->p, (uint32_t)d->name);

		buffer_add_string(b, ": ");
		text_add_xml(b, name, strlen(name));
	}
	if (c->several_processes)
		buffer_printf(b, " (process %" PRIu64 ")", line->pid);
}

static void add_peak(struct buffer *b, const struct chart *c, const struct line *line)
{
	const struct fact_gpu_memory *peak = &c->rows[line->peak];

	buffer_add_string(b, "peak ");
	number_add_bytes(b, peak->used_bytes);
	buffer_add_string(b, " at ");
	number_add_time(b, peak->time_ns - c->from_ns);
}

/* data-points holds pairs: ns since the point before (at first the left edge) and bytes. */
static void add_line(struct buffer *b, const struct chart *c, struct line *line, size_t number)
{
	size_t nr = thin_out(c, line);
	uint64_t before_ns = c->from_ns;

	buffer_printf(b, "<path class=\"d%zu\" data-name=\"", number);
	add_name(b, c, line);
	buffer_add_string(b, "\" data-points=\"");
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_memory *row = &c->rows[line->points[i]];

		buffer_printf(b, "%s%" PRIu64 " %" PRIu64, i ? " " : "", row->time_ns - before_ns,
			      row->used_bytes);
		before_ns = row->time_ns;
	}
	buffer_printf(b, "\" d=\"M%" PRIu64 " %d", x_of(c, c->rows[line->points[0]].time_ns),
		      BOTTOM);
	for (size_t i = 0; i < nr; i++) {
		const struct fact_gpu_memory *row = &c->rows[line->points[i]];

		buffer_printf(b, "H%" PRIu64 "V%" PRIu64, x_of(c, row->time_ns),
			      y_of(c, row->used_bytes));
	}
	buffer_printf(b, "H%d\"/>\n", WIDTH);
}

static void add_label(struct buffer *b, const struct chart *c, const struct line *line)
{
	uint64_t x = x_of(c, c->rows[line->peak].time_ns);

	buffer_printf(b, "<text x=\"%" PRIu64 "\" y=\"%d\" text-anchor=\"%s\">", x, TOP - 6,
		      x < WIDTH / 4	  ? "start"
		      : x > WIDTH * 3 / 4 ? "end"
					  : "middle");
	add_peak(b, c, line);
	buffer_add_string(b, "</text>\n");
}

static void add_axis(struct buffer *b, const struct chart *c)
{
	buffer_printf(
		b,
		"<path class=\"axis\" d=\"M0 %dH%d\"/>\n<text class=\"axis\" x=\"3\" y=\"%d\">0"
		"</text>\n<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"end\">",
		BOTTOM, WIDTH, HEIGHT - 3, WIDTH - 3, HEIGHT - 3);
	number_add_time(b, c->to_ns - c->from_ns);
	buffer_add_string(b, "</text>\n");
}

static void add_caption(struct buffer *b, const struct chart *c, size_t nr)
{
	buffer_printf(b, "<figcaption><b>%s</b>", c->title);
	for (size_t i = 0; i < nr; i++) {
		buffer_printf(b, " <span class=\"d%zu\">", i);
		add_name(b, c, &c->lines[i]);
		buffer_add_string(b, ", ");
		add_peak(b, c, &c->lines[i]);
		buffer_add_string(b, "</span>");
	}
	if (nr < c->nr_lines)
		buffer_printf(b, " and %zu more, with lower peaks", c->nr_lines - nr);
	buffer_add_string(b, "</figcaption>\n");
}

static void add_chart(struct buffer *b, struct chart *c)
{
	size_t nr;

	collect(c);
	nr = c->nr_lines < MAX_LINES ? c->nr_lines : MAX_LINES;
	if (nr) {
		buffer_add_string(b, "<figure class=\"memory\">\n");
		add_caption(b, c, nr);
		buffer_printf(b,
			      "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s over time\" "
			      "data-ns=\"%" PRIu64 "\" data-before=\"%" PRIu64 "\"%s>\n",
			      WIDTH, HEIGHT, c->label, c->to_ns - c->from_ns,
			      c->p->meta.start_ns - c->from_ns, c->host ? " data-host=\"\"" : "");
		add_axis(b, c);
		for (size_t i = nr; i--;) /* draws the highest peak last, on top */
			add_line(b, c, &c->lines[i], i);
		for (size_t i = 0; i < nr; i++)
			buffer_printf(b,
				      "<circle class=\"d%zu\" cx=\"%" PRIu64 "\" cy=\"%" PRIu64
				      "\" r=\"3\"/>\n",
				      i, x_of(c, c->rows[c->lines[i].peak].time_ns),
				      y_of(c, c->rows[c->lines[i].peak].used_bytes));
		add_label(b, c, &c->lines[0]);
		buffer_add_string(b, "</svg>\n</figure>\n");
	}
	for (size_t i = 0; i < c->nr_lines; i++)
		free(c->lines[i].points);
	free(c->lines);
}

/* Appends the points of a process. */
static void add_points(struct chart *c, size_t *capacity, const struct live_block *blocks,
		       size_t nr, uint32_t pid)
{
	const struct live_want want = { MEMORY_MALLOC, pid };
	size_t nr_points;
	struct live_point *points = live_points_new(c->p, blocks, nr, &want, &nr_points);
	struct fact_gpu_memory *rows = (struct fact_gpu_memory *)c->rows;

	rows = xgrow(rows, capacity, c->nr_rows + nr_points, sizeof(*rows));
	for (size_t i = 0; i < nr_points; i++)
		rows[c->nr_rows++] = (struct fact_gpu_memory){
			.pid = pid,
			.time_ns = points[i].time_ns,
			.used_bytes = points[i].bytes,
		};
	c->rows = rows;
	free(points);
}

static void add_host_chart(struct buffer *b, const struct profile *p)
{
	struct chart c = {
		.p = p,
		.host = true,
		.title = "Memory in use, allocated since the start",
		.label = "memory in use",
	};
	const struct fact_memory_sampled *sampled;
	struct live_block *blocks;
	size_t nr, nr_sampled, capacity = 0;

	if (!live_blocks_are_known(p))
		return;
	blocks = live_blocks_new(p, &nr);
	sampled = facts_rows(p, FACT_MEMORY_SAMPLED, &nr_sampled);
	for (size_t i = 0; i < nr_sampled && i < MAX_KNOWN; i++)
		add_points(&c, &capacity, blocks, nr, (uint32_t)sampled[i].pid);
	add_chart(b, &c);
	free((void *)c.rows);
	free(blocks);
}

static void add_tensor_chart(struct buffer *b, const struct profile *p)
{
	struct chart c = {
		.p = p,
		.tensors = true,
		.title = "Memory of tensors, as PyTorch's allocators say",
		.label = "memory of tensors",
	};
	const struct fact_tensor_level *levels;
	struct fact_gpu_memory *rows;
	size_t nr;

	levels = facts_rows(p, FACT_TENSOR_LEVEL, &nr);
	rows = xcalloc(2 * nr + 1, sizeof(*rows));
	for (size_t i = 0; i < nr; i++) {
		struct fact_gpu_memory row = {
			.pid = levels[i].pid,
			.device = 2 * levels[i].device,
			.time_ns = levels[i].time_ns,
			.used_bytes = levels[i].allocated_bytes,
		};

		rows[c.nr_rows++] = row;
		row.device++;
		row.used_bytes = levels[i].reserved_bytes;
		if (row.used_bytes)
			rows[c.nr_rows++] = row;
	}
	c.rows = rows;
	add_chart(b, &c);
	free(rows);
}

void memory_chart_add(struct buffer *b, const struct profile *p)
{
	struct chart c = { .p = p, .title = "Device memory", .label = "device memory" };
	struct buffer charts = { 0 };

	c.rows = facts_rows(p, FACT_GPU_MEMORY, &c.nr_rows);
	add_chart(&charts, &c);
	add_host_chart(&charts, p);
	add_tensor_chart(&charts, p);
	if (charts.size) {
		buffer_add_string(b, "<div class=\"charts\">\n");
		buffer_add(b, charts.data, charts.size);
		buffer_add_string(b, "</div>\n");
	}
	buffer_fini(&charts);
}
