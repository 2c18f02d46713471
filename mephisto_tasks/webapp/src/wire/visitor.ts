/** Which of a class link's visitors this is: the address says it, and a cookie, where the browser keeps one. */

const VISITOR = "visitor";

/**
 * Takes the name out of the visible address. Who copies that address for others would make all of them one worker; the
 * link that is left is the one that was given out, and the cookie makes a reload the same visitor.
 */
export function hideVisitor(): void {
  const address = new URL(window.location.href);
  address.searchParams.delete(VISITOR);
  window.history.replaceState(window.history.state, "", address);
}
