import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

async function fresh() {
  vi.resetModules();
  return (await import("./browser")).browserSecret;
}

beforeEach(() => window.localStorage.clear());
afterEach(() => {
  vi.restoreAllMocks();
  window.localStorage.clear();
});

describe("the secret of a browser", () => {
  it("cannot be guessed, and is the same after a reload and in a second tab", async () => {
    const first = (await fresh())();
    expect(first).toMatch(/^[\w-]{43}$/);
    expect((await fresh())()).toBe(first);
    window.localStorage.clear();
    expect((await fresh())()).not.toBe(first);
  });

  it("is made anew where what is stored is none", async () => {
    window.localStorage.setItem("humaneval:browser", "short");
    expect((await fresh())()).toMatch(/^[\w-]{43}$/);
  });

  it("lasts as long as the page where nothing may be stored", async () => {
    vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
      throw new DOMException("denied", "SecurityError");
    });
    const secret = await fresh();
    expect(secret()).toBe(secret());
  });
});
