// The shapes of what comes in: small predicates that are put together into tables.
//
// Two habits of JavaScript need care here. `typeof null` is "object", and a property may be found on the
// prototype: whoever looks up a name that a stranger chose asks `Object.hasOwn` first.

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isString = (value) => typeof value === 'string';
export const isBoolean = (value) => typeof value === 'boolean';
export const isNumber = (value) => Number.isFinite(value);
export const isPresent = (value) => value !== undefined;

/** Revisions are integers from 1 to 2^53 - 1; `true` is no number, and 1e400 has become Infinity (I19.6). */
export const isRevision = (value) => Number.isSafeInteger(value) && value >= 1;

/** A length of time; fractions are allowed. */
export const isSeconds = (value) => Number.isFinite(value) && value > 0;

/** A field that may be left out; `null` is the same as leaving it out. */
export const optional = (holds) => (value) => value === undefined || value === null || holds(value);
export const oneOf = (...values) => (value) => values.includes(value);
export const arrayOf = (holds) => (value) => Array.isArray(value) && value.every((item) => holds(item));

export const isSet = (holds) => (value) => arrayOf(holds)(value) && new Set(value).size === value.length;

/** The first field that does not hold, or undefined. Fields that the table does not name are ignored. */
export const wrongField = (fields, value) => Object.keys(fields).find((name) => !fields[name](value[name]));

/** An object with these fields. */
export const shape = (fields) => (value) => isObject(value) && wrongField(fields, value) === undefined;

// RFC 3339 with an offset. Inside, a time is a whole number of milliseconds; outside, it is text.
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const FIRST_INSTANT_WITHOUT_A_FOUR_DIGIT_YEAR = Date.UTC(10_000, 0, 1);

export const parseTime = (text) => Date.parse(text.toUpperCase());
export const isTime = (value) => isString(value) && RFC_3339.test(value) && !Number.isNaN(parseTime(value));

export function formatTime(milliseconds) {
  if (milliseconds >= FIRST_INSTANT_WITHOUT_A_FOUR_DIGIT_YEAR) throw new RangeError('a time past the year 9999');
  return new Date(milliseconds).toISOString();
}

export const toMilliseconds = (seconds) => Math.round(seconds * 1000);
