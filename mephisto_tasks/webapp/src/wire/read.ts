import * as v from "valibot";

/** What a schema makes of a value; null where it does not fit. */
export function read<T>(schema: v.GenericSchema<unknown, T>, value: unknown): T | null {
  const result = v.safeParse(schema, value);
  return result.success ? result.output : null;
}
