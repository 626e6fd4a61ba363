/* schedule.c: fuzzes cron expressions; a taken one has values in their bounds. */
#include <string.h>

#include "common/mem.h"
#include "domain/schedule.h"
#include "fuzz.h"

static const struct {
	const char *name;
	json_int_t min, max;
} BOUNDS[] = {
	{ "minutes", 0, 59 },
	{ "hours", 0, 23 },
	{ "days", 1, 31 },
	{ "months", 1, 12 },
	{ "weekdays", 0, 6 },
};

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_free char *text = xcalloc(1, len + 1);
	auto_json json_t *all = NULL;
	struct schedule s;
	struct err e = { 0 };

	memcpy(text, data, len);
	(void)schedule_is_zone(text);
	if (schedule_parse(text, &s, &e) < 0) {
		PROMISE(strcmp(e.field, "schedule") == 0);
		return 0;
	}
	all = schedule_json(&s);
	for (size_t i = 0; i < ARRAY_LEN(BOUNDS); i++) {
		const json_t *set = json_object_get(all, BOUNDS[i].name);

		PROMISE(json_array_size(set) > 0);
		for (size_t n = 0; n < json_array_size(set); n++) {
			json_int_t v =
			    json_integer_value(json_array_get(set, n));

			PROMISE(v >= BOUNDS[i].min && v <= BOUNDS[i].max);
		}
	}
	return 0;
}
