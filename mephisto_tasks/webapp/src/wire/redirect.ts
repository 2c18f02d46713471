/** The way back to the site that sent the rater: an address, or a code to enter there. */
import * as v from "valibot";

/** Anything but a web address (a script, say) is no way back. */
const WebAddress = v.pipe(v.string(), v.url(), v.regex(/^https?:/i));

const RedirectSchema = v.object({
  site: v.string(),
  url: v.nullish(WebAddress, null),
  code: v.nullish(v.string(), null),
});

export type Redirect = v.InferOutput<typeof RedirectSchema>;

/** One that this page cannot read must not swallow the words around it. */
export const MaybeRedirect = v.fallback(v.nullish(RedirectSchema, null), null);
